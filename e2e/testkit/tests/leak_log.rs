//! A process that runs tests ends when its log holds a secret.

use std::process::{Command, Output};

const LINE: &str = "LEAK_SENTINEL_LINE";

/// Has another process of this very suite log `line`.
fn logged(line: &str) -> Output {
    let this = std::env::current_exe().expect("this suite");
    let test = ["--exact", "what_it_is_told_is_logged"];
    let child = Command::new(this).args(test).env(LINE, line).output();
    child.expect("it runs")
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is the way to another process of this suite"
)]
fn what_it_is_told_is_logged() {
    testkit::leak_check::watch_log();
    let line = std::env::var(LINE).unwrap_or_default();
    tracing::trace!(target: "planted", "{line}");
}

#[test]
fn a_process_that_logs_a_secret_fails_and_says_in_which_test() {
    let ended = logged("a careless QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9o line");
    assert_eq!(ended.status.code(), Some(101));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("in what_it_is_told_is_logged"), "{said}");
    assert!(said.contains("a careless [HERE] line"), "{said}");
}

#[test]
fn a_process_that_logs_none_does_not() {
    let ended = logged("a careful line");
    assert!(ended.status.success());
}
