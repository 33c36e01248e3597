//! The configuration and the command line: what is refused, in which words, and
//! that no secret is among them.

mod credentials;
mod exposure;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use broker::config::{Config, ConfigError, LogFormat, ProxyConfig};
use broker::projects::{Project, Projects};
use broker::relay::{RelayGuard, SelectAccount};
use broker::seal::{SealKey, Sealer};
use contract::{ClientSecret, DEVELOPMENT_SECRET, Digest};
use proptest::prelude::*;

use crate::command::Broker;
use crate::scratch::Scratch;

const LOCAL: &str = "base_url = \"http://127.0.0.1:8000\"\n";
const PUBLIC: &str = "base_url = \"https://broker.example\"\n";
const COOKIE_KEY: &str = "cookie_keys = [\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"]\n";
const UPSTREAM_SECRET: &str = "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";

/// Every key of the `[limits]` table.
const LIMITS: [&str; 6] = [
    "wrong_secrets_per_minute",
    "callbacks_per_minute",
    "visits_from_elsewhere_per_minute",
    "upstream_calls",
    "live_sessions",
    "body_timeout_ms",
];

/// A project whose secret is `secret`.
fn project_of(secret: &str) -> String {
    format!(
        "[[project]]\nname = \"Ada\"\nclient_id = \"prj_ada\"\n\
         client_secret_sha256 = \"{}\"\nredirect_uris = [\"https://app.example/cb\"]\n",
        Digest::of(secret.as_bytes()).to_text()
    )
}

/// The line of a project that had another secret before.
fn previous(secret: &str) -> String {
    let digest = Digest::of(secret.as_bytes()).to_text();
    format!("previous_client_secret_sha256 = \"{digest}\"\n")
}

fn google(rest: &str) -> String {
    format!(
        "[upstream.google]\nclient_id = \"google\"\nclient_secret = \"{UPSTREAM_SECRET}\"\n{rest}"
    )
}

fn load(text: &str) -> Result<Config, ConfigError> {
    Config::load(&Scratch::new().write("broker.toml", text))
}

