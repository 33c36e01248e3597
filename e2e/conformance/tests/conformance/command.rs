//! The program `conformance`, by its command line.

use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{Completed, EndsBy, Program, output_within};
use conformance::Requirement;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use stack::{Stack, StackSettings};
use tokio::task::spawn_blocking;

use super::flaws::flaw_of;
use super::proxy::{self, ProxiedResponse};
use super::snapshots;
use super::test_broker::{CALLBACK, CLIENT_ID, NO_SERVER, SECRET, TestBroker};
use testkit::browser::Browser;

/// No run takes this long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The command, with the environment of the test alone.
fn conformance(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    command.args(arguments).env_clear();
    command
}

async fn run(arguments: &[&str]) -> Completed {
    completed(conformance(arguments)).await
}

/// Beside this thread, in whose runtime what it tests is served.
async fn completed(command: Command) -> Completed {
    let output = spawn_blocking(|| output_within(command, LIMIT)).await;
    output.expect("it ends").expect("it runs")
}

/// The command with the credentials of a project.
fn as_project(arguments: &[&str]) -> Command {
    let mut command = conformance(arguments);
    command
        .env("CONFORMANCE_CLIENT_ID", CLIENT_ID)
        .env("CONFORMANCE_CLIENT_SECRET", SECRET)
        .env("CONFORMANCE_CALLBACK", CALLBACK);
    command
}

async fn run_as_project(arguments: &[&str]) -> Completed {
    completed(as_project(arguments)).await
}

/// A command line with what it wrote and its exit status.
fn transcript(arguments: &[&str], output: &Completed) -> String {
    let arguments = arguments.join(" ");
    let code = output.code.expect("it ended");
    let printed = format!("{}{}", output.stdout, output.stderr);
    format!("$ conformance {arguments}\n{printed}? {code}\n\n")
}

#[tokio::test]
async fn wrong_usage_and_a_server_that_cannot_be_tested_are_one_line_and_status_2() {
    let at = NO_SERVER;
    let mut approved = String::new();
    for arguments in [
        &["--help"][..],
        &["127.0.0.1:8000"],
        &["ftp://127.0.0.1"],
        &["http://u:p@127.0.0.1"],
        &["http://127.0.0.1/?x"],
        &[at],
        &[at, "--client-id", "a"],
        &[
            at,
            "--client-id",
            "a",
            "--client-secret-file",
            "/no/such/file",
        ],
        &[at, "--control", at],
    ] {
        approved.push_str(&transcript(arguments, &run(arguments).await));
    }
    let mut without_callback = conformance(&[at, "--client-id", "a"]);
    without_callback.env("CONFORMANCE_CLIENT_SECRET", SECRET);
    let output = completed(without_callback).await;
    approved.push_str(&transcript(&["a project, no --callback"], &output));

    let broker = TestBroker::compliant().await;
    let encrypted = broker.base_url.replacen("http:", "https:", 1);
    for address in [at, &encrypted, &another_server()] {
        approved.push_str(&transcript(&[address], &run_as_project(&[address]).await));
    }
    let mut stranger = as_project(&[&broker.base_url]);
    stranger.env("CONFORMANCE_CLIENT_SECRET", "another secret altogether");
    let output = completed(stranger).await;
    approved.push_str(&transcript(&["with another secret"], &output));
    snapshots().bind(|| insta::assert_snapshot!("usage", approved));
}

#[tokio::test]
async fn a_stack_is_tested_with_nothing_but_its_control_address() {
    // With providers that show a page, unless the control address queues the user.
    let settings = StackSettings {
        automatic: false,
        ..StackSettings::for_tests()
    };
    let stack = Stack::start(settings).await.expect("free ports");
    let urls = stack.urls();
    for _ in 0..2 {
        let output = run(&[&urls.broker, "--control", &urls.control, "--json"]).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let counts = &report["counts"];
        assert_eq!(
            counts["PASS"],
            report["requirements"].as_array().expect("all").len()
        );
    }
    let names: Vec<_> = stack
        .projects()
        .list()
        .into_iter()
        .map(|it| it.name.to_string())
        .collect();
    assert_eq!(
        names,
        ["The demo", "Conformance", "Conformance, another project"],
        "a second run finds the projects of the first"
    );
}

#[tokio::test]
async fn a_report_shows_what_is_broken_and_what_was_not_tested_and_is_status_1() {
    let (_, flaw) = flaw_of(Requirement::SessionExpiresIn);
    let broker = TestBroker::with(flaw).await;
    let folder = tempfile::tempdir().expect("a folder");
    let junit = folder.path().join("junit.xml");
    let junit_flag = format!("--junit={}", junit.display());
    let output = run_as_project(&[&broker.base_url, &junit_flag]).await;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    snapshots().bind(|| insta::assert_snapshot!("report", output.stdout));
    let xml = std::fs::read_to_string(junit).expect("a file");
    // The start, and the cases that did not pass.
    let cases = xml.split_inclusive("</testcase>\n").enumerate();
    let shown: String = cases
        .filter(|(at, case)| *at == 0 || !case.contains("\nPASS "))
        .map(|(_, case)| case)
        .collect();
    snapshots().bind(|| insta::assert_snapshot!("junit", shown));
}

#[tokio::test]
async fn a_user_is_asked_to_open_addresses_and_to_paste_the_callback() {
    let broker = TestBroker::compliant().await;
    let mut command = as_project(&[
        &broker.base_url,
        "--control",
        &broker.control,
        "--browser",
        "person",
        "--json",
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let mut program = Program::start(command, EndsBy::Kill).expect("it runs");
    while let Some(line) = program.errors.next_line().await {
        if let Some(url) = line.strip_prefix("  http") {
            let end = Browser::new().follow(&format!("http{url}")).await;
            program.order(&end.url).expect("it listens");
        }
    }
    let status = program.ended().await.expect("it ends");
    let report = program.output.whole(LIMIT).expect("it ends");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(status.code(), Some(0), "{report:#}");
    let skipped = &report["counts"]["SKIPPED"];
    // No second callback, no second project and thus no callback of its own.
    assert_eq!(*skipped, 4, "{report:#}");
}

#[tokio::test]
async fn a_user_who_cannot_be_asked_is_a_harness_error_and_no_failure() {
    let broker = TestBroker::compliant().await;
    let output = run_as_project(&[&broker.base_url, "--browser", "person"]).await;
    assert_eq!(output.code, Some(2));
    let table = output.stdout;
    assert!(
        table.contains("Harness error: no user can be asked"),
        "{table}"
    );
    assert!(!table.contains("\nFAIL"), "{table}");
}

/// The address of a server that is no broker.
fn another_server() -> String {
    let (listener, url) = testkit::server::bind();
    proxy::serve(listener, |_| async {
        let mut page = ProxiedResponse::of(200, "<h1>Welcome</h1>");
        page.headers
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        page
    });
    url
}
