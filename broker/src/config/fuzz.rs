//! Fuzzing of the configuration file: every input is accepted, or rejected with one line
//! that names the error and contains no secret.

use figment::Figment;
use figment::providers::{Format as _, Toml};
use figment::value::{Dict, Value};
use testkit::fuzz::Corpus;

use super::Config;
use super::error::ConfigError;

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// The mark in every secret of the seeds, in any case.
const MARK: &str = "marked7";

/// The keys whose values are secrets or contain one, as `store.url` and
/// `upstream.proxy` do.
const SECRET_KEYS: [&str; 4] = ["client_secret", "cookie_keys", "url", "proxy"];

/// Longer than any error message, even one that lists all keys.
const MAX_MESSAGE_BYTES: usize = 600;

// Threats: A15.
#[test]
fn a_file_is_accepted_or_one_line_names_the_error_and_no_secret() {
    let outcomes = testkit::fuzz::run("config", &CORPUS.seeds("config"), |bytes| {
        // TOML is text; another file is rejected before it is parsed.
        let text = String::from_utf8_lossy(bytes);
        Some(match read(&text) {
            Ok(config) => {
                let shown = format!("{config:?}");
                assert!(
                    !contains_secret(&without(&public(&text), &shown)),
                    "{shown}"
                );
                "accepted"
            }
            // It names the file, which is no secret, even if its name looks like one.
            Err(ConfigError::Tls { .. }) => "tls",
            Err(error) => {
                assert_message(&error.to_string());
                if matches!(error, ConfigError::Invalid(_)) {
                    "invalid"
                } else {
                    "refused"
                }
            }
        })
    });
    outcomes.assert_include(&["accepted", "tls", "invalid", "refused"]);
}

fn read(text: &str) -> Result<Config, ConfigError> {
    let config = Config::parse(&Figment::from(Toml::string(text)))?;
    config.check()?;
    Ok(config)
}

#[track_caller]
fn assert_message(line: &str) {
    assert!(!contains_secret(line), "{line:?}");
    assert!(!line.contains(char::is_control), "{line:?}");
    assert!(line.len() <= MAX_MESSAGE_BYTES, "{} {line:?}", line.len());
    let keys = [
        "`",
        "line ",
        "base_url",
        "bind",
        "tls",
        "cookie_keys",
        "upstream.",
        "client_id",
    ];
    assert!(keys.iter().any(|key| line.contains(key)), "{line:?}");
}

/// The values of keys that are no secrets. Mutation may put a marked text there, and
/// messages may contain it.
fn public(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let file: Result<Dict, _> = Figment::from(Toml::string(text)).extract();
    for (key, value) in file.iter().flatten() {
        add_public(key, value, &mut texts);
    }
    texts
}

fn add_public(key: &str, value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(_, text) if !SECRET_KEYS.contains(&key) => texts.push(text.clone()),
        Value::Dict(_, inner) => {
            for (key, value) in inner {
                add_public(key, value, texts);
            }
        }
        Value::Array(_, items) => {
            for item in items {
                add_public(key, item, texts);
            }
        }
        _ => {}
    }
}

fn without(texts: &[String], shown: &str) -> String {
    texts.iter().fold(shown.to_owned(), |shown, text| {
        shown.replace(&format!("{text:?}"), "\"\"")
    })
}

fn contains_secret(text: &str) -> bool {
    text.to_lowercase().contains(MARK)
}