#[track_caller]
fn accepted(text: &str) -> Config {
    load(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Checks that a configuration is refused in one line that says this.
#[track_caller]
fn refused(text: &str, says: &str) {
    let error = load(text)
        .err()
        .unwrap_or_else(|| panic!("taken:\n{text}"))
        .to_string();
    assert!(error.contains(says), "{error}");
    assert!(!error.contains('\n'), "{error}");
    assert!(!error.contains("GOCSPX"), "{error}");
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
}

#[test]
fn the_real_providers_are_the_default_ones() {
    let github = "[upstream.github]\nclient_id = \"a\"\nclient_secret = \"b\"\n";
    let upstream = accepted(&format!("{LOCAL}{}{github}", google(""))).upstream;
    let (google, github) = (upstream.google.unwrap(), upstream.github.unwrap());
    assert_eq!(google.issuer.as_str(), "https://accounts.google.com");
    assert_eq!(github.web_url.as_str(), "https://github.com");
    assert_eq!(github.api_url.as_str(), "https://api.github.com");
    assert!(google.enabled && github.enabled);
    assert_eq!(google.client_secret.expose(), UPSTREAM_SECRET);
}

#[test]
fn a_provider_is_the_one_whose_name_it_has_or_an_imitation_on_this_machine() {
    let github = |rest: &str| {
        format!("{LOCAL}[upstream.github]\nclient_id = \"a\"\nclient_secret = \"b\"\n{rest}")
    };
    for key in ["web_url", "api_url"] {
        for host in [
            "https://github.example",
            "https://api.github.com.evil.test",
            "https://github.com:8443",
        ] {
            refused(
                &github(&format!("{key} = \"{host}\"\n")),
                "Enterprise Server",
            );
        }
        for host in [
            "http://127.0.0.1:8030",
            "http://localhost:1",
            "https://[::1]:1",
        ] {
            accepted(&github(&format!("{key} = \"{host}\"\n")));
        }
    }
    let swapped = "web_url = \"https://api.github.com\"\napi_url = \"https://github.com\"\n";
    refused(&github(swapped), "upstream.github");
    let google = |issuer: &str| format!("{LOCAL}{}", google(&format!("issuer = \"{issuer}\"\n")));
    refused(&google("https://idp.example"), "upstream.google.issuer");
    accepted(&google("http://127.0.0.1:8020"));
}

#[test]
fn a_proxy_is_none_or_the_environments_or_an_address_that_is_never_shown() {
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
    for odd in [
        "",
        "GOCSPX",
        "socks5://GOCSPX:1",
        "proxy.example:3128",
        "file:///GOCSPX",
    ] {
        refused(&with(odd), "upstream.proxy");
    }
}

#[test]
fn an_unknown_key_is_fatal_in_every_table_and_named() {
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
    refused(&format!("{LOCAL}{}", google("enable = true\n")), "enable");
    refused(
        &format!("{LOCAL}{project}redirect_uri = \"x\"\n"),
        "redirect_uri",
    );
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
fn a_project_is_refused_for_each_thing_that_is_wrong_with_it() {
    let project = |from: &str, to: &str| {
        let text = project_of("x");
        assert!(text.contains(from), "{text}");
        format!("{LOCAL}{}", text.replace(from, to))
    };
    accepted(&project("prj_ada", "a"));
    refused(&project("name = \"Ada\"\n", ""), "name");
    refused(&project("prj_ada", ""), "client_id");
    refused(&project("prj_ada", &"x".repeat(101)), "client_id");
    refused(
        &project("client_secret_sha256 = \"", "client_secret_sha256 = \"x"),
        "client_secret_sha256",
    );
    refused(
        &project("[\"https://app.example/cb\"]", "[]"),
        "redirect_uris",
    );
    for uri in [
        "http://app.example/cb",
        "https://app.example/cb?",
        "https://app.example/cb#",
        "https://APP.example/cb",
        "http://127.0.0.1.nip.io/cb",
        "http://localhost.evil.test/cb",
        "http://0.0.0.0/cb",
        "http://2130706433/cb",
        "http://127.1/cb",
    ] {
        refused(&project("https://app.example/cb", uri), "redirect_uri");
    }
}

#[test]
fn a_project_is_guarded_as_usual_unless_it_says_otherwise() {
    let project = |more: &str| {
        let config = accepted(&format!("{LOCAL}{}{more}", project_of("x")));
        config.projects[0].clone()
    };
    let starts = |project: &Project| {
        let origins = project.start_origins(&"https://app.example/cb".parse().unwrap());
        origins.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let usual = project("");
    assert_eq!(usual.relay_guard, RelayGuard::Auto);
    assert_eq!(usual.select_account, SelectAccount::Always);
    assert_eq!(starts(&usual), ["https://app.example"]);
    for (name, guard) in [
        ("auto", RelayGuard::Auto),
        ("always", RelayGuard::Always),
        ("off", RelayGuard::Off),
    ] {
        let said = project(&format!("relay_guard = \"{name}\"\n"));
        assert_eq!(said.relay_guard, guard);
    }
    let said = project("select_account = \"unvouched\"\n");
    assert_eq!(said.select_account, SelectAccount::Unvouched);
    let said = project("start_origins = [\"https://www.example\", \"https://b.example\"]\n");
    assert_eq!(starts(&said), ["https://www.example", "https://b.example"]);
}

#[test]
fn a_guard_is_refused_for_each_thing_that_is_wrong_with_it() {
    for (wrong, named) in [
        ("relay_guard = \"on\"", "auto, always, off"),
        ("relay_guard = \"Auto\"", "relay_guard"),
        ("relay_guard = false", "relay_guard"),
        ("select_account = \"never\"", "always, unvouched"),
        ("start_origins = []", "start_origins"),
        ("start_origins = \"https://app.example\"", "start_origins"),
        (
            "start_origins = [\"https://app.example/\"]",
            "start_origins",
        ),
        (
            "start_origins = [\"https://app.example/start\"]",
            "start_origins",
        ),
        ("start_origins = [\"http://app.example\"]", "start_origins"),
        ("start_origins = [\"*\"]", "start_origins"),
        ("start_origin = [\"https://app.example\"]", "start_origin"),
    ] {
        refused(&format!("{LOCAL}{}{wrong}\n", project_of("x")), named);
    }
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
fn a_broker_that_others_can_reach_has_cookie_keys_of_its_own() {
    let everywhere = "bind = \"0.0.0.0:8000\"\n";
    let everywhere6 = "bind = \"[::]:8000\"\n";
    refused(PUBLIC, "cookie_keys");
    refused(&format!("{LOCAL}{everywhere}"), "cookie_keys");
    refused(&format!("{LOCAL}{everywhere6}"), "cookie_keys");
    refused(&format!("{PUBLIC}cookie_keys = []\n"), "cookie_keys");
    assert!(!accepted(&format!("{PUBLIC}{COOKIE_KEY}")).is_local());
    assert!(!accepted(&format!("{PUBLIC}{everywhere}{COOKIE_KEY}")).is_local());
    accepted(&format!("{LOCAL}bind = \"[::1]:8000\"\n"));
    accepted(&format!("{LOCAL}bind = \"127.0.0.2:8000\"\n"));
}

#[test]
fn a_broker_that_others_can_reach_is_not_at_an_http_address() {
    for bind in ["0.0.0.0:8000", "[::]:8000", "192.0.2.1:8000"] {
        refused(
            &format!("{LOCAL}bind = \"{bind}\"\n{COOKIE_KEY}"),
            "base_url is http",
        );
    }
}

#[test]
fn a_broker_that_others_can_reach_refuses_the_development_secret() {
    let known = project_of(DEVELOPMENT_SECRET);
    refused(
        &format!("{PUBLIC}{COOKIE_KEY}{known}"),
        "development secret",
    );
    let everywhere = format!("{LOCAL}bind = \"0.0.0.0:8000\"\n{COOKIE_KEY}{known}");
    refused(&everywhere, "development secret");
    let second = format!("{PUBLIC}{COOKIE_KEY}{}{known}", project_of("x"));
    refused(&second, "development secret");
    let before = format!("{}{}", project_of("x"), previous(DEVELOPMENT_SECRET));
    refused(
        &format!("{PUBLIC}{COOKIE_KEY}{before}"),
        "development secret",
    );
    accepted(&format!("{LOCAL}{known}"));
    accepted(&format!("{PUBLIC}{COOKIE_KEY}{}", project_of("x")));
}

#[test]
fn two_projects_cannot_be_called_the_same() {
    let (one, other) = (project_of("x"), project_of("y"));
    refused(&format!("{LOCAL}{one}{other}"), "same client_id");
}

#[test]
fn a_file_that_is_no_toml_is_refused_without_being_quoted() {
    refused("= 1\n", "line 1");
    refused(
        &format!("{LOCAL}[upstream.google]\nclient_secret = \"{UPSTREAM_SECRET}\n"),
        "line 3",
    );
    refused(
        &format!("{LOCAL}[upstream.google]\nclient_secret = {UPSTREAM_SECRET}\n"),
        "line 3",
    );
    refused(&format!("{LOCAL}{LOCAL}"), "base_url");
}

#[test]
fn a_secret_of_the_wrong_type_is_refused_without_being_quoted() {
    let text =
        format!("{LOCAL}[upstream.google]\nclient_id = \"x\"\nclient_secret = 271828182845\n");
    refused(&text, "upstream.google.client_secret");
    let error = load(&text).err().unwrap();
    assert!(!error.to_string().contains("271828"), "{error}");
    assert!(!format!("{error:?}").contains("271828"), "{error:?}");
}

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
fn a_relative_database_lies_beside_the_configuration() {
    let scratch = Scratch::new();
    let path = scratch.write(
        "broker.toml",
        &format!("{LOCAL}[store]\nurl = \"sqlite:a.db\"\n"),
    );
    let config = Config::load(&path).unwrap();
    assert_eq!(
        config.store.url.to_string(),
        format!("sqlite:{}", scratch.file("a.db").display())
    );
}

#[test]
fn a_configuration_that_cannot_be_read_is_one_line() {
    let scratch = Scratch::new();
    for command in ["check", "serve"] {
        let missing = scratch.file("missing.toml");
        Broker::with(command, &missing)
            .output()
            .failed("missing.toml");
        let path = scratch.write("broken.toml", "= 1\n");
        Broker::with(command, &path).output().failed("line 1");
        let path = scratch.write("unknown.toml", &format!("{LOCAL}bose_url = 1\n"));
        Broker::with(command, &path).output().failed("bose_url");
        let path = scratch.write("public.toml", &format!("{PUBLIC}{}", google("")));
        Broker::with(command, &path).output().failed("cookie_keys");
    }
}

#[test]
fn a_database_that_cannot_be_opened_is_one_line() {
    let scratch = Scratch::new();
    let config = |url: &str| {
        let text = format!("{LOCAL}[store]\nurl = \"sqlite:{url}\"\n{}", google(""));
        scratch.write("broker.toml", &text)
    };
    for command in ["check", "serve"] {
        let said = Broker::with(command, &config("no/such/folder/a.db")).output();
        said.failed("no/such/folder/a.db");
        scratch.write("text.db", &"no database\n".repeat(100));
        Broker::with(command, &config("text.db"))
            .output()
            .failed("text.db");
    }
}

#[test]
fn a_cookie_key_file_that_holds_no_key_is_one_line() {
    let scratch = Scratch::new();
    scratch.write("broker.db.cookie-key", "GOCSPX");
    let path = scratch.write("broker.toml", LOCAL);
    Broker::with("check", &path)
        .output()
        .failed("broker.db.cookie-key");
}

#[test]
fn a_port_that_is_taken_is_one_line() {
    let scratch = Scratch::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let text = format!(
        "{LOCAL}bind = \"{address}\"\n[store]\nurl = \"sqlite::memory:\"\n{}",
        google("")
    );
    let path = scratch.write("broker.toml", &text);
    Broker::with("serve", &path)
        .output()
        .failed(&address.to_string());
}

#[test]
fn the_environment_overrides_the_file() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", &format!("{LOCAL}{}", google("")));
    let said = Broker::with("check", &path)
        .env("BROKER_BASE_URL", "http://localhost:9000")
        .env("BROKER_STORE__URL", "sqlite::memory:")
        .env("BROKER_UPSTREAM__GOOGLE__ENABLED", "false")
        .env("UNRELATED", "x")
        .output();
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("http://localhost:9000"), "{}", said.out);
    assert!(said.out.contains("sqlite::memory:"), "{}", said.out);
    assert!(said.out.contains("google     switched off"), "{}", said.out);
    assert!(
        said.out.contains("github     not configured"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("http://localhost:9000/callback/google"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("GOCSPX") && !said.err.contains("GOCSPX"));
}

#[test]
fn an_unknown_key_is_fatal_in_the_environment_too() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    let check = |name: &str, value: &str, says: &str| {
        let said = Broker::with("check", &path).env(name, value).output();
        said.failed(says);
    };
    check("BROKER_BASE_ULR", "http://localhost:1", "base_ulr");
    check("BROKER_UPSTREAM__GOOGLE__SECRET", "GOCSPX", "secret");
    check("BROKER_STORE__URI", "sqlite::memory:", "uri");
    check("BROKER_BASE_URL", "https://broker.example/", "base_url");
    check("BROKER_BIND", "0.0.0.0:8000", "cookie_keys");
}

#[test]
fn checking_says_what_would_be_served_and_no_secret() {
    let scratch = Scratch::new();
    let text = format!("{LOCAL}{}{}", google(""), project_of("x"));
    let path = scratch.write("broker.toml", &text);
    let said = Broker::with("check", &path).output();
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.contains("http://127.0.0.1:8000"), "{}", said.out);
    assert!(said.out.contains("Ada (prj_ada)"), "{}", said.out);
    assert!(!said.out.contains("GOCSPX"), "{}", said.out);
}

/// What `new-project` says for this name: the TOML, and the secret.
fn new_project(name: &str) -> (String, ClientSecret) {
    let uris = [
        "--redirect-uri",
        "https://app.example/cb",
        "--redirect-uri",
        "http://localhost:3000/cb",
    ];
    let said = Broker::run(&[&["new-project", name][..], &uris].concat()).output();
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (id, secret) = said.err.trim().split_once('\n').unwrap();
    let id = id.strip_prefix("client_id: ").unwrap();
    assert!(said.out.contains(&format!("client_id = \"{id}\"")));
    let secret = secret.rsplit(' ').next().unwrap();
    assert!(!said.out.contains(secret));
    (said.out, secret.parse().unwrap())
}

#[test]
fn what_new_project_prints_is_a_project_whose_secret_authenticates() {
    for name in [
        "Ada",
        "Ada's \"app\" \\ 1",
        "語 🦀",
        "a\nb\tc\u{7f}\u{1b}",
        "",
    ] {
        let (toml, secret) = new_project(name);
        let config = accepted(&format!("{LOCAL}{toml}"));
        let project = config.projects[0].clone();
        assert_eq!(project.name, name);
        assert_eq!(project.redirect_uris.len(), 2);
        assert_eq!(project.client_id.as_str().len(), 26);
        let client_id = project.client_id.clone();
        let projects = Projects::from_iter([project]);
        assert!(projects.authenticate(client_id.as_str(), &secret).is_ok());
    }
}

#[test]
fn two_new_projects_share_nothing() {
    let ((one, first), (two, second)) = (new_project("Ada"), new_project("Ada"));
    assert_ne!(first.expose(), second.expose());
    let differing = one.lines().zip(two.lines()).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 2, "the client_id and the digest");
}

#[test]
fn a_new_project_with_a_callback_that_is_none_is_refused() {
    for uri in ["http://app.example/cb", "https://app.example/cb?", ""] {
        let said = Broker::run(&["new-project", "Ada", "--redirect-uri", uri]).output();
        assert_ne!(said.code, Some(0));
        assert_eq!(said.out, "");
    }
    assert_ne!(Broker::run(&["new-project", "Ada"]).output().code, Some(0));
}

#[test]
fn a_new_project_is_accepted_by_check_beside_others() {
    let scratch = Scratch::new();
    let text = format!("{LOCAL}{}{}", new_project("Ada").0, new_project("Bob").0);
    let path = scratch.write("broker.toml", &text);
    let said = Broker::with("check", &path).output();
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("Ada (prj_") && said.out.contains("Bob (prj_"));
}

#[test]
fn a_cookie_key_is_kept_beside_the_database_for_its_owner_alone() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    let key_file = scratch.file("broker.db.cookie-key");
    assert_eq!(Broker::with("check", &path).output().code, Some(0));
    let key = std::fs::read_to_string(&key_file).unwrap();
    assert_eq!(key.len(), 43);
    assert_eq!(mode(&key_file), 0o600);
    assert_eq!(Broker::with("check", &path).output().code, Some(0));
    assert_eq!(std::fs::read_to_string(&key_file).unwrap(), key, "reused");
}

