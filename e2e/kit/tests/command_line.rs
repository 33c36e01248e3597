//! The program `signin-kit`: its commands, and what they share with the programs of the
//! same code.

use std::process::{Command, Output};

const COMMANDS: [&str; 4] = ["up", "broker", "consumer", "conformance"];

fn signin_kit(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signin-kit"));
    command
        .args(arguments)
        .env_clear()
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes text")
}

#[test]
fn the_help_lists_every_command() {
    let output = signin_kit(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for command in COMMANDS {
        let line = format!("\n  {command} ");
        assert!(text(&output.stdout).contains(&line), "{command}");
    }
}

#[test]
fn a_commands_help_is_for_the_name_that_was_typed() {
    for command in COMMANDS {
        let output = signin_kit(&[command, "--help"]);
        let usage = format!("\nUsage: signin-kit {command} ");
        assert!(text(&output.stdout).contains(&usage), "{command}");
    }
    let conformance = signin_kit(&["conformance", "--help"]);
    let examples = text(&conformance.stdout).split("Examples:").nth(1).unwrap();
    let commands = examples.lines().filter(|line| line.contains("http"));
    for line in commands {
        assert!(line.starts_with("  signin-kit conformance http"), "{line}");
    }
}

#[test]
fn a_misspelt_command_is_wrong_usage_and_suggests_the_right_one() {
    let output = signin_kit(&["conformence"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'conformance'"));
}

#[test]
fn no_command_is_wrong_usage_and_shows_the_help() {
    let output = signin_kit(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Usage: signin-kit <COMMAND>"));
}

#[test]
fn the_version_is_the_kits() {
    let output = signin_kit(&["--version"]);
    let expected = concat!("signin-kit ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn a_message_and_an_exit_status_are_those_of_the_program() {
    let start = |arguments: &[&str], status, message| {
        let output = signin_kit(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{stderr}");
        assert!(stderr.starts_with(message), "{stderr}");
    };
    start(&["broker", "check", "--config", "no.toml"], 1, "broker: ");
    start(
        &["consumer", "--client-id", "prj_ada"],
        1,
        "consumer-demo: SIGNIN_CLIENT_SECRET is not set\n",
    );
    start(
        &["conformance", "http://127.0.0.1:9"],
        2,
        "conformance: missing credentials",
    );
    start(&["up", "--broker=0.0.0.0:0"], 2, "error: invalid value");
}
