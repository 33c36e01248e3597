//! What is wrong with a configuration, in one line that names the key and never
//! repeats a value: any of them may be a secret.

use figment::error::Kind;

/// The first thing that is wrong, said for the log.
pub(super) fn complaint(error: &figment::Error) -> String {
    let key = match error.path.as_slice() {
        [] => String::new(),
        path => format!("`{}`: ", path.join(".").to_lowercase()),
    };
    let place = match &error.metadata {
        None => String::new(),
        Some(metadata) => match &metadata.source {
            Some(source) => format!(" (in {source})"),
            None => format!(" (in the {})", metadata.name),
        },
    };
    format!("{key}{}{place}", what(&error.kind))
}

fn what(kind: &Kind) -> String {
    match kind {
        Kind::Message(text) => without_excerpt(text),
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) => format!(
            "expected {expected}; from the environment, \
             a text of digits must stand in double quotes"
        ),
        Kind::InvalidLength(_, expected) => format!("expected {expected}"),
        Kind::UnknownVariant(_, known) => format!("expected one of {}", known.join(", ")),
        Kind::UnknownField(key, known) => {
            format!(
                "unknown key `{key}`; the keys here are {}",
                known.join(", ")
            )
        }
        Kind::MissingField(key) => format!("the key `{key}` is missing"),
        Kind::DuplicateField(key) => format!("the key `{key}` comes twice"),
        _ => "the value cannot be read".to_owned(),
    }
}

/// A TOML parser shows the line it stumbled over; that line may be a secret's.
fn without_excerpt(text: &str) -> String {
    let is_excerpt = |line: &str| {
        line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())
            .starts_with('|')
    };
    let kept: Vec<_> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !is_excerpt(line))
        .collect();
    kept.join(": ")
}

#[cfg(test)]
mod tests {
    use figment::Figment;
    use figment::providers::{Format as _, Toml};

    use super::*;
    use crate::config::Config;

    #[track_caller]
    fn check(toml: &str, says: &str) {
        let error = Figment::from(Toml::string(toml))
            .extract::<Config>()
            .expect_err("it is wrong");
        let line = complaint(&error);
        assert!(line.contains(says), "{line}");
        assert!(!line.contains('\n'), "{line}");
        assert!(!line.contains("hunter2"), "{line}");
    }

    #[test]
    fn a_complaint_names_the_key_and_keeps_the_value_to_itself() {
        let base = "base_url = 'http://127.0.0.1:8000'\n";
        check("base_url = 'http://hunter2.example'", "`base_url`");
        check(&format!("{base}hunter = 'hunter2'"), "unknown key `hunter`");
        check(
            &format!("{base}[upstream]\ntimeout_ms = 'hunter2'"),
            "`upstream.timeout_ms`",
        );
        check(
            &format!("{base}[log]\nformat = 'hunter2'"),
            "readable, json",
        );
        check(
            &format!("{base}[upstream.google]\nclient_id = 'x'"),
            "`client_secret` is missing",
        );
        check(
            &format!("{base}cookie_keys = ['hunter2']"),
            "`cookie_keys.0`",
        );
        check(
            &format!("{base}store.url = 'mysql://hunter2'"),
            "sqlite:PATH",
        );
    }

    #[test]
    fn a_line_that_is_no_toml_is_not_shown() {
        check(
            "base_url = 'http://127.0.0.1:8000'\nclient_secret = 'hunter2",
            "line 2",
        );
    }
}
