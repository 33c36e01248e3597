//! The configuration and the command line: accepted values, refused ones, and error
//! messages, which contain no secret.

mod check;
mod files;
mod keys;
mod kubernetes;
mod projects;
mod secrets;
mod upstream;

use broker::config::{Config, ConfigError};
use contract::{DEVELOPMENT_SECRET, Digest};

use crate::scratch::Scratch;

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
            let word = words.iter().find(|(word, _)| *word == line.trim());
            word.map_or(line, |(_, lines)| lines.trim_end())
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
