//! Whatever stands in the configuration file: it is taken, or one line says what to
//! mend, and no secret is in that line.

use figment::Figment;
use figment::providers::{Format as _, Toml};
use figment::value::{Dict, Value};
use testkit::fuzz::Corpus;

use super::{Config, ConfigError};

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// Is in every secret of the seeds, in whatever case.
const MARK: &str = "marked7";

/// The keys whose texts are secrets, or hold one: `store.url` and `upstream.proxy` do.
const OF_SECRETS: [&str; 4] = ["client_secret", "cookie_keys", "url", "proxy"];

/// Longer than any complaint of ours, the names of all keys included.
const LONGEST: usize = 600;

#[test]
fn a_file_is_taken_or_one_line_names_what_is_wrong_and_no_secret() {
    let met = testkit::fuzz::judge("config", &CORPUS.seeds("config"), |bytes| {
        // TOML is text; a file that is none is refused before it is parsed.
        let text = String::from_utf8_lossy(bytes);
        match read(&text) {
            Ok(config) => {
                let shown = format!("{config:?}");
                assert!(!bears_a_secret(&without(&public(&text), &shown)), "{shown}");
                "taken"
            }
            // It names the file, which is no secret, wherever its name came from.
            Err(ConfigError::Tls { .. }) => "tls",
            Err(error) => {
                says_what_is_wrong(&error.to_string());
                if matches!(error, ConfigError::Invalid(_)) {
                    "invalid"
                } else {
                    "refused"
                }
            }
        }
    });
    assert_eq!(met.len(), 4, "{met:?}");
}

fn read(text: &str) -> Result<Config, ConfigError> {
    let config = Config::parsed(&Figment::from(Toml::string(text)))?;
    config.check()?;
    Ok(config)
}

#[track_caller]
fn says_what_is_wrong(line: &str) {
    assert!(!bears_a_secret(line), "{line:?}");
    assert!(!line.contains(char::is_control), "{line:?}");
    assert!(line.len() <= LONGEST, "{} {line:?}", line.len());
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

/// The texts in this file that stand where no secret belongs. Bending may well put
/// one of the marked there, and it is shown.
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
        Value::String(_, text) if !OF_SECRETS.contains(&key) => texts.push(text.clone()),
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

fn bears_a_secret(text: &str) -> bool {
    text.to_lowercase().contains(MARK)
}
