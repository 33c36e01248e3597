//! The examples of the README, run as they are: the flow in seven lines of curl, and backends in three
//! languages, each of which signs users in, reads a result once, and gets an A of the examiner; and
//! the guide of a running stack, followed by a script that knows nothing else.
//!
//! Needs curl 7.82, and the packages of the consumers in Python and Node;
//! `just test-examples` installs those and builds the backend in Rust.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod program;

use std::future::pending;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use agent::program::output_within;
use examiner::{ChromiumSettings, ExaminationPlan};
use serde_json::Value;
use stack::{Stack, StackSettings};
use testkit::browser::Browser;
use testkit::response::REFUSED;
use testkit::server::free_port;
use tokio::task::spawn_blocking;

use crate::program::{Language, MAX_SESSIONS, RunningBackend};

/// Chromium is left out: a browser of the examiner's own shows the same of these.
#[tokio::test(flavor = "multi_thread")]
async fn the_examiner_finds_nothing_wrong_with_any() {
    for language in Language::ALL {
        let start = format!("http://localhost:{}/", free_port());
        let mut plan = ExaminationPlan::new(start.parse().unwrap());
        let command = language.command();
        let words = [command.get_program()]
            .into_iter()
            .chain(command.get_args());
        plan.command = words.map(|it| it.to_str().unwrap().to_owned()).collect();
        plan.chromium = ChromiumSettings::Off;
        let report = examiner::examine(&plan, &mut |_| (), pending()).await;
        let report = report.unwrap().unwrap();
        let red = report.results.iter().filter(|it| it.verdict.is_red());
        let red: Vec<_> = red.map(|it| (&it.check.id, &it.actual)).collect();
        assert_eq!(red, [], "{language:?}");
        assert_eq!(report.title(), "Grade A", "{language:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_and_a_callback_reads_only_the_login_of_its_own_browser_and_once() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        for provider in ["google", "github"] {
            shows(&app.sign_in(provider).await, "Signed in as sub_");
        }
        for browser in [&app.browser, &Browser::new()] {
            let (status, page) = app.open(browser, "/callback").await;
            assert_eq!(status, 400, "{language:?}");
            shows(&page, "No finished sign-in was found in this browser.");
        }
        assert_eq!(app.reads().await, [true, true], "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "Signed in as sub_");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_logins_of_one_browser_both_end() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        for _ in 0..2 {
            app.start_in(&app.browser).await;
        }
        for _ in 0..2 {
            let (status, _) = app.open(&app.browser, "/callback").await;
            assert_eq!(status, 303, "{language:?}");
        }
        assert_eq!(app.reads().await, [true, true], "{language:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_beyond_the_capacity_end_the_oldest_login_and_sign_no_user_out() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        app.sign_in("google").await;
        let oldest = app.start_elsewhere().await;
        for _ in 1..MAX_SESSIONS {
            app.start_elsewhere().await;
        }
        let newest = app.start_elsewhere().await;
        let (_, page) = app.open(&oldest, "/callback").await;
        shows(&page, "No finished sign-in was found in this browser.");
        let (status, _) = app.open(&newest, "/callback").await;
        assert_eq!(status, 303, "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "Signed in as sub_");
    }
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "{text} in {page}");
}

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

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_followed_literally_gives_every_answer_and_an_app_of_grade_a() {
    let stack = Stack::start(StackSettings::for_tests()).await.unwrap();
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let this = std::env::current_exe().unwrap();
    let programs = this.parent().and_then(Path::parent).unwrap().display();
    let path = format!("PATH={top}/target/consumers/python/bin:{programs}:$PATH");
    let script = format!("{top}/e2e/tests/readme/follow_the_guide.py");
    run(&format!("{path} python3 {script} {}", stack.urls().control)).await;
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

/// Longer than the lines take.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs the lines in a shell, as a reader would, and returns what they print.
async fn run(lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", lines]);
    shell.current_dir(folder.path());
    let output = spawn_blocking(|| output_within(shell, LIMIT)).await;
    let output = output.unwrap().unwrap();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "they leave files behind: {left:?}");
    output.stdout
}

/// The output of a call: its answer, and its status after that.
fn split_status(line: &str) -> (&str, &str) {
    line.rsplit_once(' ').unwrap_or((line, ""))
}