#[test]
fn a_database_is_made_for_its_owner_alone() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    assert_eq!(Broker::with("check", &path).output().code, Some(0));
    assert_eq!(mode(&scratch.file("broker.db")), 0o600);
}

fn mode(path: &PathBuf) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_broker_with_cookie_keys_or_in_memory_keeps_no_key_file() {
    let scratch = Scratch::new();
    let keyed = scratch.write("keyed.toml", &format!("{LOCAL}{COOKIE_KEY}"));
    assert_eq!(Broker::with("check", &keyed).output().code, Some(0));
    let text = format!("{LOCAL}[store]\nurl = \"sqlite::memory:\"\n");
    let memory = scratch.write("memory.toml", &text);
    assert_eq!(Broker::with("check", &memory).output().code, Some(0));
    assert!(!scratch.file("broker.db.cookie-key").exists());
}

#[test]
fn a_kept_key_opens_what_it_sealed_before() {
    let scratch = Scratch::new();
    let path = scratch.file("key");
    let sealer = |fresh: u8| Sealer::new(vec![SealKey::kept_at(&path, [fresh; 32]).unwrap()]);
    let sealed = sealer(1).seal("name", "text".to_owned());
    assert_eq!(sealer(2).open("name", &sealed).as_deref(), Some("text"));
    assert_eq!(sealer(3).open("other", &sealed), None);
}

