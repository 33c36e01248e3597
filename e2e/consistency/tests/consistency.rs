//! Single use under races, crashes and a soak: `consistency` on fewer histories, kills
//! and logins than its long runs. Brokers are processes of their own.

use std::process::Command;
use std::time::Duration;

use agent::program::{Completed, output_within};
use serde_json::Value;

/// No run in this suite takes this long, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs `consistency` and asserts that it did at least what it was asked for.
#[track_caller]
fn assert_passes(what: &str, at_least: u64, engine: &str) {
    let report = report_of(&[what, &at_least.to_string(), "--engine", engine]);
    let count = report.split(' ').next().and_then(|it| it.parse().ok());
    assert!(count >= Some(at_least), "{report}");
}

/// The output of `consistency` with these arguments, which succeeds.
#[track_caller]
fn report_of(arguments: &[&str]) -> String {
    let output = run(arguments);
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    assert_eq!(output.code, Some(0), "{stdout}{stderr}");
    output.stdout
}

fn run(arguments: &[&str]) -> Completed {
    let mut program = Command::new(env!("CARGO_BIN_EXE_consistency"));
    program.args(arguments);
    output_within(program, TIMEOUT).expect("the program under test starts")
}

// Threats: A7, A8, A9, A10, A22, A23, A25, A26, A27, A29, A45, L7, M5, M6, V6, X4, X6.
// Threats: CVE-2022-39263.
#[test]
fn every_transition_of_a_slice_is_as_the_model_has_it_on_sqlite() {
    assert_explored("sqlite");
}

// Threats: A7, A8, A9, A10, A25, A26, A27, L3, L7, CVE-2020-15222, CVE-2022-39263.
#[cfg(feature = "postgres")]
#[test]
fn every_transition_of_a_slice_is_as_the_model_has_it_on_postgresql() {
    assert_explored("postgres");
}

/// A slice of what `just explore` plays, with each kind of transition, and all of its pairs.
#[track_caller]
fn assert_explored(engine: &str) {
    let report = report_of(&["explore", "--engine", engine, "--every", "25"]);
    let mut counts = report.split(' ').filter_map(|it| it.parse::<u64>().ok());
    let counts: Vec<_> = counts.by_ref().take(4).collect();
    let least = [5_000, 5_000, 50, 300];
    let is_enough = counts
        .iter()
        .zip(least)
        .all(|(count, least)| *count >= least);
    assert!(counts.len() == least.len() && is_enough, "{report}");
    assert!(report.contains("\nNot enumerated:\n"), "{report}");
}

// Threats: A8, A29, L1, CVE-2020-15222.
#[test]
fn nothing_is_granted_twice_on_sqlite() {
    assert_passes("histories", 2_000, "sqlite");
}

// Threats: L2.
#[test]
fn what_was_acknowledged_survives_kills_on_sqlite() {
    assert_passes("crashes", 20, "sqlite");
}

// Threats: A8, A22, L1, L3.
#[cfg(feature = "postgres")]
#[test]
fn nothing_is_granted_twice_by_two_brokers_on_postgresql() {
    assert_passes("histories", 500, "postgres");
}

// Threats: L2.
#[cfg(feature = "postgres")]
#[test]
fn what_was_acknowledged_survives_kills_on_postgresql() {
    assert_passes("crashes", 20, "postgres");
}

#[cfg(feature = "postgres")]
#[test]
fn what_was_acknowledged_survives_failovers_to_a_synchronous_standby() {
    let report = report_of(&["crashes", "3", "--engine", "postgres", "--failover"]);
    let is_synchronous = report.starts_with("3 failovers to a synchronous");
    let is_kept = report.contains("\nNothing acknowledged was lost");
    assert!(is_synchronous && is_kept, "{report}");
}

#[cfg(feature = "postgres")]
#[test]
fn what_was_acknowledged_survives_a_primary_that_freezes_under_patroni() {
    let report = report_of(&["crashes", "1", "--engine", "postgres", "--patroni"]);
    let is_by_patroni = report.starts_with("1 failovers by Patroni");
    let is_kept = report.contains("\nNothing acknowledged was lost");
    assert!(
        is_by_patroni && report.contains("\nfreeze ") && is_kept,
        "{report}"
    );
}

