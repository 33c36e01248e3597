//! The keys and values of the file and the environment.

use broker::config::LogFormat;

use super::{LOCAL, accepted, google};
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
    for url in ["http://[::1]:8000", "https://localhost:8443"] {
        accepted(&format!("base_url = \"{url}\"\n"));
    }
    accepted(&format!("{LOCAL}operator.bind = \"[::1]:9000\"\n"));
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
    for part in [
        "http://localhost:9000/callback/google",
        "sqlite::memory:",
        "google     disabled",
        "github     not configured",
    ] {
        assert!(output.out.contains(part), "{part} in {}", output.out);
    }
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
    let log = BrokerProcess::start(beside_services("serve")).kill();
    let note = format!("9 variables that an orchestrator injected are ignored: {names}");
    for (text, parts) in [(&checked.out, [&*note, &note]), (&log, ["count=9", &names])] {
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.contains("BROKER_"))
            .collect();
        assert_eq!(lines.len(), 1, "{text}");
        assert!(parts.iter().all(|part| lines[0].contains(part)), "{text}");
        assert!(!text.contains("10.0.0."), "{text}");
    }
}
