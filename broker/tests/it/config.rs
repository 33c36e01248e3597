//! The configuration and the command line: accepted values, refused ones, and error
//! messages, which contain no secret.

mod commands;

use broker::config::{CaCertificates, Config, ConfigError, LogFormat, ProxyConfig};
use broker::projects::Projects;
use contract::{ClientSecret, DEVELOPMENT_SECRET, Digest};

use crate::installation::Scratch;
use crate::process::{BrokerCommand, BrokerProcess};
use crate::tls::authority;

const LOCAL: &str = "base_url = \"http://127.0.0.1:8000\"\n";
const PUBLIC: &str = "base_url = \"https://broker.example\"\n";
const COOKIE_KEY: &str = "cookie_keys = [\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"]\n";
const GITHUB: &str = "[upstream.github]\nclient_id = \"a\"\nclient_secret = \"b\"\n";
const UPSTREAM_SECRET: &str = "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";

/// A project whose secret is `secret`.
fn project_of(secret: &str) -> String {
    format!(
        "[[project]]\nname = \"Ada\"\nclient_id = \"prj_ada\"\n\
         client_secret_sha256 = \"{}\"\nredirect_uris = [\"https://app.example/cb\"]\n",
        Digest::of(secret.as_bytes()).to_text()
    )
}

/// The line with the previous secret of a project.
fn previous(secret: &str) -> String {
    let digest = Digest::of(secret.as_bytes()).to_text();
    format!("previous_client_secret_sha256 = \"{digest}\"\n")
}

fn google(rest: &str) -> String {
    format!(
        "[upstream.google]\nclient_id = \"google\"\nclient_secret = \"{UPSTREAM_SECRET}\"\n{rest}"
    )
}

/// Rows of `LINES => MESSAGE`.
const REFUSED: &str = include_str!("config/refused.txt");

// Threats: A2, A15, RAUTHY-009.
#[test]
fn each_configuration_of_the_list_is_refused_in_one_line_that_names_the_error() {
    let development = DEVELOPMENT_SECRET;
    let words = [
        ("{local}", LOCAL.to_owned()),
        ("{public}", PUBLIC.to_owned()),
        ("{keys}", COOKIE_KEY.to_owned()),
        ("{google}", google("")),
        ("{github}", GITHUB.to_owned()),
        ("{project}", project_of("x")),
        (
            "{development_project}",
            project_of(development).replace("_ada", "_dev"),
        ),
        ("{development_previous}", previous(development)),
    ];
    let rows = REFUSED.lines().filter(|row| !row.starts_with('#'));
    let rows: Vec<_> = rows.filter_map(|row| row.split_once("=> ")).collect();
    assert!(rows.len() > 90, "{} rows", rows.len());
    for (lines, message) in rows {
        let lines = lines.trim().split(" | ");
        let filled = lines.map(|line| {
            if let Some(change) = line.trim().strip_prefix("{project ~ ") {
                let (from, to) = change.trim_end_matches('}').split_once(" ~ ").unwrap();
                return project_of("x").replace(from, to);
            }
            let word = words.iter().find(|(word, _)| *word == line.trim());
            word.map_or(line, |(_, lines)| lines.trim_end()).to_owned()
        });
        refused(&filled.collect::<Vec<_>>().join("\n"), message);
    }
}

fn load(text: &str) -> Result<Config, ConfigError> {
    Config::load(&Scratch::new().write("broker.toml", text))
}

