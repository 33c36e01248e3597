//! Projects: in the file, from `new-project`, and in a running broker.

use broker::projects::{Project, Projects};
use broker::relay::{RelayGuard, SelectAccount};
use contract::{ClientSecret, Digest};

use super::{LOCAL, accepted, project_of, refused};
use crate::command::BrokerCommand;
use crate::scratch::Scratch;

// Threats: A2.
#[test]
fn each_invalid_member_of_a_project_is_refused() {
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

/// Texts in TOML's notation that are not safe to show in a terminal or on a page.
const UNPRINTABLE: [&str; 12] = [
    "a\\nb",
    "a\\u001b[2Jb",
    "\\u0000",
    "a\\u007f",
    "a\\u0085b",
    "a\\u202Eb",
    "a\\u2066b",
    "a\\u200Bb",
    "a\\uFFFFb",
    // A letter that looks blank, an invisible operator, a tag.
    "\\u3164",
    "a\\u2063b",
    "a\\U000E0041b",
];

// Threats: A34.
#[test]
fn an_unprintable_or_empty_name_is_refused_with_its_key() {
    let named = |name: &str| {
        let odd = project_of("x")
            .replace("Ada", name)
            .replace("prj_ada", "prj_odd");
        format!("{LOCAL}{}{odd}", project_of("x"))
    };
    let too_long = "x".repeat(81);
    for name in UNPRINTABLE.into_iter().chain(["", " \\t", &too_long]) {
        refused(&named(name), "`project.1.name`");
        refused(&named(name), "1 to 80 printable characters");
    }
    accepted(&named(&"語".repeat(80)));
    accepted(&named("<b>Ada's</b> \\\"app\\\" 🦀 👩\u{200D}💻"));
}

#[test]
fn a_name_has_no_white_space_around_it() {
    let text = project_of("x").replace("Ada", "  Ada and Bob\\t");
    let config = accepted(&format!("{LOCAL}{text}"));
    assert_eq!(config.projects[0].name.as_str(), "Ada and Bob");
}

#[test]
fn an_unprintable_client_id_is_refused_with_its_key() {
    for id in UNPRINTABLE {
        let text = project_of("x").replace("prj_ada", id);
        refused(&format!("{LOCAL}{text}"), "`project.0.client_id`");
        refused(&format!("{LOCAL}{text}"), "printable");
    }
    accepted(&format!(
        "{LOCAL}{}",
        project_of("x").replace("prj_ada", "mañana 語")
    ));
}

#[test]
fn new_project_refuses_a_name_that_check_would_refuse() {
    let too_long = "x".repeat(81);
    for name in [
        "",
        " ",
        "a\nb",
        "a\u{1b}[2Jb",
        "a\u{7f}",
        "\u{202E}",
        &too_long,
    ] {
        let uri = ["--redirect-uri", "https://app.example/cb"];
        let output = BrokerCommand::run(&[&["new-project", name][..], &uri].concat()).output();
        assert_ne!(output.code, Some(0), "{name:?}");
        assert!(
            output.err.contains("1 to 80 printable characters"),
            "{}",
            output.err
        );
        assert_eq!(output.out, "", "{name:?}");
        assert!(
            !output.err.contains(['\u{1b}', '\u{7f}', '\u{202E}']),
            "{:?}",
            output.err
        );
    }
}

#[test]
fn a_project_has_the_default_guard_unless_it_sets_another() {
    let project = |more: &str| {
        let config = accepted(&format!("{LOCAL}{}{more}", project_of("x")));
        config.projects[0].clone()
    };
    let starts = |project: &Project| {
        let callback = "https://app.example/cb".parse().unwrap();
        let origins = project.start_origins(&callback);
        origins.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let default = project("");
    assert_eq!(default.relay_guard, RelayGuard::Auto);
    assert_eq!(default.select_account, SelectAccount::Always);
    assert_eq!(starts(&default), ["https://app.example"]);
    for (name, guard) in [
        ("auto", RelayGuard::Auto),
        ("always", RelayGuard::Always),
        ("off", RelayGuard::Off),
    ] {
        let changed = project(&format!("relay_guard = \"{name}\"\n"));
        assert_eq!(changed.relay_guard, guard);
    }
    let changed = project("select_account = \"unvouched\"\n");
    assert_eq!(changed.select_account, SelectAccount::Unvouched);
    let changed = project("start_origins = [\"https://www.example\", \"https://b.example\"]\n");
    assert_eq!(
        starts(&changed),
        ["https://www.example", "https://b.example"]
    );
}

#[test]
fn each_invalid_member_of_a_guard_is_refused() {
    for (line, message) in [
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
        refused(&format!("{LOCAL}{}{line}\n", project_of("x")), message);
    }
}

#[test]
fn two_projects_cannot_have_one_client_id() {
    let (one, other) = (project_of("x"), project_of("y"));
    refused(&format!("{LOCAL}{one}{other}"), "same client_id");
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
fn the_output_of_new_project_is_a_project_whose_secret_authenticates() {
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
}

#[test]
fn two_new_projects_have_different_ids_and_secrets() {
    let ((one, first), (two, second)) = (new_project("Ada"), new_project("Ada"));
    assert_ne!(first.expose(), second.expose());
    let differing = one.lines().zip(two.lines()).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 2, "the client_id and the digest");
}

#[test]
fn new_project_refuses_an_invalid_callback() {
    for uri in ["http://app.example/cb", "https://app.example/cb?", ""] {
        let output = BrokerCommand::run(&["new-project", "Ada", "--redirect-uri", uri]).output();
        assert_ne!(output.code, Some(0));
        assert_eq!(output.out, "");
    }
    assert_ne!(
        BrokerCommand::run(&["new-project", "Ada"]).output().code,
        Some(0)
    );
}

#[test]
fn check_accepts_new_projects_beside_others() {
    let scratch = Scratch::new();
    let text = format!("{LOCAL}{}{}", new_project("Ada").0, new_project("Bob").0);
    let path = scratch.write("broker.toml", &text);
    let output = BrokerCommand::with("check", &path).output();
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains("Ada (prj_") && output.out.contains("Bob (prj_"));
}

fn project(client_id: &str, secret: &str) -> Project {
    Project::new(
        "Ada".parse().unwrap(),
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

// Threats: A13.
#[test]
fn an_unknown_client_id_is_not_authenticated() {
    let projects = Projects::from_iter([project("a", "x")]);
    let secret: ClientSecret = "x".parse().unwrap();
    assert!(projects.authenticate("", &secret).is_err());
    assert!(projects.authenticate("b", &secret).is_err());
    assert!(projects.authenticate(&"a".repeat(101), &secret).is_err());
}
