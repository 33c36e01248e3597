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
    let development_project = project_of(development).replace("_ada", "_dev");
    let words = [
        ("{local}", LOCAL.to_owned()),
        ("{public}", PUBLIC.to_owned()),
        ("{keys}", COOKIE_KEY.to_owned()),
        ("{google}", google("")),
        ("{github}", GITHUB.to_owned()),
        ("{project}", project_of("x")),
        ("{development_project}", development_project),
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

/// The report of `check` on them is in `tests/command_line/check.trycmd`.
#[test]
fn variables_of_an_orchestrator_are_ignored_and_named_in_one_line_of_the_log() {
    let scratch = Scratch::new();
    let text = format!("{LOCAL}bind = \"127.0.0.1:0\"\nstore.url = \"sqlite::memory:\"\n");
    let path = scratch.write("broker.toml", &text);
    let broker = BrokerCommand::with("serve", &path)
        .env("BROKER_LOG__FORMAT", "readable")
        .env("BROKER_SERVICE_HOST", "10.0.0.11")
        .env("BROKER_METRICS_PORT", "tcp://10.0.0.12:9000");
    let log = BrokerProcess::start(broker).kill();
    let is_named = |line: &&str| line.contains("BROKER_");
    let lines: Vec<_> = log.lines().filter(is_named).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("count=2"), "{log}");
    let names = "BROKER_METRICS_PORT BROKER_SERVICE_HOST";
    assert!(
        lines[0].contains(names) && !log.contains("10.0.0."),
        "{log}"
    );
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
        let google = google(&format!("issuer = \"{url}\"\n"));
        accepted(&format!("{LOCAL}{google}"));
    }
}

#[test]
fn a_proxy_is_none_the_environments_or_an_address_that_is_never_shown() {
    let with = |proxy: &str| format!("{LOCAL}[upstream]\nproxy = \"{proxy}\"\n");
    let proxy = |text: &str| accepted(text).upstream.proxy;
    assert!(matches!(proxy(LOCAL), ProxyConfig::None));
    assert!(matches!(proxy(&with("none")), ProxyConfig::None));
    assert!(matches!(
        proxy(&with("environment")),
        ProxyConfig::Environment
    ));
    let address = proxy(&with("http://ada:GOCSPX@proxy.example:3128"));
    assert!(matches!(address, ProxyConfig::At(_)));
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
    let file = scratch.file("authorities.pem");
    assert!(matches!(config.upstream.ca_file, Some(CaCertificates::File(it)) if it == file));
}

// Threats: A15.
#[test]
fn a_configuration_shows_none_of_its_secrets() {
    let config = accepted(&format!("{PUBLIC}{COOKIE_KEY}{}", google("")));
    let shown = format!("{config:?}");
    assert!(!shown.contains("GOCSPX") && !shown.contains("AAECAw"));
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
    let odd = project_of("x").replace("prj_ada", "prj_odd");
    let named = |name: &str| format!("{LOCAL}{}{}", project_of("x"), odd.replace("Ada", name));
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

fn knows(projects: &Projects, client_id: &str, text: &str) -> bool {
    projects.authenticate(client_id, &secret(text)).is_ok()
}

#[test]
fn a_project_may_have_a_secret_and_its_previous_one() {
    let both = projects(&format!("{LOCAL}{}{}", project_of("new"), previous("old")));
    assert!(knows(&both, "prj_ada", "new") && knows(&both, "prj_ada", "old"));
    assert!(!knows(&both, "prj_ada", "older") && !knows(&both, "prj_bob", "old"));
    let rotated = projects(&format!("{LOCAL}{}", project_of("new")));
    assert!(!knows(&rotated, "prj_ada", "old"));
}

// Threats: A13.
#[test]
fn a_project_registered_again_replaces_the_first_and_no_other_id_is_authenticated() {
    let config = |secret: &str| accepted(&format!("{LOCAL}{}", project_of(secret)));
    let projects = Projects::from_iter(config("old").projects);
    for id in ["", "prj_bob", &"a".repeat(101)] {
        assert!(!knows(&projects, id, "old"), "{id}");
    }
    projects.clone().register(config("new").projects.remove(0));
    assert!(!knows(&projects, "prj_ada", "old") && knows(&projects, "prj_ada", "new"));
}
