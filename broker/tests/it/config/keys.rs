//! The keys and values of the file and the environment.

use broker::config::LogFormat;

use super::{LIMITS, LOCAL, accepted, google, project_of, refused};
use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::scratch::Scratch;

#[test]
fn a_base_url_is_enough_on_loopback() {
    let config = accepted(LOCAL);
    assert_eq!(config.base_url.as_str(), "http://127.0.0.1:8000");
    assert_eq!(config.bind.to_string(), "127.0.0.1:8000");
    assert!(config.store.url.to_string().ends_with("/broker.db"));
    assert_eq!(config.log.format, LogFormat::Readable);
    assert_eq!(config.upstream.timeout().as_secs(), 10);
    assert!(config.upstream.google.is_none() && config.upstream.github.is_none());
    assert!(config.projects.is_empty() && config.cookie_keys.is_empty());
    assert!(config.is_local());
}

#[test]
fn an_unknown_key_is_refused_in_every_table_by_name() {
    let project = project_of("x");
    for text in [
        format!("bas_url = \"x\"\n{LOCAL}"),
        format!("{LOCAL}cookie_key = []\n"),
        format!("{LOCAL}[stores]\n"),
        format!("{LOCAL}[store]\nurl = \"sqlite::memory:\"\nurls = 1\n"),
        format!("{LOCAL}[limits]\nwrong_secrets = 19\n"),
        format!("{LOCAL}[log]\nformatt = \"json\"\n"),
        format!("{LOCAL}[upstream]\ntimeout = 1\n"),
        format!("{LOCAL}[upstream.gitlab]\nclient_id = \"x\"\n"),
        format!("{LOCAL}{}", google("enable = true\n")),
        format!("{LOCAL}{project}redirect_uri = \"x\"\n"),
        format!("{LOCAL}{project}client_secret = \"GOCSPX\"\n"),
    ] {
        refused(&text, "unknown key");
    }
    refused(&format!("{LOCAL}cookie_key = []\n"), "cookie_key");
}

#[test]
fn a_missing_or_malformed_value_names_its_key() {
    refused("", "base_url");
    refused("base_url = 1\n", "base_url");
    refused(&format!("{LOCAL}bind = \"localhost\"\n"), "bind");
    refused(&format!("{LOCAL}bind = \"127.0.0.1\"\n"), "bind");
    refused(&format!("{LOCAL}bind = 8000\n"), "bind");
    refused(
        &format!("{LOCAL}cookie_keys = [\"short\"]\n"),
        "cookie_keys",
    );
    refused(&format!("{LOCAL}cookie_keys = \"x\"\n"), "cookie_keys");
    refused(
        &format!("{LOCAL}[store]\nurl = \"mysql://x\"\n"),
        "store.url",
    );
    refused(&format!("{LOCAL}[log]\nformat = \"xml\"\n"), "log.format");
    for limit in LIMITS {
        let never = format!("{LOCAL}[limits]\n{limit} = 0\n");
        refused(&never, &format!("`limits.{limit}`: expected"));
    }
    for header in [
        "",
        "X_Real_IP",
        "X-Real-IP, X",
        "X-Forwarded-For",
        "forwarded",
    ] {
        let text = format!("ip_header = \"{header}\"\n{LOCAL}");
        refused(&text, "`ip_header`: expected the name of one header");
    }
    refused(
        &format!("{LOCAL}[upstream]\ntimeout_ms = -1\n"),
        "timeout_ms",
    );
    refused(
        &format!("{LOCAL}[upstream.google]\nclient_id = \"x\"\n"),
        "client_secret",
    );
    refused(
        &format!("{LOCAL}{}", google("issuer = \"http://evil.test\"\n")),
        "issuer",
    );
    refused(
        &format!("{LOCAL}{}", google("enabled = \"yes\"\n")),
        "enabled",
    );
}

#[test]
fn a_base_url_is_an_origin_and_nothing_more() {
    for url in [
        "",
        "broker.example",
        "http://broker.example",
        "https://broker.example/",
        "https://broker.example/base",
        "https://broker.example?",
        "https://broker.example#",
        "https://ada@broker.example",
        "https://broker.example:443",
        "https://Broker.example",
        "http://127.1:8000",
        "http://0.0.0.0:8000",
        "ftp://localhost",
    ] {
        refused(&format!("base_url = \"{url}\"\n"), "base_url");
    }
    for url in [
        "http://localhost:8000",
        "http://[::1]:8000",
        "https://localhost:8443",
    ] {
        accepted(&format!("base_url = \"{url}\"\n"));
    }
}

