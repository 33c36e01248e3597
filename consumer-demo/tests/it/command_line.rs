//! The program itself: what it says when it cannot start.

use std::net::TcpListener;
use std::process::{Command, Output};

const SECRET: &str = "hunter2";

/// Runs the program with nothing but these settings.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_consumer-demo"))
        .env_clear()
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

#[track_caller]
fn check_fails(arguments: &[&str], environment: &[(&str, &str)], words: &str) {
    let output = run(arguments, environment);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains(words), "{said}");
    assert!(!said.contains(SECRET), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
}

#[test]
fn a_taken_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    check_fails(
        &["--client-id", "demo", "--listen", &address],
        &[("SIGNIN_CLIENT_SECRET", SECRET)],
        &format!("consumer-demo: {address} is taken"),
    );
}

#[test]
fn the_secret_comes_from_the_environment_alone() {
    check_fails(
        &["--client-id", "demo"],
        &[],
        "SIGNIN_CLIENT_SECRET is not set",
    );
    check_fails(
        &["--client-id", "demo"],
        &[("SIGNIN_CLIENT_SECRET", "")],
        "SIGNIN_CLIENT_SECRET must have 1 to 200 characters",
    );
    let help = String::from_utf8(run(&["--help"], &[]).stdout).unwrap();
    assert!(help.contains("SIGNIN_CLIENT_SECRET"));
    assert!(!help.contains("--client-secret"));
}

#[test]
fn c19_an_unsafe_configuration_is_refused() {
    let secret = ("SIGNIN_CLIENT_SECRET", SECRET);
    let id = ("SIGNIN_CLIENT_ID", "demo");
    check_fails(
        &[],
        &[secret, id, ("SIGNIN_BASE_URL", "http://signin.example")],
        "HTTP loopback",
    );
    check_fails(
        &[],
        &[secret, id, ("SIGNIN_BASE_URL", "https://signin.example")],
        "looks like an example",
    );
    check_fails(
        &["--listen", "0.0.0.0:0"],
        &[secret, id],
        "looks like an example",
    );
    check_fails(&[], &[secret], "--client-id");
}
