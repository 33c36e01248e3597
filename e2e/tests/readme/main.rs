//! The examples of the README, run as they are: the flow in seven lines of curl, and backends in three
//! languages, each of which signs users in, and reads a result once.
//!
//! Needs curl 7.82, and the packages of the consumers in Python and Node;
//! `just test-examples` installs those and builds the backend in Rust.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod program;

use std::process::Command;
use std::time::Duration;

use agent::program::output_within;
use mock_upstream::{Misbehaviour, Next};
use serde_json::Value;
use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackSettings};
use testkit::browser::Browser;
use testkit::response::REFUSED;
use tokio::task::spawn_blocking;

use crate::program::{Language, MAX_SESSIONS, RunningBackend};

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
            shows(&page, "No sign-in is under way in this browser.");
        }
        assert_eq!(app.reads().await, [true, true], "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "Signed in as sub_");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_known_before_the_login_is_worth_nothing_afterwards() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        app.sign_in("google").await;
        let attacker = app.browser.with_same_cookies();
        app.sign_in("google").await;
        let (_, home) = app.open(&attacker, "/").await;
        shows(&home, "You are signed out.");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_not_read_again_and_signs_nobody_in() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        let read = "POST /v1/login/result".parse().unwrap();
        let lost = FaultInjection::next(read, Fault::LoseResponse);
        app.stack.faults().arm(lost);
        shows(&app.sign_in("google").await, "Please start again.");
        assert_eq!(app.reads().await, [false], "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "You are signed out.");
        shows(&app.sign_in("google").await, "Signed in as sub_");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_the_user_cancels_changes_nothing() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        for before in ["You are signed out.", "Signed in as sub_"] {
            let cancel = Next::Misbehave(Misbehaviour::Deny);
            app.stack.upstream().github().queue(cancel).unwrap();
            let page = app.sign_in("github").await;
            shows(&page, "The sign-in failed: access_denied.");
            let (_, home) = app.open(&app.browser, "/").await;
            shows(&home, before);
            app.sign_in("google").await;
        }
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
        shows(&page, "No sign-in is under way in this browser.");
        let (status, _) = app.open(&newest, "/callback").await;
        assert_eq!(status, 303, "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "Signed in as sub_");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_kept_in_no_cache_and_shown_in_no_frame() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        for path in ["/", "/callback"] {
            let page = app.browser.open(&format!("{}{path}", app.here)).await;
            assert_eq!(
                page.header("cache-control"),
                Some("no-store"),
                "{language:?}"
            );
            let policy = page.header("content-security-policy").unwrap();
            assert!(policy.contains("frame-ancestors 'none'"), "{language:?}");
        }
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
const LIMIT: Duration = Duration::from_secs(60);

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
