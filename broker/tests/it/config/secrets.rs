//! The secrets of a configuration, which no message and no report shows: a project's, also
//! while it is rotated, and what a broker that other machines can reach needs of them.

use broker::projects::Projects;
use contract::{ClientSecret, DEVELOPMENT_SECRET};

use super::{COOKIE_KEY, LOCAL, PUBLIC, accepted, google, previous, project_of};
use crate::command::{BrokerCommand, CommandOutput};
use crate::scratch::Scratch;

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

#[test]
fn a_third_secret_and_an_unknown_project_are_refused() {
    let project = format!("{LOCAL}{}", project_of("x"));
    new_secret(&project, "prj_bob").failed("broker check");
    let rotating = format!("{project}{}", previous("y"));
    new_secret(&rotating, "prj_ada").failed("previous_client_secret_sha256");
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
