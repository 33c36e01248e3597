//! `broker check`: files that other users of the machine may read, and its report.

use super::{COOKIE_KEY, LOCAL, PUBLIC, google, previous, project_of};
use crate::command::{BrokerCommand, CommandOutput};
use crate::installation::Installation;
use crate::scratch::Scratch;

const MEMORY: &str = "store.url = \"sqlite::memory:\"\n";

/// The output of `check` for a file with this text and mode. Checks that `serve` refuses
/// the same files with the same message.
fn check_file_with_mode(text: &str, mode: u32) -> CommandOutput {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", text);
    scratch.set_mode("broker.toml", mode);
    let output = BrokerCommand::with("check", &path).output();
    if output.code != Some(0) {
        let served = BrokerCommand::with("serve", &path).output();
        assert_eq!(served.err, output.err);
    }
    output
}

#[test]
fn a_reachable_broker_keeps_its_secrets_in_a_file_that_only_its_owner_reads() {
    let keyed = format!("{PUBLIC}{COOKIE_KEY}{MEMORY}");
    for mode in [0o644, 0o604, 0o666] {
        let output = check_file_with_mode(&keyed, mode);
        output.failed("cookie_keys");
        output.failed(&format!("mode {mode:o}"));
        output.failed("chmod 600 ");
        output.failed("broker.toml");
    }
    for mode in [0o600, 0o400] {
        let output = check_file_with_mode(&keyed, mode);
        assert_eq!(output.code, Some(0), "{}", output.err);
    }
}

#[test]
fn on_loopback_or_without_a_secret_any_user_may_read_the_file() {
    let local = format!("{LOCAL}{COOKIE_KEY}{MEMORY}{}", google(""));
    assert_eq!(check_file_with_mode(&local, 0o644).code, Some(0));
    let scratch = Scratch::new();
    let text = format!("{PUBLIC}{MEMORY}{}", project_of("x"));
    let path = scratch.write("broker.toml", &text);
    scratch.set_mode("broker.toml", 0o644);
    let keys = COOKIE_KEY.split_once(" = ").unwrap().1.trim();
    let output = BrokerCommand::with("check", &path)
        .env("BROKER_COOKIE_KEYS", keys)
        .output();
    assert_eq!(output.code, Some(0), "{}", output.err);
}

/// Checks that the report on this configuration contains these lines.
#[track_caller]
fn check_report(text: &str, lines: &[&str]) {
    let output = check_file_with_mode(text, 0o600);
    assert_eq!(output.code, Some(0), "{}", output.err);
    for line in lines {
        let found = output.out.lines().any(|reported| reported.trim() == *line);
        assert!(found, "{line}\nin\n{}", output.out);
    }
}

#[test]
fn the_report_names_the_guard_of_each_project() {
    let project = |more: &str| format!("{LOCAL}{MEMORY}{}{more}", project_of("x"));
    check_report(
        &project(""),
        &[
            "project    Ada (prj_ada)",
            "callback https://app.example/cb",
            "relay guard auto: visits that do not begin on the origin of the login's callback \
             need confirmation; account picker always",
        ],
    );
    check_report(
        &project(
            "start_origins = [\"https://a.example\", \"https://b.example\"]\n\
             select_account = \"unvouched\"\n",
        ),
        &[
            "relay guard auto: visits that do not begin on https://a.example or \
             https://b.example need confirmation; account picker unvouched",
        ],
    );
    check_report(
        &project("relay_guard = \"always\"\n"),
        &["relay guard always: all visits need confirmation; account picker always"],
    );
    check_report(
        &project(&previous("y")),
        &["its previous secret is valid, too"],
    );
}

#[test]
fn the_report_contains_notes_on_unusual_settings() {
    check_report(
        &format!("{LOCAL}{MEMORY}"),
        &[
            "note       no provider is enabled: no user can sign in",
            "note       no project: no client may call; see `broker new-project`",
        ],
    );
    let operator = "operator.bind = \"0.0.0.0:9000\"\noperator.exposed = true\n";
    check_report(
        &format!("{LOCAL}{MEMORY}{operator}"),
        &["metrics    http://0.0.0.0:9000/metrics"],
    );
    let odd = project_of("x").replace("https://app.example/cb", "http://localhost:3000/cb");
    let keys = COOKIE_KEY.replace(']', ", \"HxAPDg0MCwoJCAcGBQQDAgEAHx4dHBsaGRgXFhUUExI\"]");
    let exposed = "bind = \"0.0.0.0:8000\"\n";
    check_report(
        &format!("{PUBLIC}{exposed}{keys}{MEMORY}{odd}relay_guard = \"off\"\n"),
        &[
            "cookies    2 keys: the first encrypts, any decrypts",
            "note       this address serves http: allow only a proxy that terminates TLS to reach it",
            "note       the host name of https://broker.example must serve nothing else, on any port: \
             cookies know no ports",
            "note       no ip_header: behind a proxy, all requests seem to come from one address, \
             and the limits for each address apply to all clients together",
            "note       Ada: relay_guard is off, so an attacker who sends a sign-in to a victim is \
             signed in as the victim",
            "note       Ada: http://localhost:3000/cb is for development: it is on the visitor's own machine",
        ],
    );
}

#[test]
fn a_database_on_another_machine_is_noted_unless_its_connection_is_encrypted() {
    const NOTE: &str = "store.url is another machine, and the connection to it is not encrypted: \
                        add sslmode=verify-full";
    // An address without any machine.
    let reported = |parameters: &str| {
        let url = format!("postgres://broker@240.0.0.1/broker{parameters}");
        let installation = Installation::with_store(&url);
        (installation.check().out, installation.serve().kill())
    };
    let (checked, log) = reported("");
    assert!(checked.contains(&format!("note       {NOTE}")), "{checked}");
    assert!(log.contains(NOTE) && log.contains("WARN"), "{log}");
    let (checked, log) = reported("?sslmode=verify-full");
    assert!(
        !checked.contains(NOTE) && !log.contains(NOTE),
        "{checked}{log}"
    );
}
