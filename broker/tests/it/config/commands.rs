//! The commands of the program, and its files: those that other users of the machine may read,
//! those that it creates, the projects and secrets that it makes, and the manifest that is
//! shipped for Kubernetes. What it reports and refuses otherwise is in
//! `tests/command_line/`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use broker::projects::Projects;
use contract::ClientSecret;
use serde_json::Value;

use super::{COOKIE_KEY, LOCAL, PUBLIC, accepted, google, project_of, projects, secret};
use crate::installation::{Installation, Scratch};
use crate::process::{BrokerCommand, CommandOutput};

const MEMORY: &str = "store.url = \"sqlite::memory:\"\n";

/// In `tests/command_line/`, beside the files that they name.
#[test]
fn the_commands_report_and_refuse_what_their_documents_say() {
    trycmd::TestCases::new()
        .register_bin("broker", Path::new(env!("CARGO_BIN_EXE_broker")))
        // A broker that serves when it should refuse is to fail its case.
        .timeout(Duration::from_secs(30))
        .case("tests/command_line/*.trycmd");
}

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

#[test]
fn a_database_and_a_cookie_key_beside_it_are_for_their_owner_alone() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    let key_file = scratch.file("broker.db.cookie-key");
    assert_eq!(BrokerCommand::with("check", &path).output().code, Some(0));
    let key = std::fs::read_to_string(&key_file).unwrap();
    assert_eq!(key.len(), 43);
    assert_eq!(mode(&key_file), 0o600);
    assert_eq!(mode(&scratch.file("broker.db")), 0o600);
    assert_eq!(BrokerCommand::with("check", &path).output().code, Some(0));
    assert_eq!(std::fs::read_to_string(&key_file).unwrap(), key, "reused");
}

fn mode(path: &PathBuf) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_broker_with_cookie_keys_or_in_memory_creates_no_key_file() {
    let scratch = Scratch::new();
    let keyed = scratch.write("keyed.toml", &format!("{LOCAL}{COOKIE_KEY}"));
    assert_eq!(BrokerCommand::with("check", &keyed).output().code, Some(0));
    let text = format!("{LOCAL}[store]\nurl = \"sqlite::memory:\"\n");
    let memory = scratch.write("memory.toml", &text);
    assert_eq!(BrokerCommand::with("check", &memory).output().code, Some(0));
    assert!(!scratch.file("broker.db.cookie-key").exists());
}

#[test]
fn a_file_that_is_no_database_or_no_key_and_a_taken_address_are_one_line() {
    let scratch = Scratch::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    scratch.write("text.db", &"no database\n".repeat(100));
    scratch.write("short.db.cookie-key", "GOCSPX");
    let listening = |key: &str| format!("{MEMORY}{key} = \"{address}\"");
    let (bind, operator) = (listening("bind"), listening("operator.bind"));
    let cannot_listen = format!("broker: cannot listen on {address}: ");
    for (line, message) in [
        ("store.url = \"sqlite:text.db\"", "text.db"),
        ("store.url = \"sqlite:short.db\"", "short.db.cookie-key"),
        (&bind, &cannot_listen),
    ] {
        let path = scratch.write("broker.toml", &format!("{LOCAL}{line}\n{}", google("")));
        for command in ["check", "serve"] {
            // Only `serve` listens.
            if command == "serve" || !line.contains(&address) {
                BrokerCommand::with(command, &path).output().failed(message);
            }
        }
    }
    // By then it serves at the other address, and has said so.
    let operator = format!("{LOCAL}bind = \"127.0.0.1:0\"\n{operator}");
    let path = scratch.write("broker.toml", &operator);
    let output = BrokerCommand::with("serve", &path).output();
    assert_eq!(output.code, Some(1));
    let last = output.err.lines().last().unwrap();
    assert!(last.starts_with(&cannot_listen), "{}", output.err);
    assert!(last.ends_with("BROKER_OPERATOR__BIND"), "{}", output.err);
}

/// The output of `new-project` for this name: the TOML and the secret.
fn new_project(name: &str) -> (String, ClientSecret) {
    let uris = [
        "--redirect-uri",
        "https://app.example/cb",
        "--redirect-uri",
        "http://localhost:3000/cb",
    ];
    let output = BrokerCommand::run(&[&["new-project", name][..], &uris].concat()).output();
    assert_eq!(output.code, Some(0), "{}", output.err);
    let (id, secret) = output.err.trim().split_once('\n').unwrap();
    let id = id.strip_prefix("client_id: ").unwrap();
    assert!(output.out.contains(&format!("client_id = \"{id}\"")));
    let secret = secret.rsplit(' ').next().unwrap();
    assert!(!output.out.contains(secret));
    (output.out, secret.parse().unwrap())
}

