//! A project with two valid secrets, while its secret is rotated.

use broker::projects::Projects;
use contract::ClientSecret;

use super::{LOCAL, accepted, previous, project_of, refused};
use crate::command::{BrokerCommand, CommandOutput};
use crate::scratch::Scratch;

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

#[test]
fn a_previous_secret_that_is_not_a_digest_is_reported() {
    let line = "previous_client_secret_sha256 = \"GOCSPX\"\n";
    refused(
        &format!("{LOCAL}{}{line}", project_of("x")),
        "previous_client_secret_sha256",
    );
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
    let before = format!("{LOCAL}{}", project_of("old"));
    let output = new_secret(&before, "prj_ada");
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
fn new_secret_needs_no_secret_of_a_provider() {
    let google = "[upstream.google]\nclient_id = \"x\"\n";
    let output = new_secret(&format!("{LOCAL}{google}{}", project_of("old")), "prj_ada");
    assert_eq!(output.code, Some(0), "{}", output.err);
}

#[test]
fn a_third_secret_and_an_unknown_project_are_refused() {
    let project = format!("{LOCAL}{}", project_of("x"));
    new_secret(&project, "prj_bob").failed("broker check");
    let rotating = format!("{project}{}", previous("y"));
    new_secret(&rotating, "prj_ada").failed("previous_client_secret_sha256");
}
