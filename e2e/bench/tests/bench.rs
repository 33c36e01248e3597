//! The program `bench` at its smallest size. No test asserts a time: machines are noisy.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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
        let mut command = bench(&format!("--quick {arguments}"));
        command.arg("--broker").arg(self.0.path().join("broker"));
        command
    }
}

/// A command with these arguments, which spaces part.
fn bench(arguments: &str) -> Command {
    let mut command = Command::new(BENCH);
    command.args(arguments.split(' '));
    command
}

/// No run takes this long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

fn output(command: Command) -> Completed {
    output_within(command, LIMIT).expect("the program starts")
}

/// The first cells of a table's rows.
fn rows(output: &Completed) -> Vec<&str> {
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let lines = output.stdout.lines().skip(2);
    lines
        .map(|line| line.split('|').nth(1).expect("a row has cells").trim())
        .collect()
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
    let broker = BrokerProgram::after("");
    let output = output(broker.measured("--no-postgres --clients 64 logins memory"));
    let mut expected = Vec::new();
    for login in [
        "clean, GitHub",
        "legacy, GitHub",
        "clean, Google",
        "legacy, Google",
    ] {
        let of = |store: &str| format!("{login}, 64 at once, {store}");
        expected.push(of("memory: CPU of a login"));
        expected.push(of("SQLite file: CPU of a login"));
        expected.push(of("SQLite file: p99 of a request"));
    }
    for store in ["memory", "SQLite file"] {
        expected.push(format!("{store}: memory, idle"));
        expected.push(format!(
            "640 consumed logins, {store}: growth of the memory"
        ));
    }
    assert_eq!(rows(&output), expected);
    assert!(output.stdout.contains("| floor-hops: "));
}

#[test]
fn growth_is_measured_and_an_overload_to_its_end() {
    let broker = BrokerProgram::after("");
    let output = output(broker.measured("growth overload"));
    let rows = rows(&output);
    for row in [
        "2000 live sessions: p50 of a request",
        "2000 live sessions: memory of each",
        "384 logins in 1 simulated days, the last quarter: open files, at most",
        "memory, 0.5 × its capacity: completed logins",
        "SQLite file, 3.0 × its capacity: completed logins",
        "SQLite file, after the overload: until each login takes under a second",
    ] {
        assert!(rows.contains(&row), "{row} is not in {rows:?}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn what_a_login_uses_of_postgresql_is_measured() {
    let broker = BrokerProgram::after("");
    let output = output(broker.measured("--clients 64 logins distance"));
    let rows = rows(&output);
    for row in [
        "64 at once, PostgreSQL: CPU of a login",
        "64 at once, PostgreSQL: statements of a login",
        "64 at once, PostgreSQL: write-ahead log of a login",
        "64 at once, PostgreSQL: CPU of a login in PostgreSQL",
        "1 at once, PostgreSQL at 0 ms: statements of a login",
        "16 at once, PostgreSQL at 5 ms: time of a login",
        "1 at once, PostgreSQL at 20 ms: delays in a login",
    ] {
        let row = format!("clean, GitHub, {row}");
        assert!(rows.contains(&row.as_str()), "{row} is not in {rows:?}");
    }
}

#[test]
fn a_failed_login_stops_it_with_the_name_of_the_request() {
    let other_secret = "A".repeat(43);
    let broker = BrokerProgram::after(&format!(
        "sed -i 's/client_secret_sha256 = .*/client_secret_sha256 = \"{other_secret}\"/' \"$3\""
    ));
    let error = error(broker.measured("memory"));
    let expected = "bench: POST /v1/login/session was answered 401";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_broker_that_ends_at_its_start_is_an_error_and_no_hang() {
    let broker = BrokerProgram::after("exit 3");
    let error = error(broker.measured("memory"));
    assert!(error.contains("ended with exit status: 3"), "{error}");
}

#[test]
fn an_error_names_the_flag_and_the_way_out() {
    for (arguments, expected) in [
        (
            "--broker /nowhere/broker memory",
            "bench: there is no program /nowhere/broker: run `just bench`, which builds it, or \
             name another broker with --broker",
        ),
        (
            "--broker BENCH --against no-such-commit memory",
            "bench: --against no-such-commit: there is no such commit; `git log --oneline` \
             lists them",
        ),
    ] {
        assert_eq!(error(bench(&arguments.replace("BENCH", BENCH))), expected);
    }
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

#[test]
fn only_a_whole_run_is_published() {
    for flags in [
        "memory",
        "--quick",
        "--no-postgres",
        "--against HEAD",
        "--rounds 1",
    ] {
        let output = output(bench(&format!("--publish {flags}")));
        assert_eq!(output.code, Some(2), "{flags}");
        assert!(output.stderr.contains("cannot be used with"));
    }
}

#[test]
fn the_help_lists_every_measurement_and_no_server() {
    let output = output(bench("--help"));
    let help = output.stdout;
    for name in ["logins", "memory", "startup", "growth", "overload"] {
        assert!(help.contains(&format!("- {name}:")), "{name}: {help}");
    }
    assert!(!help.contains("floor-hops"), "{help}");
}