#[track_caller]
fn accepted(text: &str) -> Config {
    load(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Checks that a configuration is refused with one line that contains `message`.
#[track_caller]
fn refused(text: &str, message: &str) {
    let error = load(text).err();
    let error = error.unwrap_or_else(|| panic!("accepted:\n{text}"));
    let (line, debug) = (error.to_string(), format!("{error:?}"));
    assert!(line.contains(message), "{line}");
    assert!(!line.contains('\n'), "{line}");
    for secret in ["GOCSPX", "hunter2", "271828"] {
        assert!(!line.contains(secret) && !debug.contains(secret), "{debug}");
    }
}

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

#[test]
fn the_real_providers_are_the_default() {
    let upstream = accepted(&format!("{LOCAL}{}{GITHUB}", google(""))).upstream;
    let (google, github) = (upstream.google.unwrap(), upstream.github.unwrap());
    assert_eq!(google.issuer.as_str(), "https://accounts.google.com");
    assert_eq!(github.web_url.as_str(), "https://github.com");
    assert_eq!(github.api_url.as_str(), "https://api.github.com");
    assert!(google.enabled && github.enabled);
    assert_eq!(google.client_secret.expose(), UPSTREAM_SECRET);
}

#[test]
fn an_imitation_may_be_anywhere_on_this_machine() {
    for url in [
        "http://127.0.0.1:8030",
        "http://localhost:1",
        "https://[::1]:1",
    ] {
        for key in ["web_url", "api_url"] {
            accepted(&format!("{LOCAL}{GITHUB}{key} = \"{url}\"\n"));
        }
        accepted(&format!(
            "{LOCAL}{}",
            google(&format!("issuer = \"{url}\"\n"))
        ));
    }
}

#[test]
fn a_proxy_is_none_the_environments_or_an_address_that_is_never_shown() {
    let with = |proxy: &str| format!("{LOCAL}[upstream]\nproxy = \"{proxy}\"\n");
    assert!(matches!(accepted(LOCAL).upstream.proxy, ProxyConfig::None));
    assert!(matches!(
        accepted(&with("none")).upstream.proxy,
        ProxyConfig::None
    ));
    let environment = accepted(&with("environment"));
    assert!(matches!(
        environment.upstream.proxy,
        ProxyConfig::Environment
    ));
    let address = accepted(&with("http://ada:GOCSPX@proxy.example:3128"));
    assert!(matches!(address.upstream.proxy, ProxyConfig::At(_)));
    assert!(!format!("{address:?}").contains("GOCSPX"));
}

#[test]
fn only_a_broker_in_code_can_have_imitations_at_a_name_that_is_not_loopback() {
    let with_issuer = |issuer: &str| {
        let text = format!("{LOCAL}{}", google("issuer = \"http://127.0.0.1:1\"\n"));
        let mut config = accepted(&text);
        config.upstream.imitations_at = Some("stack.test".to_owned());
        config.upstream.google.as_mut().unwrap().issuer = issuer.parse().unwrap();
        config.check()
    };
    with_issuer("https://stack.test:8020").unwrap();
    for foreign in ["https://stack.test.example", "https://idp.example"] {
        let refused = with_issuer(foreign).unwrap_err();
        assert!(matches!(refused, ConfigError::Foreign(_)), "{foreign}");
    }
}

#[test]
fn relative_paths_start_at_the_configuration_and_a_ca_file_may_have_several_certificates() {
    let scratch = Scratch::new();
    let pem = [authority().pem(), authority().pem()].concat();
    scratch.write("authorities.pem", &pem);
    let text = "store.url = \"sqlite:a.db\"\nupstream.ca_file = \"authorities.pem\"\n";
    let config = scratch.write("broker.toml", &format!("{LOCAL}{text}"));
    let config = Config::load(&config).unwrap();
    let database = format!("sqlite:{}", scratch.file("a.db").display());
    assert_eq!(config.store.url.to_string(), database);
    let Some(CaCertificates::File(path)) = config.upstream.ca_file else {
        panic!("it names a file");
    };
    assert_eq!(path, scratch.file("authorities.pem"));
}

// Threats: A15.
#[test]
fn a_configuration_shows_none_of_its_secrets() {
    let config = accepted(&format!("{PUBLIC}{COOKIE_KEY}{}", google("")));
    let shown = format!("{config:?}");
    assert!(
        !shown.contains("GOCSPX") && !shown.contains("AAECAw"),
        "{shown}"
    );
}

#[test]
fn a_public_broker_is_not_local_and_a_local_one_needs_no_secrets_of_its_own() {
    let everywhere = "bind = \"0.0.0.0:8000\"\n";
    assert!(!accepted(&format!("{PUBLIC}{COOKIE_KEY}{}", project_of("x"))).is_local());
    assert!(!accepted(&format!("{PUBLIC}{everywhere}{COOKIE_KEY}")).is_local());
    let known = project_of(DEVELOPMENT_SECRET);
    for bind in ["[::1]:8000", "127.0.0.2:8000"] {
        accepted(&format!("{LOCAL}bind = \"{bind}\"\n{known}"));
    }
}

/// Texts in TOML's notation that are not safe to show in a terminal or on a page. The last
/// three are a letter that looks blank, an invisible operator and a tag.
const UNPRINTABLE: &str = r"a\nb a\u001b[2Jb \u0000 a\u007f a\u0085b a\u202Eb a\u2066b a\u200Bb
                            a\uFFFFb \u3164 a\u2063b a\U000E0041b";

// Threats: A34.
#[test]
fn an_unprintable_name_or_client_id_is_refused_with_its_key() {
    let named = |name: &str| {
        let odd = project_of("x").replace("Ada", name);
        let odd = odd.replace("prj_ada", "prj_odd");
        format!("{LOCAL}{}{odd}", project_of("x"))
    };
    let with_id = |id: &str| format!("{LOCAL}{}", project_of("x").replace("prj_ada", id));
    let unprintable = UNPRINTABLE.split_whitespace();
    for id in unprintable.clone() {
        refused(&with_id(id), "`project.0.client_id`");
        refused(&with_id(id), "printable");
    }
    for name in unprintable.chain(["", " \\t", &"x".repeat(81)]) {
        refused(&named(name), "`project.1.name`");
        refused(&named(name), "1 to 80 printable characters");
    }
    accepted(&with_id("mañana 語"));
    accepted(&named(&"語".repeat(80)));
    accepted(&named("<b>Ada's</b> \\\"app\\\" 🦀 👩\u{200D}💻"));
    let spaced = accepted(&named("  Ada and Bob\\t"));
    assert_eq!(spaced.projects[1].name.as_str(), "Ada and Bob");
}

/// The projects of this configuration.
fn projects(text: &str) -> Projects {
    accepted(text).projects.into_iter().collect()
}

fn secret(text: &str) -> ClientSecret {
    text.parse().unwrap()
}

#[test]
fn a_project_may_have_a_secret_and_its_previous_one() {
    let both = projects(&format!("{LOCAL}{}{}", project_of("new"), previous("old")));
    for good in ["new", "old"] {
        assert!(both.authenticate("prj_ada", &secret(good)).is_ok());
    }
    assert!(both.authenticate("prj_ada", &secret("older")).is_err());
    assert!(both.authenticate("prj_bob", &secret("old")).is_err());
    let rotated = projects(&format!("{LOCAL}{}", project_of("new")));
    assert!(rotated.authenticate("prj_ada", &secret("old")).is_err());
}

// Threats: A13.
#[test]
fn a_project_registered_again_replaces_the_first_and_no_other_id_is_authenticated() {
    let project =
        |secret: &str| accepted(&format!("{LOCAL}{}", project_of(secret))).projects[0].clone();
    let projects = Projects::from_iter([project("old")]);
    let is_known =
        |id: &str, secret: &str| projects.authenticate(id, &secret.parse().unwrap()).is_ok();
    for id in ["", "prj_bob", &"a".repeat(101)] {
        assert!(!is_known(id, "old"), "{id}");
    }
    projects.clone().register(project("new"));
    assert!(!is_known("prj_ada", "old") && is_known("prj_ada", "new"));
}