#[test]
fn the_output_of_new_project_is_a_project_of_its_own_whose_secret_authenticates() {
    for name in ["Ada", "Ada's \"app\" \\ 1", "語 🦀", "#{ada} = [x]"] {
        let (toml, secret) = new_project(name);
        let config = accepted(&format!("{LOCAL}{toml}"));
        let project = config.projects[0].clone();
        assert_eq!(project.name.as_str(), name);
        assert_eq!(project.redirect_uris.len(), 2);
        assert_eq!(project.client_id.as_str().len(), 26);
        let client_id = project.client_id.clone();
        let projects = Projects::from_iter([project]);
        assert!(projects.authenticate(client_id.as_str(), &secret).is_ok());
    }
    let [(one, _), (two, _)] = ["Ada"; 2].map(new_project);
    let differing = one.lines().zip(two.lines()).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 2, "the client_id and the digest");
}

// Threats: A34.
#[test]
fn a_name_that_is_not_safe_in_a_terminal_is_refused_and_not_repeated() {
    for unsafe_character in ["\u{1b}", "\u{7f}", "\u{202e}"] {
        let name = format!("Ada{unsafe_character}[2J");
        let callback = ["--redirect-uri", "https://app.example/cb"];
        let output = BrokerCommand::run(&[&["new-project", &name][..], &callback].concat());
        let output = output.output();
        output.failed("a project's name has 1 to 80 printable characters");
        assert!(!output.err.contains(unsafe_character) && !output.err.contains("[2J"));
        assert_eq!(output.out, "");
    }
}

/// The output of `new-secret` for a project of this configuration.
fn new_secret(text: &str, client_id: &str) -> CommandOutput {
    let scratch = Scratch::new();
    let config = scratch.write("broker.toml", text);
    let config = config.to_str().unwrap();
    BrokerCommand::run(&["new-secret", client_id, "--config", config]).output()
}

#[test]
fn the_output_of_new_secret_accepts_the_new_secret_and_the_old() {
    // It needs no secret of a provider.
    let google = "[upstream.google]\nclient_id = \"x\"\n";
    let before = format!("{LOCAL}{}", project_of("old"));
    let output = new_secret(&format!("{before}{google}"), "prj_ada");
    assert_eq!(output.code, Some(0), "{}", output.err);
    let shown = output.err.trim().rsplit(' ').next().unwrap();
    assert!(!output.out.contains(shown));
    let stays = |line: &&str| !line.starts_with("client_secret_sha256");
    let kept: Vec<_> = before.lines().filter(stays).collect();
    let after = projects(&format!("{}\n{}", kept.join("\n"), output.out));
    for good in [shown, "old"] {
        assert!(after.authenticate("prj_ada", &secret(good)).is_ok());
    }
}

const MANIFEST: &str = include_str!("../../../kubernetes/broker.yaml");

/// The objects of the manifest, with values for its placeholders.
fn objects() -> Vec<Value> {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    let manifest = MANIFEST
        .replace("SIGNIN.EXAMPLE", "signin.example")
        .replace("32-RANDOM-BYTES-IN-BASE64URL", key)
        .replace("POSTGRES-HOST", "127.0.0.1:1");
    serde_saphyr::from_multiple(&manifest).unwrap()
}

fn object(kind: &str) -> Value {
    let found = objects().into_iter().find(|it| it["kind"] == kind);
    found.unwrap_or_else(|| panic!("there is no {kind}"))
}

#[test]
fn the_broker_takes_the_manifests_configuration() {
    let file = &object("ConfigMap")["data"]["broker.toml"];
    let scratch = Scratch::new();
    let config = scratch.write("broker.toml", file.as_str().unwrap());
    // The mode of a mounted ConfigMap: any user may read it.
    scratch.set_mode("broker.toml", 0o644);
    let mut check = BrokerCommand::with("check", &config);
    for (name, value) in object("Secret")["stringData"].as_object().unwrap() {
        check = check.env(name, value.as_str().unwrap());
    }
    let output = check.output();
    output.failed("cannot open postgres://");
    for line in [
        "listening  on 0.0.0.0:8000 as https://signin.example",
        "google     enabled",
        "github     enabled",
        "cookies    one key",
    ] {
        assert!(output.out.contains(line), "{line} in {}", output.out);
    }
}

#[test]
fn the_manifests_grace_period_is_longer_than_the_broker_needs_to_stop() {
    let pod = &object("Deployment")["spec"]["template"]["spec"];
    let sleep = &pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"];
    let stop = u64::from(accepted(LOCAL).shutdown_seconds) + 2;
    let needed = sleep.as_u64().unwrap() + stop;
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(grace > needed, "{grace} s for {needed} s");
}
