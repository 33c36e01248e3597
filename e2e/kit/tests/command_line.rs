//! The program `signin-kit`: its commands, and what they share with the programs of the
//! same code.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use agent::program::{Completed, output_within};

const COMMANDS: [&str; 4] = ["up", "broker", "consumer", "conformance"];

fn signin_kit(arguments: &[&str]) -> Completed {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signin-kit"));
    command.args(arguments).env_clear();
    output_within(command, Duration::from_secs(60)).expect("the program starts")
}

#[test]
fn a_commands_help_is_for_the_name_that_was_typed() {
    for command in COMMANDS {
        let output = signin_kit(&[command, "--help"]);
        let usage = format!("\nUsage: signin-kit {command} ");
        assert!(output.stdout.contains(&usage), "{command}");
    }
    let conformance = signin_kit(&["conformance", "--help"]);
    let examples = conformance.stdout.split("Examples:").nth(1).unwrap();
    let commands = examples.lines().filter(|line| line.contains("http"));
    for line in commands {
        assert!(line.starts_with("  signin-kit conformance http"), "{line}");
    }
}

#[test]
fn the_version_is_the_kits() {
    let output = signin_kit(&["--version"]);
    let expected = concat!("signin-kit ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(output.stdout, expected);
}

#[test]
fn a_message_and_an_exit_status_are_those_of_the_program() {
    trycmd::TestCases::new()
        .register_bin("signin-kit", Path::new(env!("CARGO_BIN_EXE_signin-kit")))
        .case("tests/command_line/*.trycmd");
}
