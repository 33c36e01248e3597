//! The commands of the program, and its files: those that other users of the machine may read,
//! those that it creates, the projects and secrets that it makes, and the manifest that is
//! shipped for Kubernetes. What it reports and refuses otherwise is in
//! `tests/command_line/`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use broker::projects::Projects;
use serde_json::Value;

use super::{COOKIE_KEY, LOCAL, PUBLIC, accepted, google, knows, project_of, projects};
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
        check_file_with_mode(&keyed, mode).succeeded();
    }
}

#[test]
fn on_loopback_or_without_a_secret_any_user_may_read_the_file() {
    let local = format!("{LOCAL}{COOKIE_KEY}{MEMORY}{}", google(""));
    check_file_with_mode(&local, 0o644).succeeded();
    let scratch = Scratch::new();
    let text = format!("{PUBLIC}{MEMORY}{}", project_of("x"));
    let path = scratch.write("broker.toml", &text);
    scratch.set_mode("broker.toml", 0o644);
    let keys = COOKIE_KEY.split_once(" = ").unwrap().1.trim();
    let check = BrokerCommand::with("check", &path).env("BROKER_COOKIE_KEYS", keys);
    check.output().succeeded();
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
    assert!(!format!("{checked}{log}").contains(NOTE), "{checked}{log}");
}

#[test]
fn a_database_and_a_cookie_key_beside_it_are_for_their_owner_alone_and_made_once_if_at_all() {
    let scratch = Scratch::new();
    let key_file = scratch.file("broker.db.cookie-key");
    let check = |text: &str| {
        let path = scratch.write("broker.toml", text);
        BrokerCommand::with("check", &path).output().succeeded();
        std::fs::read_to_string(&key_file).ok()
    };
    // Those with cookie keys or in memory need none.
    assert_eq!(check(&format!("{LOCAL}{COOKIE_KEY}")), None);
    assert_eq!(check(&format!("{LOCAL}{MEMORY}")), None);
    let key = check(LOCAL).unwrap();
    assert_eq!(key.len(), 43);
    for file in [&key_file, &scratch.file("broker.db")] {
        let permissions = std::fs::metadata(file).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, 0o600, "{}", file.display());
    }
    assert_eq!(check(LOCAL), Some(key), "reused");
    scratch.write("broker.db.cookie-key", "GOCSPX");
    for command in ["check", "serve"] {
        let output = BrokerCommand::with(command, &scratch.file("broker.toml")).output();
        output.failed("broker.db.cookie-key");
    }
}

#[test]
fn a_taken_address_is_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let cannot_listen = format!("broker: cannot listen on {address}: ");
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", &format!("{LOCAL}{MEMORY}"));
    let serve = || BrokerCommand::with("serve", &path);
    let output = serve().env("BROKER_BIND", &address).output();
    output.failed(&cannot_listen);
    // By then it serves at the other address, and has said so.
    let operator = serve().env("BROKER_BIND", "127.0.0.1:0");
    let output = operator.env("BROKER_OPERATOR__BIND", &address).output();
    assert_eq!(output.code, Some(1));
    let last = output.err.lines().last().unwrap();
    assert!(last.starts_with(&cannot_listen), "{}", output.err);
    assert!(last.ends_with("BROKER_OPERATOR__BIND"), "{}", output.err);
}

/// The output of `new-project` for this name: the TOML and the secret.
fn new_project(name: &str) -> (String, String) {
    let uris = "--redirect-uri https://app.example/cb --redirect-uri http://localhost:3000/cb";
    let arguments = ["new-project", name].into_iter().chain(uris.split(' '));
    let output = BrokerCommand::run(&arguments.collect::<Vec<_>>()).output();
    let output = output.succeeded();
    let (id, secret) = output.err.trim().split_once('\n').unwrap();
    let id = id.strip_prefix("client_id: ").unwrap();
    assert!(output.out.contains(&format!("client_id = \"{id}\"")));
    let secret = secret.rsplit(' ').next().unwrap();
    assert!(!output.out.contains(secret));
    (output.out, secret.to_owned())
}

#[test]
fn the_output_of_new_project_is_a_project_of_its_own_whose_secret_authenticates() {
    for name in ["Ada", "Ada's \"app\" \\ 1", "語 🦀", "#{ada} = [x]"] {
        let (toml, secret) = new_project(name);
        let config = accepted(&format!("{LOCAL}{toml}"));
        let project = &config.projects[0];
        assert_eq!(project.name.as_str(), name);
        assert_eq!(project.redirect_uris.len(), 2);
        assert_eq!(project.client_id.as_str().len(), 26);
        let projects = Projects::from_iter(config.projects.clone());
        assert!(knows(&projects, project.client_id.as_str(), &secret));
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
        let arguments = [
            "new-project",
            &name,
            "--redirect-uri",
            "https://app.example/cb",
        ];
        let output = BrokerCommand::run(&arguments).output();
        output.failed("a project's name has 1 to 80 printable characters");
        assert!(!output.err.contains(unsafe_character) && !output.err.contains("[2J"));
        assert_eq!(output.out, "");
    }
}

#[test]
fn the_output_of_new_secret_accepts_the_new_secret_and_the_old() {
    // It needs no secret of a provider.
    let google = "[upstream.google]\nclient_id = \"x\"\n";
    let before = format!("{LOCAL}{}", project_of("old"));
    let scratch = Scratch::new();
    let config = scratch.write("broker.toml", &format!("{before}{google}"));
    let arguments = [
        "new-secret",
        "prj_ada",
        "--config",
        config.to_str().unwrap(),
    ];
    let output = BrokerCommand::run(&arguments).output().succeeded();
    let shown = output.err.trim().rsplit(' ').next().unwrap();
    assert!(!output.out.contains(shown));
    let stays = |line: &&str| !line.starts_with("client_secret_sha256");
    let kept: Vec<_> = before.lines().filter(stays).collect();
    let after = projects(&format!("{}\n{}", kept.join("\n"), output.out));
    assert!(knows(&after, "prj_ada", shown) && knows(&after, "prj_ada", "old"));
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
