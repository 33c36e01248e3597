//! A test process whose log holds a secret ends and fails.

use std::process::{Command, Output};

const LINE: &str = "LEAK_SENTINEL_LINE";

/// Runs another process of this suite, which logs `line`.
fn logged(line: &str) -> Output {
    let this = std::env::current_exe().expect("this suite");
    let test = ["--exact", "a_line_of_the_environment_is_logged"];
    let child = Command::new(this).args(test).env(LINE, line).output();
    child.expect("it runs")
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is the way to another process of this suite"
)]
fn a_line_of_the_environment_is_logged() {
    testkit::leak_check::watch_log();
    let line = std::env::var(LINE).unwrap_or_default();
    tracing::trace!(target: "planted", "{line}");
}

// Threats: A15.
#[test]
fn a_process_that_logs_a_secret_fails_and_names_the_test() {
    let ended = logged("a careless QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9o line");
    assert_eq!(ended.status.code(), Some(101));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("in a_line_of_the_environment_is_logged"),
        "{said}"
    );
    assert!(said.contains("a careless [HERE] line"), "{said}");
}

#[test]
fn a_process_that_logs_no_secret_succeeds() {
    let ended = logged("a careful line");
    assert!(ended.status.success());
}
