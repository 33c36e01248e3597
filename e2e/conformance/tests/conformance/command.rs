//! The binary `conformance`, as anybody runs it.

use std::process::{Output, Stdio};

use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use stack::{Stack, StackSettings};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use super::ground::{CALLBACK, CLIENT_ID, Ground, SECRET};
use super::proxy::{self, Answered};
use super::wrong::{AS_IT_COMES, AS_IT_IS};
use testkit::browser::{Browser, UNSERVED};

/// The command with no environment but what a test gives it.
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

/// The same, as the project of a ground.
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

/// Asserts that nothing was judged, and that one line says why.
#[track_caller]
fn is_trouble(output: &Output, words: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(text(&output.stdout), "");
    // Before it there is nothing but what was being done.
    let (doing, trouble) = said.split_once("conformance: ").expect("trouble");
    assert!(doing.lines().all(|line| line.ends_with('…')), "{said}");
    assert_eq!(trouble.lines().count(), 1, "{said}");
    for word in words {
        assert!(trouble.contains(word), "{word} in {said}");
    }
}

#[tokio::test]
async fn a_stack_of_ours_is_tested_with_nothing_but_its_control_address() {
    // With providers that show a page: whoever signs in is said by control.
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
async fn a_broken_requirement_is_told_everywhere_and_is_status_1() {
    let ground = Ground::bent(AS_IT_IS, |_, _, answered| {
        answered.edit(|body| {
            if body["expires_in"] == 600 {
                body["expires_in"] = 601.into();
            }
        });
    })
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let junit = folder.path().join("junit.xml");
    let junit_flag = format!("--junit={}", junit.display());
    let output = run_as_project(&[&ground.base_url, &junit_flag]).await;
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
async fn a_person_is_asked_to_open_addresses_and_to_say_where_they_came_back() {
    let ground = Ground::bent(AS_IT_IS, AS_IT_COMES).await;
    let mut command = as_project(&[
        &ground.base_url,
        "--control",
        &ground.control,
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
                let arrival = Browser::new().follow(&format!("http{url}")).await;
                let said = format!("{}\n", arrival.url);
                answers
                    .write_all(said.as_bytes())
                    .await
                    .expect("it listens");
            }
        }
    });
    let output = child.wait_with_output().await.expect("it ends");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    let skipped = &report["counts"]["SKIPPED"];
    // No second callback, no second project.
    assert_eq!(*skipped, 3, "{report:#}");
}

#[tokio::test]
async fn a_person_who_is_not_there_is_trouble_and_no_failure() {
    let ground = Ground::bent(AS_IT_IS, AS_IT_COMES).await;
    let output = run_as_project(&[&ground.base_url, "--browser", "person"]).await;
    assert_eq!(output.status.code(), Some(2));
    let table = text(&output.stdout);
    assert!(table.contains("Trouble: nobody can be asked"), "{table}");
    assert!(!table.contains("\nFAIL"), "{table}");
}

#[tokio::test]
async fn what_cannot_be_tested_is_one_line_and_status_2() {
    let ground = Ground::bent(AS_IT_IS, AS_IT_COMES).await;
    let base_url = ground.base_url.as_str();
    is_trouble(
        &run_as_project(&[UNSERVED]).await,
        &[UNSERVED, "no connection"],
    );

    let encrypted = base_url.replacen("http:", "https:", 1);
    is_trouble(
        &run_as_project(&[&encrypted]).await,
        &[&encrypted, "no connection"],
    );

    let elsewhere = &something_else();
    let words = [elsewhere.as_str(), "not as a sign-in broker", "text/html"];
    is_trouble(&run_as_project(&[elsewhere]).await, &words);

    let mut stranger = as_project(&[base_url]);
    stranger.env("CONFORMANCE_CLIENT_SECRET", "another secret altogether");
    let output = stranger.output().await.expect("it runs");
    is_trouble(
        &output,
        &["does not start a login", CLIENT_ID, "401", CALLBACK],
    );
    assert!(!text(&output.stderr).contains("altogether"));
}

#[tokio::test]
async fn what_is_missing_is_named_with_the_way_to_give_it() {
    let at = "http://127.0.0.1:9";
    is_trouble(&run(&[at]).await, &["--client-id", "--control"]);
    is_trouble(
        &run(&[at, "--client-id", "a"]).await,
        &["CONFORMANCE_CLIENT_SECRET", "--client-secret-file"],
    );
    let mut without_callback = conformance(&[at, "--client-id", "a"]);
    without_callback.env("CONFORMANCE_CLIENT_SECRET", "a secret");
    let output = without_callback.output().await.expect("it runs");
    is_trouble(&output, &["--callback"]);
    let file = run(&[
        at,
        "--client-id",
        "a",
        "--client-secret-file",
        "/no/such/file",
    ])
    .await;
    is_trouble(&file, &["--client-secret-file /no/such/file"]);
    is_trouble(
        &run(&[at, "--control", at]).await,
        &["no stack can be controlled at", at],
    );
}

#[tokio::test]
async fn an_address_that_is_none_is_wrong_usage() {
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
async fn the_help_says_how_it_is_used_and_what_its_status_means() {
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
        "a secret in a flag shows in the list of processes"
    );
}

/// The address of a server that is something else.
fn something_else() -> String {
    let (listener, url) = testkit::server::bind();
    proxy::serve(listener, |_| async {
        let mut page = Answered::of(200, "<h1>Welcome</h1>");
        page.headers
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        page
    });
    url
}