proptest! {
    #[test]
    fn whatever_is_sealed_can_be_opened_and_stands_in_a_cookie(text in "\\PC{0,300}") {
        let sealer = Sealer::new(vec![SealKey::from_random(&[1; 32])]);
        let sealed = sealer.seal("name", text.clone());
        prop_assert!(sealed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        prop_assert_eq!(sealer.open("name", &sealed), Some(text));
    }

    #[test]
    fn nothing_that_was_not_sealed_is_opened(text in any::<String>()) {
        let sealer = Sealer::new(vec![SealKey::from_random(&[1; 32])]);
        prop_assert_eq!(sealer.open("name", &text), None);
    }
}

fn project(client_id: &str, secret: &str) -> Project {
    Project::new(
        "Ada".to_owned(),
        client_id.parse().unwrap(),
        Digest::of(secret.as_bytes()),
        vec!["https://app.example/cb".parse().unwrap()],
    )
}

#[test]
fn a_project_registered_again_replaces_the_first() {
    let projects = Projects::from_iter([project("a", "old")]);
    let secret = |text: &str| -> ClientSecret { text.parse().unwrap() };
    projects.clone().register(project("a", "new"));
    assert!(projects.authenticate("a", &secret("old")).is_err());
    assert!(projects.authenticate("a", &secret("new")).is_ok());
}

#[test]
fn nobody_is_authenticated_by_the_digest_of_nothing() {
    let projects = Projects::from_iter([project("a", "x")]);
    let secret: ClientSecret = "x".parse().unwrap();
    assert!(projects.authenticate("", &secret).is_err());
    assert!(projects.authenticate("b", &secret).is_err());
    assert!(projects.authenticate(&"a".repeat(101), &secret).is_err());
}

#[test]
fn a_clock_is_moved_for_everyone_who_holds_it_and_never_goes_back() {
    let clock = broker::clock::Clock::system();
    let before = clock.now();
    clock
        .clone()
        .advance(std::time::Duration::from_millis(600_000));
    assert!(clock.now() >= before.plus_ms(600_000));
    assert_eq!(clock.advanced_ms(), 600_000);
    clock.advance(std::time::Duration::MAX);
    let end = clock.now();
    assert!(clock.now() >= end);
}
