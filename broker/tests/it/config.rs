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
use contract::Digest;

use crate::scratch::Scratch;

const LOCAL: &str = "base_url = \"http://127.0.0.1:8000\"\n";
const PUBLIC: &str = "base_url = \"https://broker.example\"\n";
const COOKIE_KEY: &str = "cookie_keys = [\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"]\n";
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

/// Checks rows of `LINES => MESSAGE`: `start` with these lines is refused with this message.
/// ` | ` separates lines; `{google}` and `{project}` stand for a provider and a project.
#[track_caller]
fn check_refused(start: &str, rows: &str) {
    for row in rows.lines().filter(|row| !row.trim().is_empty()) {
        let (lines, message) = row.split_once("=> ").unwrap();
        let lines = lines.trim().replace(" | ", "\n");
        let lines = lines
            .replace("{google}", &google(""))
            .replace("{project}", &project_of("x"));
        refused(&format!("{start}{lines}\n"), message.trim());
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
    let error = load(text)
        .err()
        .unwrap_or_else(|| panic!("accepted:\n{text}"))
        .to_string();
    assert!(error.contains(message), "{error}");
    assert!(!error.contains('\n'), "{error}");
    assert!(
        !error.contains("GOCSPX") && !error.contains("hunter2"),
        "{error}"
    );
}
