//! The program `bench` at its smallest size. No test asserts a time: machines are noisy.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

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

    fn path(&self) -> PathBuf {
        self.0.path().join("broker")
    }
}

fn quick(broker: &BrokerProgram, arguments: &[&str]) -> Output {
    let mut command = Command::new(BENCH);
    command.args(["--quick", "--no-postgres", "--broker"]);
    command.arg(broker.path()).args(arguments);
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes text")
}

/// The first cells of a table's rows.
fn rows(output: &Output) -> Vec<&str> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout).lines().skip(2);
    lines
        .map(|line| line.split('|').nth(1).expect("a row has cells").trim())
        .collect()
}

/// The one line of an error.
fn error(output: &Output) -> &str {
    assert!(!output.status.success());
    let lines = text(&output.stderr).lines();
    lines.last().unwrap_or_default()
}

#[test]
fn the_table_has_a_row_for_each_load_and_store() {
    let broker = BrokerProgram::after("");
    let output = quick(&broker, &["--clients", "64", "logins", "memory"]);
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
        expected.push(format!("{store}: growth after 640 consumed logins"));
    }
    assert_eq!(rows(&output), expected);
    assert!(text(&output.stdout).contains("| floor-hops: "));
}

#[test]
fn providers_that_are_slow_growth_and_the_store_are_measured() {
    let broker = BrokerProgram::after("");
    let output = quick(&broker, &["delay", "growth", "store"]);
    let rows = rows(&output);
    for row in [
        "clean, GitHub, providers answer in 100 ms: a whole login",
        "2000 live sessions: p50 of a request",
        "store, 20 users a minute, as many leave as come: CPU of a login",
        "384 logins in 1 simulated days, the last quarter: open files, at most",
        "store, 64 at once, SQLite file: consume_result",
    ] {
        assert!(rows.contains(&row), "{row} is not in {rows:?}");
    }
}

#[test]
fn an_overload_is_measured_to_three_times_the_capacity_and_to_its_end() {
    let broker = BrokerProgram::after("");
    let rows_of_overload = quick(&broker, &["overload"]);
    let rows = rows(&rows_of_overload);
    for row in [
        "memory, 0.5 × its capacity: completed logins",
        "SQLite file, 3.0 × its capacity: completed logins",
        "SQLite file, after the overload: until each login takes under a second",
    ] {
        assert!(rows.contains(&row), "{row} is not in {rows:?}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn several_brokers_on_one_postgresql_and_its_vacuum_are_measured() {
    let broker = BrokerProgram::after("");
    let mut command = Command::new(BENCH);
    command.args(["--quick", "brokers", "vacuum", "--broker"]);
    let output = command.arg(broker.path()).output().expect("it starts");
    let rows = rows(&output);
    for row in [
        "1 broker on one PostgreSQL, 64 at once: logins",
        "4 brokers on one PostgreSQL, 64 at once: fsyncs of a login",
        "PostgreSQL's tables, defaults: dead rows at the end",
        "PostgreSQL's tables, fillfactor 70: autovacuums",
    ] {
        assert!(rows.contains(&row), "{row} is not in {rows:?}");
    }
}

#[test]
fn a_failed_login_stops_it_with_the_name_of_the_request() {
    let other_secret = "A".repeat(43);
    let broker = BrokerProgram::after(&format!(
        "sed -i 's/client_secret_sha256 = .*/client_secret_sha256 = \"{other_secret}\"/' \"$3\""
    ));
    let output = quick(&broker, &["memory"]);
    let error = error(&output);
    let expected = "bench: POST /v1/login/session was answered 401";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(text(&output.stdout), "", "no table");
}

#[test]
fn a_broker_that_ends_at_its_start_is_an_error_and_no_hang() {
    let broker = BrokerProgram::after("exit 3");
    let output = quick(&broker, &["memory"]);
    assert!(error(&output).contains("ended with exit status: 3"));
}

#[test]
fn an_error_names_the_flag_and_the_way_out() {
    check(
        &["--broker", "/nowhere/broker", "memory"],
        "bench: there is no program /nowhere/broker: run `just bench`, which builds it, or \
         name another with --broker",
    );
    check(
        &["--broker", BENCH, "--against", "no-such-commit", "memory"],
        "bench: --against no-such-commit: there is no such commit; `git log --oneline` lists them",
    );
    check(
        &["--stack", "/nowhere/stack", "--broker", BENCH, "startup"],
        "bench: there is no program /nowhere/stack: run `just bench`, which builds it, or \
         name another with --stack",
    );
}

#[track_caller]
fn check(arguments: &[&str], expected: &str) {
    let output = Command::new(BENCH)
        .args(arguments)
        .output()
        .expect("the program starts");
    assert_eq!(error(&output), expected);
}

#[test]
fn a_machine_without_postgresql_can_leave_it_out() {
    let broker = BrokerProgram::after("");
    let mut command = Command::new(BENCH);
    command.args(["--quick", "logins", "--broker"]);
    // Its programs are started by a shell, which is not there.
    command.arg(broker.path()).env("PATH", "/nowhere");
    let output = command.output().unwrap();
    assert!(error(&output).ends_with("; without PostgreSQL: --no-postgres"));
}

#[test]
fn one_core_is_not_enough() {
    let allowed = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core));
    let mut one = CpuSet::new();
    one.set(first.unwrap());
    // Of this test's thread alone, and of the process that it starts.
    sched_setaffinity(None, &one).unwrap();
    let broker = BrokerProgram::after("");
    let output = quick(&broker, &["memory"]);
    assert!(error(&output).contains("needs two cores"));
}

#[test]
fn only_a_whole_run_is_published() {
    for flags in [
        ["--publish", "memory"].as_slice(),
        &["--publish", "--quick"],
        &["--publish", "--no-postgres"],
        &["--publish", "--against", "HEAD"],
        &["--publish", "--rounds", "1"],
        &["--publish", "--sessions", "2000"],
    ] {
        let output = Command::new(BENCH).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(text(&output.stderr).contains("cannot be used with"));
    }
}

#[test]
fn the_help_lists_every_measurement_and_no_server() {
    let output = Command::new(BENCH).arg("--help").output().unwrap();
    let help = text(&output.stdout);
    for name in [
        "logins", "delay", "stack", "memory", "startup", "growth", "brokers", "vacuum", "overload",
        "store",
    ] {
        assert!(help.contains(&format!("- {name}:")), "{name}: {help}");
    }
    assert!(!help.contains("floor-hops"), "{help}");
}
