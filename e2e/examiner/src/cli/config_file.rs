//! `examine.toml`: the settings of one app.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::app::Step;

/// The file that is read if it is there.
pub(super) const FILE_NAME: &str = "examine.toml";

/// The keys of `examine.toml`; each has a flag.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    pub(super) start: Option<String>,
    #[serde(default)]
    pub(super) command: Vec<String>,
    #[serde(default)]
    pub(super) callback: Vec<String>,
    pub(super) whoami: Option<String>,
    #[serde(default)]
    pub(super) sign_in: BTreeMap<String, String>,
    pub(super) sign_out: Option<String>,
    #[serde(default)]
    pub(super) log: Vec<PathBuf>,
    #[serde(default)]
    pub(super) expect: Vec<String>,
}

impl ConfigFile {
    /// Reads the file that was named, or `examine.toml` if there is one.
    pub(super) fn read(named: Option<&Path>) -> Result<Self, String> {
        let path = named.unwrap_or(Path::new(FILE_NAME));
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|error| format!("{}: {error}", path.display())),
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        // The error's own text spreads over several lines.
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }
}

/// A step, as a person writes it: `css:#google`, or `POST /login/google`.
pub(super) fn parse_step(place: &str, text: &str) -> Result<Step, String> {
    if let Some(css) = text.strip_prefix("css:") {
        return match scraper::Selector::parse(css) {
            Ok(_) => Ok(Step::Css(css.to_owned())),
            Err(_) => Err(format!("{place}: `{css}` is no CSS selector")),
        };
    }
    let mut words = text.splitn(3, ' ');
    match (words.next(), words.next()) {
        (Some(method @ ("GET" | "POST")), Some(path)) if path.starts_with('/') => {
            Ok(Step::Request {
                method: method.to_owned(),
                path: path.to_owned(),
                body: words.next().unwrap_or_default().to_owned(),
            })
        }
        _ => Err(format!(
            "{place}: expected css:SELECTOR or POST /path, not `{text}`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_selector_or_a_request() {
        assert_eq!(
            parse_step("sign_out", "css:#out"),
            Ok(Step::Css("#out".to_owned()))
        );
        let request = Step::Request {
            method: "POST".to_owned(),
            path: "/logout".to_owned(),
            body: "a=1 2".to_owned(),
        };
        assert_eq!(parse_step("sign_out", "POST /logout a=1 2"), Ok(request));
        for wrong in ["#out", "PUT /logout", "POST logout", "css:["] {
            assert!(
                parse_step("sign_out", wrong)
                    .unwrap_err()
                    .starts_with("sign_out: "),
                "{wrong}"
            );
        }
    }
}
