//! Single use under races and crashes: `prove` as anybody runs it, on fewer
//! histories and kills than its long runs. Brokers are processes of their own.

use std::process::{Command, Stdio};

/// Runs `prove` and asserts that it did at least what it was asked for.
#[track_caller]
fn prove(what: &str, at_least: u64, engine: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_prove"))
        .args([what, &at_least.to_string(), "--engine", engine])
        .stdin(Stdio::null())
        .output()
        .expect("the program under test starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaint}");
    let done = said.split(' ').next().and_then(|count| count.parse().ok());
    assert!(done >= Some(at_least), "{said}");
}

#[test]
fn nothing_is_had_twice_on_sqlite() {
    prove("histories", 20_000, "sqlite");
}

#[test]
fn whatever_was_acknowledged_survives_kills_on_sqlite() {
    prove("crashes", 20, "sqlite");
}

#[cfg(feature = "postgres")]
#[test]
fn nothing_is_had_twice_by_two_brokers_on_postgresql() {
    prove("histories", 5_000, "postgres");
}

#[cfg(feature = "postgres")]
#[test]
fn whatever_was_acknowledged_survives_kills_on_postgresql() {
    prove("crashes", 20, "postgres");
}
