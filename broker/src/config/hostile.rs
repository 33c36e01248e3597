//! Whatever stands in the configuration file: it is taken, or one line says what to
//! mend, and no secret is in that line.

use bent::Corpus;
use figment::Figment;
use figment::providers::{Format as _, Toml};

use super::{Config, ConfigError};

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// Is in every secret of the seeds, in whatever case.
const MARK: &str = "marked7";

/// Longer than any complaint of ours, the names of all keys included.
const LONGEST: usize = 600;

#[test]
fn a_file_is_taken_or_one_line_names_what_is_wrong_and_no_secret() {
    let met = bent::judge("config", &CORPUS.seeds("config"), |bytes| {
        // TOML is text; a file that is none is refused before it is parsed.
        match read(&String::from_utf8_lossy(bytes)) {
            Ok(config) => {
                assert!(!bears_a_secret(&format!("{config:?}")));
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

fn bears_a_secret(text: &str) -> bool {
    text.to_lowercase().contains(MARK)
}
