//! The flow in seven lines of curl.

use serde_json::Value;
use stack::{Stack, StackSettings};
use testkit::response::REFUSED;
use tokio::process::Command;

const README: &str = include_str!("../../../README.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_second_read_of_the_seven_lines_is_refused() {
    let stack = interactive_stack().await;
    let output = run(&of_this_stack(the_flow(), &stack)).await;
    let answers: Vec<_> = output.lines().map(split_status).collect();
    let [.., (profile, "200"), (refusal, "400")] = answers[..] else {
        panic!("{output}");
    };
    let result: Value = serde_json::from_str(profile).unwrap();
    assert_eq!(result["status"], "succeeded");
    assert_eq!(result["profile"]["name"], "Ada Lovelace");
    assert_eq!(refusal, REFUSED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_before_the_browsers_part_is_pending_and_costs_nothing() {
    let stack = interactive_stack().await;
    let flow = of_this_stack(the_flow(), &stack);
    let (read, browser) = (line(&flow, "/v1/login/result"), line(&flow, "curl -sL"));
    let output = run(&flow.replace(browser, &format!("{read}\n{browser}"))).await;
    let statuses: Vec<_> = output.lines().map(|it| split_status(it).1).collect();
    assert!(output.contains(r#"{"status":"pending"}"#), "{output}");
    assert!(statuses.ends_with(&["200", "200", "400"]), "{output}");
}

/// A stack whose providers show a page, as that of `cargo run`.
async fn interactive_stack() -> Stack {
    let settings = StackSettings {
        automatic: false,
        ..StackSettings::for_tests()
    };
    Stack::start(settings).await.unwrap()
}

/// The block of the README that reads a result.
fn the_flow() -> &'static str {
    let blocks = README.split("```sh\n").skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split("```").next());
    let flow = blocks.find(|block| block.contains("/v1/login/result --json"));
    let flow = flow.expect("the README has the flow in curl");
    assert_eq!(flow.lines().count(), 7, "{flow}");
    flow
}

/// The flow with the addresses of this stack in place of the usual ones.
fn of_this_stack(flow: &str, stack: &Stack) -> String {
    let urls = stack.urls();
    let mut flow = flow.to_owned();
    for (usual, here) in [
        ("127.0.0.1:8010", &urls.control),
        ("127.0.0.1:8000", &urls.broker),
        ("localhost:3000", &urls.consumer),
    ] {
        assert!(flow.contains(usual), "{usual} in {flow}");
        flow = flow.replace(usual, here.trim_start_matches("http://"));
    }
    flow
}

/// The first line of `flow` with this text.
fn line<'a>(flow: &'a str, text: &str) -> &'a str {
    flow.lines().find(|line| line.contains(text)).expect(text)
}

/// Runs the lines in a shell, as a reader would, and returns what they print.
async fn run(lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("bash");
    let shell = shell.args(["-euo", "pipefail", "-c", lines]);
    let output = shell.current_dir(folder.path()).output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "they leave files behind: {left:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a call printed: its answer, and its status after that.
fn split_status(line: &str) -> (&str, &str) {
    line.rsplit_once(' ').unwrap_or((line, ""))
}
