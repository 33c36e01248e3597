//! The program `signin-kit`: its commands, and what they share with the programs of the
//! same code.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{Completed, EndsBy, Program, output_within};

/// Far above what anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

const COMMANDS: [&str; 4] = ["up", "broker", "consumer", "conformance"];

fn signin_kit(arguments: &[&str]) -> Completed {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signin-kit"));
    command.args(arguments).env_clear();
    output_within(command, LIMIT).expect("the program starts")
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

#[test]
fn mcp_answers_each_request_and_ends_with_its_input() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signin-kit"));
    command.args(["mcp", "--control", "http://127.0.0.1:9"]);
    command.stdout(Stdio::piped());
    let mut program = Program::start(command, EndsBy::EndOfInput).unwrap();
    for line in include_str!("mcp.txt").lines() {
        if let Some(request) = line.strip_prefix("> ") {
            program.order(request).unwrap();
        } else if let Some(part) = line.strip_prefix("< ") {
            let answer = program.output.line_within(LIMIT).unwrap_or_default();
            assert!(answer.contains(part), "{part}: {answer}");
        }
    }
    program.stop();
    assert_eq!(program.output.line_within(LIMIT), None);
    assert!(program.status().unwrap().unwrap().success());
}
