//! The program `bench` at its smallest size. No test asserts a time: machines are noisy.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use agent::program::{Completed, output_within};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tempfile::TempDir;

const BENCH: &str = env!("CARGO_BIN_EXE_bench");

/// A debug build beside other tests takes longer than users would wait, and would refuse
/// some.
const PATIENT: &str = "export BROKER_LIMITS__OVERLOAD_DELAY_MS=60000";

/// A program `broker` in a folder that is removed with it: the broker of this build,
/// after these lines of shell. Its configuration is `$3`.
struct BrokerProgram(TempDir);

impl BrokerProgram {
    fn after(lines: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("broker");
        let script = format!("#!/bin/sh\n{PATIENT}\n{lines}\nexec '{BENCH}' broker \"$@\"\n");
        fs::write(&path, script).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("its owner's file");
        Self(folder)
    }

    /// A command that measures it, with these arguments.
    fn measured(&self, arguments: &str) -> Command {
        let mut command = Command::new(BENCH);
        command.arg("--quick").args(arguments.split(' '));
        command.arg("--broker").arg(self.0.path().join("broker"));
        command
    }
}

/// No run takes this long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

fn output(command: Command) -> Completed {
    output_within(command, LIMIT).expect("the program starts")
}

/// The first cells of the rows of the table that a broker's measurement writes.
fn rows(arguments: &str) -> String {
    let output = output(BrokerProgram::after("").measured(arguments));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let lines = output.stdout.lines().skip(2);
    let first = lines.map(|line| line.split('|').nth(1).expect("a row has cells").trim());
    first.collect::<Vec<_>>().join("\n")
}

/// The one line of the error with which a command ends, and no table.
fn error(command: Command) -> String {
    let output = output(command);
    assert_eq!(output.code, Some(1));
    assert_eq!(output.stdout, "", "no table");
    let lines = output.stderr.lines();
    lines.last().unwrap_or_default().to_owned()
}

#[test]
fn the_table_has_a_row_for_each_load_and_store() {
    insta::assert_snapshot!(rows("--no-postgres logins memory"));
}

#[test]
fn growth_is_measured_and_an_overload_to_its_end() {
    insta::assert_snapshot!(rows("growth overload"));
}

#[cfg(feature = "postgres")]
#[test]
fn what_a_login_uses_of_postgresql_is_measured_near_and_far() {
    insta::assert_snapshot!(rows("--clients 64 logins distance"));
}

#[test]
fn a_server_that_fails_stops_it_with_a_sentence() {
    let other_secret = "A".repeat(43);
    let misconfigured = format!(
        "sed -i 's/client_secret_sha256 = .*/client_secret_sha256 = \"{other_secret}\"/' \"$3\""
    );
    for (lines, part) in [
        (
            &*misconfigured,
            "bench: POST /v1/login/session was answered 401",
        ),
        ("exit 3", "ended with exit status: 3 before it listened"),
    ] {
        let error = error(BrokerProgram::after(lines).measured("memory"));
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_peer_that_cannot_be_started_is_skipped_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let installed = folder.path().join("node_modules/oidc-provider");
    fs::create_dir_all(&installed).unwrap();
    fs::write(installed.join("package.json"), r#"{ "version": "9.0.0" }"#).unwrap();
    let broker = BrokerProgram::after("");
    let mut command = broker.measured("peers");
    command.arg("--peers").arg(folder.path());
    command.env("PATH", "/nowhere");
    let output = output(command);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for line in [
        "| broker, SQLite file | ",
        "| emulate, GitHub | | | | | | skipped: it is not installed; `just bench peers` does that |",
        "| oidc-provider | | | | | | skipped: there is no `node` on the PATH",
        "| Keycloak, hydra and Zitadel | | | | | | skipped: ",
    ] {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
}

/// In `tests/command_line/`, one file a case.
#[test]
fn a_command_line_is_explained_and_refused_in_one_sentence_with_the_way_out() {
    trycmd::TestCases::new()
        .register_bin("bench", Path::new(BENCH))
        .case("tests/command_line/*.trycmd");
}

#[test]
fn a_machine_without_postgresql_can_leave_it_out() {
    let broker = BrokerProgram::after("");
    let mut command = broker.measured("logins");
    // Its programs are started by a shell, which is not there.
    command.env("PATH", "/nowhere");
    let error = error(command);
    assert!(
        error.ends_with("; without PostgreSQL: --no-postgres"),
        "{error}"
    );
}

#[test]
fn one_core_is_not_enough() {
    let allowed = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core));
    let mut one = CpuSet::new();
    one.set(first.unwrap());
    // Of this test's thread alone, and of the process that it starts.
    sched_setaffinity(None, &one).unwrap();
    let error = error(BrokerProgram::after("").measured("memory"));
    assert!(error.contains("needs two cores"), "{error}");
}