#[cfg(feature = "postgres")]
#[test]
fn a_failover_to_an_asynchronous_standby_counts_what_it_lost() {
    let failover = ["--engine", "postgres", "--failover", "--asynchronous"];
    let report = report_of(&[&["crashes", "1"][..], &failover].concat());
    let (_, lost) = report.split_once("1 of 1 failovers lost ").expect(&report);
    let numbers = lost.split(' ').filter_map(|word| word.parse::<u64>().ok());
    let [commits, logins] = numbers.take(2).collect::<Vec<_>>()[..] else {
        panic!("{report}");
    };
    assert!(commits >= logins && logins > 0, "{report}");
    assert!(report.contains("does not protect single use"), "{report}");
}

#[test]
fn nothing_is_lost_or_granted_twice_while_everything_goes_wrong() {
    assert_soak_passes("sqlite");
}

#[cfg(feature = "postgres")]
#[test]
fn nothing_is_lost_or_granted_twice_by_two_brokers_while_everything_goes_wrong() {
    assert_soak_passes("postgres");
}

#[track_caller]
fn assert_soak_passes(engine: &str) {
    const LOGINS: u64 = 300;
    let command =
        format!("soak --logins {LOGINS} --logins-per-restart 40 --seed 7 --json --engine");
    let arguments: Vec<_> = command.split(' ').chain([engine]).collect();
    let figures: Value = serde_json::from_str(&report_of(&arguments)).expect("JSON");
    assert_eq!(figures["seed"], 7);
    assert_eq!(figures["violations"], Value::Array(Vec::new()));
    let logins = figures["logins"].as_array().expect("a list");
    let count = |is_it: &dyn Fn(&Value) -> bool| {
        let counts = logins.iter().filter(|it| is_it(it));
        counts.filter_map(|it| it["count"].as_u64()).sum::<u64>()
    };
    assert_eq!(count(&|_| true), LOGINS);
    for flow in ["clean", "legacy"] {
        for provider in ["google", "github"] {
            let is_it = |it: &Value| {
                it["flow"] == flow && it["provider"] == provider && it["outcome"] == "succeeded"
            };
            assert!(count(&is_it) > 0, "{flow} {provider}: {logins:#?}");
        }
    }
    for kind in ["faults", "misbehaviours", "hostile"] {
        let counts = figures[kind].as_object().expect("counts");
        assert!(!counts.is_empty(), "{kind}");
    }
    let calls = figures["calls"].as_array().expect("a list");
    for (step, outcome) in [
        ("visit unvouched", "confirmation page"),
        ("cancel", "to callback"),
    ] {
        let is_it = |it: &&Value| it["step"] == step && it["outcome"] == outcome;
        assert!(calls.iter().any(|it| is_it(&it)), "{step}: {calls:#?}");
    }
    let times = |what: &str| figures[what].as_u64().expect("a count");
    assert!(times("killed") + times("stopped") > 0);
    assert!(times("clock_moves") > 0);
}

#[test]
fn a_flag_that_is_wrong_is_named() {
    for (arguments, status, named) in [
        ("soak 0", 2, "[MINUTES]"),
        ("soak --people 0", 2, "--people"),
        ("soak --seed x", 2, "--seed"),
        (
            "soak 5 --logins 9",
            2,
            "'[MINUTES]' cannot be used with '--logins",
        ),
        ("soak --sede 1", 2, "'--seed'"),
        ("crashes --asynchronous", 2, "--failover"),
        ("crashes 1 --failover", 1, "add --engine postgres"),
        ("crashes 1 --patroni", 1, "add --engine postgres"),
        ("crashes --failover --patroni", 2, "'--patroni'"),
    ] {
        let output = run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(output.code, Some(status), "{arguments}");
        assert!(output.stderr.contains(named), "{}", output.stderr);
    }
    assert!(report_of(&["soak", "--help"]).contains("--logins-per-restart"));
}
