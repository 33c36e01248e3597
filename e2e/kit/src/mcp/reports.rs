//! The examiner and the conformance runner as tools. Each run is a program of its own, this one's
//! command, so that nothing but the protocol gets onto standard output.

use std::env::current_exe;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{EndsBy, Program, Signal};
use examiner::cli::control_address;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam, Tool};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Held by a run: two at once would disturb each other's stack.
static TURN: Mutex<()> = Mutex::const_new(());

/// The time for the last lines of a program that has ended.
const LAST_LINES: Duration = Duration::from_secs(5);

/// The verdicts that leave nothing to do.
const GOOD: [&str; 3] = ["PASS", "NOT APPLICABLE", "SKIPPED"];

/// The members of a report that an answer leaves out.
const LEFT_OUT: [&str; 4] = ["checks", "requirements", "preflight", "not_looked_at"];

/// The tools, each with the name of its command.
pub(super) fn tools() -> Vec<Tool> {
    serde_json::from_str(include_str!("reports.json")).expect("a file of this crate")
}

/// Waits until no run is under way.
pub(super) async fn ended() {
    let _turn = TURN.lock().await;
}

/// Runs the command `name`, and tells the client of its progress.
///
/// # Errors
///
/// If there is no report: what the command prints, or a sentence that names an argument.
pub(super) async fn make(
    name: &str,
    arguments: JsonObject,
    control: &str,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, String> {
    let _turn = TURN.lock().await;
    let mut command = Command::new(current_exe().map_err(|error| error.to_string())?);
    command.args(words(name, arguments, control)?);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let program = Program::start(command, EndsBy::KillOfGroup);
    let mut program = program.map_err(|error| error.to_string())?;
    let mut steps = 0;
    loop {
        let line = tokio::select! {
            line = program.errors.next_line() => line,
            () = context.ct.cancelled() => {
                // It leaves the stack as it was found.
                let _ = program.signal(Signal::TERM);
                let _ = program.ended().await;
                return Err("cancelled".to_owned());
            }
        };
        let Some(line) = line else { break };
        if let Some(token) = context.meta.get_progress_token() {
            steps += 1;
            let step = ProgressNotificationParam::new(token, f64::from(steps));
            let _ = context.peer.notify_progress(step.with_message(line)).await;
        }
    }
    let _ = program.ended().await;
    let printed = program.output.whole(LAST_LINES).unwrap_or_default();
    let report = serde_json::from_str(&printed).map(answer);
    report.map_err(|_| program.errors.text().trim_end().to_owned())
}

/// The command with its arguments: any flag, `target` or `base_url`, and last `command`.
fn words(name: &str, arguments: JsonObject, control: &str) -> Result<Vec<String>, String> {
    let mut words = vec![name.to_owned(), "--json".to_owned()];
    let mut last = vec!["--".to_owned()];
    if name == "examine" && !arguments.contains_key("control") {
        words.push(format!("--control={control}"));
    }
    for (name, value) in arguments {
        let values: Vec<String> = match value {
            Value::String(text) => vec![text],
            value => serde_json::from_value(value)
                .map_err(|_| format!("{name}: a string or a list of strings, please"))?,
        };
        if name == "control" {
            control_address(&values.concat())?;
        }
        match name.as_str() {
            "command" => last.extend(values),
            "target" | "base_url" => words.extend(values),
            flag => words.extend(values.iter().map(|value| format!("--{flag}={value}"))),
        }
    }
    words.append(&mut last);
    Ok(words)
}

/// A report without what is good, as text and as JSON.
fn answer(mut report: JsonObject) -> CallToolResult {
    let mut findings = Vec::new();
    for list in ["checks", "requirements"] {
        let items = report.get_mut(list).and_then(Value::as_array_mut);
        findings.extend(items.into_iter().flat_map(std::mem::take));
    }
    let tried = findings.len();
    findings.retain(|it| !GOOD.iter().any(|good| it["verdict"] == *good));
    let evidence = findings.iter_mut().filter_map(|it| it.get_mut("evidence"));
    evidence.for_each(|it| *it = Value::Null);
    report.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
    report.insert("tried".to_owned(), tried.into());
    report.insert("findings".to_owned(), findings.into());
    let report = json!(report);
    let text = ContentBlock::text(outline("", &report));
    let mut answer = CallToolResult::structured(report);
    answer.content = vec![text];
    answer
}

/// The members of a report as text, a line each.
fn outline(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Object(members) => {
            let lines = members.iter().map(|(name, it)| outline(name, it));
            lines.collect::<String>() + "\n"
        }
        Value::Array(items) => items.iter().map(|it| outline(name, it)).collect(),
        Value::String(says) => format!("{name}: {says}\n"),
        says => format!("{name}: {says}\n"),
    }
}