#[test]
fn the_environment_overrides_the_file() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", &format!("{LOCAL}{}", google("")));
    let output = BrokerCommand::with("check", &path)
        .env("BROKER_BASE_URL", "http://localhost:9000")
        .env("BROKER_STORE__URL", "sqlite::memory:")
        .env("BROKER_UPSTREAM__GOOGLE__ENABLED", "false")
        .env("UNRELATED", "x")
        .output();
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(
        output.out.contains("http://localhost:9000"),
        "{}",
        output.out
    );
    assert!(output.out.contains("sqlite::memory:"), "{}", output.out);
    assert!(output.out.contains("google     disabled"), "{}", output.out);
    assert!(
        output.out.contains("github     not configured"),
        "{}",
        output.out
    );
    assert!(
        output.out.contains("http://localhost:9000/callback/google"),
        "{}",
        output.out
    );
    assert!(!output.out.contains("GOCSPX") && !output.err.contains("GOCSPX"));
}

#[test]
fn an_unknown_key_is_refused_in_the_environment_too() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    let check = |name: &str, value: &str, message: &str| {
        let output = BrokerCommand::with("check", &path)
            .env(name, value)
            .output();
        output.failed(message);
    };
    check("BROKER_BASE_ULR", "http://localhost:1", "base_ulr");
    check("BROKER_BASE_ULR", "x", "did you mean BROKER_BASE_URL?");
    check("BROKER_STORE_URL", "x", "did you mean BROKER_STORE__URL?");
    check("BROKER_PORT", "9000", "`port`");
    check("BROKER_UPSTREAM__GOOGLE__SECRET", "GOCSPX", "secret");
    check("BROKER_STORE__URI", "sqlite::memory:", "uri");
    check("BROKER_BASE_URL", "https://broker.example/", "base_url");
    check("BROKER_BIND", "0.0.0.0:8000", "cookie_keys");
}

#[test]
fn an_unknown_key_is_reported_with_the_nearest_known_one() {
    let project = project_of("x");
    refused(
        &format!("bas_url = \"x\"\n{LOCAL}"),
        "did you mean `base_url`?",
    );
    refused(
        &format!("{LOCAL}{}", google("enable = true\n")),
        "did you mean `upstream.google.enabled`?",
    );
    refused(
        &format!("{LOCAL}{project}redirect_uri = \"x\"\n"),
        "did you mean `project.redirect_uris`?",
    );
}

/// The variables that Kubernetes sets in every container beside the Services `broker` and
/// `broker-metrics`.
const INJECTED: [(&str, &str); 9] = [
    ("BROKER_METRICS_SERVICE_HOST", "10.0.0.12"),
    ("BROKER_PORT", "tcp://10.0.0.11:8000"),
    ("BROKER_PORT_8000_TCP", "tcp://10.0.0.11:8000"),
    ("BROKER_PORT_8000_TCP_ADDR", "10.0.0.11"),
    ("BROKER_PORT_8000_TCP_PORT", "8000"),
    ("BROKER_PORT_8000_TCP_PROTO", "tcp"),
    ("BROKER_SERVICE_HOST", "10.0.0.11"),
    ("BROKER_SERVICE_PORT", "8000"),
    ("BROKER_SERVICE_PORT_HTTP", "8000"),
];

#[test]
fn variables_of_an_orchestrator_are_ignored_and_named_in_one_line() {
    let scratch = Scratch::new();
    let text = format!("{LOCAL}bind = \"127.0.0.1:0\"\n[store]\nurl = \"sqlite::memory:\"\n");
    let path = scratch.write("broker.toml", &text);
    let beside_services = |command: &str| {
        let broker = BrokerCommand::with(command, &path).env("BROKER_LOG__FORMAT", "readable");
        INJECTED
            .into_iter()
            .fold(broker, |broker, (name, value)| broker.env(name, value))
    };
    let names = INJECTED.map(|(name, _)| name).join(" ");
    let checked = beside_services("check").output();
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    let notes = checked.out.lines().filter(|line| line.contains("BROKER_"));
    let notes: Vec<_> = notes.collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].ends_with(&format!(
        "9 variables that an orchestrator injected are ignored: {names}"
    )));
    let log = BrokerProcess::start(beside_services("serve")).kill();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("BROKER_"))
        .collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(
        lines[0].contains("count=9") && lines[0].contains(&names),
        "{log}"
    );
    assert!(!format!("{log}{}", checked.out).contains("10.0.0."));
}
