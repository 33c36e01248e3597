//! Projects: in the file, from `new-project`, and in a running broker.

use broker::projects::Projects;
use contract::ClientSecret;

use super::{LOCAL, accepted, project_of, refused};
use crate::command::{BrokerCommand, CommandOutput};

// Threats: A2.
#[test]
fn each_invalid_member_of_a_project_is_refused() {
    let project = |from: &str, to: &str| {
        let text = project_of("x");
        assert!(text.contains(from), "{text}");
        format!("{LOCAL}{}", text.replace(from, to))
    };
    accepted(&project("prj_ada", "a"));
    let callback = "https://app.example/cb";
    for (from, to, message) in [
        ("name = \"Ada\"\n", "", "name"),
        ("prj_ada", "", "client_id"),
        ("prj_ada", &"x".repeat(101), "client_id"),
        ("sha256 = \"", "sha256 = \"x", "client_secret_sha256"),
        ("[\"https://app.example/cb\"]", "[]", "redirect_uris"),
        (callback, "http://app.example/cb", "redirect_uri"),
        (callback, "https://app.example/cb?", "redirect_uri"),
    ] {
        refused(&project(from, to), message);
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

#[test]
fn new_project_refuses_what_check_would_refuse() {
    let too_long = "x".repeat(81);
    let uri = "https://app.example/cb";
    let odd_name = "1 to 80 printable characters";
    for (name, uri, message) in [
        ("", uri, odd_name),
        ("a\u{1b}[2Jb", uri, odd_name),
        ("a\u{7f}", uri, odd_name),
        ("\u{202E}", uri, odd_name),
        (&too_long, uri, odd_name),
        ("Ada", "http://app.example/cb", ""),
        ("Ada", "https://app.example/cb?", ""),
        ("Ada", "", ""),
    ] {
        let arguments = ["new-project", name, "--redirect-uri", uri];
        let CommandOutput { code, out, err } = BrokerCommand::run(&arguments).output();
        assert_ne!(code, Some(0), "{name:?} {uri}");
        assert!(err.contains(message), "{err}");
        assert_eq!(out, "", "{name:?} {uri}");
        assert!(!err.contains(['\u{1b}', '\u{7f}', '\u{202E}']), "{err:?}");
    }
    let without_callback = BrokerCommand::run(&["new-project", "Ada"]).output();
    assert_ne!(without_callback.code, Some(0));
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
