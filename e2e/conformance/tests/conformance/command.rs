//! The program `conformance`, by its command line.

use std::process::{Output, Stdio};

use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use stack::{Stack, StackSettings};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use super::non_compliant::{UNCHANGED_REQUEST, UNCHANGED_RESPONSE};
use super::proxy::{self, ProxiedResponse};
use super::test_broker::{CALLBACK, CLIENT_ID, SECRET, TestBroker};
use testkit::browser::{Browser, UNSERVED};

/// The command, with the environment of the test alone.
fn conformance(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    command
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

async fn run(arguments: &[&str]) -> Output {
    conformance(arguments).output().await.expect("it runs")
}

/// The same, with the credentials of a project.
async fn run_as_project(arguments: &[&str]) -> Output {
    as_project(arguments).output().await.expect("it runs")
}

fn as_project(arguments: &[&str]) -> Command {
    let mut command = conformance(arguments);
    command
        .env("CONFORMANCE_CLIENT_ID", CLIENT_ID)
        .env("CONFORMANCE_CLIENT_SECRET", SECRET)
        .env("CONFORMANCE_CALLBACK", CALLBACK);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that there is no report, and that one line says why.
#[track_caller]
fn assert_untestable(output: &Output, words: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(text(&output.stdout), "");
    // ChangeRequest it there is nothing but what was being done.
    let (steps, error) = stderr.split_once("conformance: ").expect("an error");
    assert!(steps.lines().all(|line| line.ends_with('…')), "{stderr}");
    assert_eq!(error.lines().count(), 1, "{stderr}");
    for word in words {
        assert!(error.contains(word), "{word} in {stderr}");
    }
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
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
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
async fn a_broken_requirement_is_in_every_report_and_is_status_1() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, |_, _, response| {
        response.edit(|body| {
            if body["expires_in"] == 600 {
                body["expires_in"] = 601.into();
            }
        });
    })
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let junit = folder.path().join("junit.xml");
    let junit_flag = format!("--junit={}", junit.display());
    let output = run_as_project(&[&broker.base_url, &junit_flag]).await;
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    let line = table.lines().find(|line| line.starts_with("FAIL"));
    assert!(
        line.is_some_and(|line| line.contains("session.expires_in")),
        "{table}"
    );
    assert!(table.contains("expected expires_in to be 600"), "{table}");
    let xml = std::fs::read_to_string(junit).expect("a file");
    assert!(xml.contains(r#"failures="1" errors="0""#), "{xml}");
    assert!(
        xml.contains(r#"<failure message="expected expires_in to be 600"/>"#),
        "{xml}"
    );
}

#[tokio::test]
async fn a_user_is_asked_to_open_addresses_and_to_paste_the_callback() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, UNCHANGED_RESPONSE).await;
    let mut command = as_project(&[
        &broker.base_url,
        "--control",
        &broker.control,
        "--browser",
        "person",
        "--json",
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut answers = child.stdin.take().expect("it is piped");
    let mut questions = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    tokio::spawn(async move {
        while let Ok(Some(line)) = questions.next_line().await {
            if let Some(url) = line.strip_prefix("  http") {
                let end = Browser::new().follow(&format!("http{url}")).await;
                let line = format!("{}\n", end.url);
                answers
                    .write_all(line.as_bytes())
                    .await
                    .expect("it listens");
            }
        }
    });
    let output = child.wait_with_output().await.expect("it ends");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    let skipped = &report["counts"]["SKIPPED"];
    // No second callback, no second project and thus no callback of its own.
    assert_eq!(*skipped, 4, "{report:#}");
}

#[tokio::test]
async fn a_user_who_cannot_be_asked_is_a_harness_error_and_no_failure() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, UNCHANGED_RESPONSE).await;
    let output = run_as_project(&[&broker.base_url, "--browser", "person"]).await;
    assert_eq!(output.status.code(), Some(2));
    let table = text(&output.stdout);
    assert!(
        table.contains("Harness error: no user can be asked"),
        "{table}"
    );
    assert!(!table.contains("\nFAIL"), "{table}");
}

#[tokio::test]
async fn a_server_that_cannot_be_tested_is_one_line_and_status_2() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, UNCHANGED_RESPONSE).await;
    let base_url = broker.base_url.as_str();
    assert_untestable(
        &run_as_project(&[UNSERVED]).await,
        &[UNSERVED, "no connection"],
    );

    let encrypted = base_url.replacen("http:", "https:", 1);
    assert_untestable(
        &run_as_project(&[&encrypted]).await,
        &[&encrypted, "no connection"],
    );

    let elsewhere = &another_server();
    let words = [elsewhere.as_str(), "not as a sign-in broker", "text/html"];
    assert_untestable(&run_as_project(&[elsewhere]).await, &words);

    let mut stranger = as_project(&[base_url]);
    stranger.env("CONFORMANCE_CLIENT_SECRET", "another secret altogether");
    let output = stranger.output().await.expect("it runs");
    assert_untestable(
        &output,
        &["does not start a login", CLIENT_ID, "401", CALLBACK],
    );
    assert!(!text(&output.stderr).contains("altogether"));
}

#[tokio::test]
async fn a_missing_setting_is_named_with_the_flag_for_it() {
    let at = "http://127.0.0.1:9";
    assert_untestable(&run(&[at]).await, &["--client-id", "--control"]);
    assert_untestable(
        &run(&[at, "--client-id", "a"]).await,
        &["CONFORMANCE_CLIENT_SECRET", "--client-secret-file"],
    );
    let mut without_callback = conformance(&[at, "--client-id", "a"]);
    without_callback.env("CONFORMANCE_CLIENT_SECRET", "a secret");
    let output = without_callback.output().await.expect("it runs");
    assert_untestable(&output, &["--callback"]);
    let file = run(&[
        at,
        "--client-id",
        "a",
        "--client-secret-file",
        "/no/such/file",
    ])
    .await;
    assert_untestable(&file, &["--client-secret-file /no/such/file"]);
    assert_untestable(
        &run(&[at, "--control", at]).await,
        &["no stack can be controlled at", at],
    );
}

#[tokio::test]
async fn a_malformed_address_is_wrong_usage() {
    for address in [
        "127.0.0.1:8000",
        "ftp://127.0.0.1",
        "http://u:p@127.0.0.1",
        "http://127.0.0.1/?x",
    ] {
        let output = run(&[address]).await;
        assert_eq!(output.status.code(), Some(2), "{address}");
        assert!(
            text(&output.stderr).contains("expected an address like"),
            "{address}"
        );
    }
}

#[tokio::test]
async fn the_help_lists_the_flags_and_the_exit_statuses() {
    let help = text(&run(&["--help"]).await.stdout);
    for word in [
        "--control",
        "--browser",
        "--slow",
        "--junit",
        "CONFORMANCE_CLIENT_SECRET",
        "Exit status",
    ] {
        assert!(help.contains(word), "{word} in {help}");
    }
    assert!(
        !help.contains("--client-secret <"),
        "a secret in a flag is visible in the list of processes"
    );
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
