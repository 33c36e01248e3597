//! The error message of a rejected configuration: one line that names the key, or the nearest
//! to a misspelt one, and never repeats a value, because any value may be a secret.

use std::collections::BTreeMap;

use figment::Figment;
use figment::error::Kind;
use figment::providers::Env;

use super::Config;

/// The beginning of the variables that set keys.
pub(super) const PREFIX: &str = "BROKER_";

/// The message of the first error.
pub(super) fn of(error: &figment::Error) -> String {
    let source = match (&error.metadata, &error.kind) {
        (None, _) => String::new(),
        (Some(it), Kind::UnknownField(key, _)) if it.name.contains("environment") => {
            return wrong_variable(&path_of_variable(path_to(error, key)));
        }
        (Some(it), _) => match &it.source {
            Some(source) => format!(" (in {source})"),
            None => format!(" (in the {})", it.name),
        },
    };
    let key = match error.path.as_slice() {
        [] => String::new(),
        path => format!("`{}`: ", printable_path(path)),
    };
    let hint = hint(error).unwrap_or_default();
    format!("{key}{}{hint}{source}", description(&error.kind))
}

/// The message about a variable that sets no key.
fn wrong_variable(path: &str) -> String {
    let hint = match nearest(path) {
        Some(key) => format!("did you mean {}?", variable(&key)),
        None => "docs/OPERATE.md lists the keys".to_owned(),
    };
    let unknown = unknown_key(path);
    format!("{unknown} (in the environment, after {PREFIX}); {hint}")
}

/// The path of the variable at `path` or below: an unknown table is part of one that names
/// a key of it.
fn path_of_variable(path: String) -> String {
    let table = format!("{path}.");
    let variables = Env::prefixed(PREFIX).split("__");
    let paths = variables.iter().map(|(path, _)| path.into_string());
    paths
        .filter(|it| it.starts_with(&table))
        .min()
        .unwrap_or(path)
}

/// A suggestion for an unknown key, or the variable that sets a missing one.
fn hint(error: &figment::Error) -> Option<String> {
    match &error.kind {
        Kind::UnknownField(key, _) => {
            let meant = nearest(&path_to(error, key))?;
            Some(format!("; did you mean `{meant}`?"))
        }
        // No variable sets a key in a list.
        Kind::MissingField(key) if !error.path.iter().any(|it| is_index(it)) => {
            Some(format!("; or set {}", variable(&path_to(error, key))))
        }
        _ => None,
    }
}

/// The variable that sets the key at `path`.
fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "__").to_uppercase())
}

/// The path to a key that is unknown or missing.
fn path_to(error: &figment::Error, key: &str) -> String {
    let path = error.path.iter().filter(|part| !is_index(part));
    let mut path: Vec<_> = path.map(String::as_str).collect();
    // The path of a key from a file contains the key already.
    if path.last() != Some(&key) {
        path.push(key);
    }
    path.join(".")
}

fn is_index(part: &str) -> bool {
    part.parse::<u16>().is_ok()
}

/// The path to a value, without parts that may be secrets.
fn printable_path(path: &[String]) -> String {
    let keys: Vec<_> = path.iter().map(|key| key.to_lowercase()).collect();
    let shown = |key: &String| {
        if is_no_secret(key) {
            key.clone()
        } else {
            "…".to_owned()
        }
    };
    keys.iter().map(shown).collect::<Vec<_>>().join(".")
}

/// Whether `key` is written as the broker's keys are, or is an index of a list. A
/// secret may have been written where a key belongs, and secrets have digits or
/// capitals.
fn is_no_secret(key: &str) -> bool {
    let is_of_key = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let word = key.strip_suffix("sha256").unwrap_or(key);
    key.len() <= 40 && (word.bytes().all(is_of_key) || key.parse::<u16>().is_ok())
}

/// The message about an unknown key, or the path of one.
fn unknown_key(key: &str) -> String {
    if key.split('.').all(is_no_secret) {
        format!("unknown key `{key}`")
    } else {
        "unknown key (it may be a secret, and is not shown)".to_owned()
    }
}

fn description(kind: &Kind) -> String {
    match kind {
        Kind::Message(text) => without_excerpt(text),
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) => format!(
            "expected {}; from the environment, \
             a text of digits needs double quotes",
            expected
                .to_string()
                .replace("a nonzero u32", "a whole number from 1")
        ),
        Kind::InvalidLength(_, expected) => format!("expected {expected}"),
        Kind::UnknownVariant(_, known) => format!("expected one of {}", known.join(", ")),
        Kind::UnknownField(key, known) => {
            format!(
                "{}; the keys here are {}",
                unknown_key(key),
                known.join(", ")
            )
        }
        Kind::MissingField(key) => format!("the key `{key}` is missing"),
        Kind::DuplicateField(key) => format!("the key `{key}` comes twice"),
        _ => "the value cannot be read".to_owned(),
    }
}

/// Removes the line of the file that the TOML parser quotes: it may contain a secret.
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
    without_secret_name(&kept.join(": "))
}

/// Removes a key that may be a secret. The parser names keys between backquotes, which a
/// key itself may contain.
fn without_secret_name(text: &str) -> String {
    let (Some(first), Some(last)) = (text.find('`'), text.rfind('`')) else {
        return text.to_owned();
    };
    let mut words = text[first..last].split(|c: char| !c.is_alphanumeric() && c != '_');
    if words.all(is_no_secret) {
        return text.to_owned();
    }
    format!("{}`…{}", &text[..first], &text[last..])
}

/// The key that `path` probably means: one of the same table whose name contains this
/// one, or one of which at most a third of the letters are wrong. Dots and underscores
/// do not count, because they are the most frequent errors.
fn nearest(path: &str) -> Option<String> {
    let letters = |text: &str| text.replace(['.', '_'], "");
    let written = letters(path);
    let (table, name) = table_and_name(path);
    let distance = |key: &str| {
        let (its_table, its_name) = table_and_name(key);
        if its_table == table && name.len() > 2 && its_name.contains(name) {
            0
        } else {
            strsim::osa_distance(&letters(key), &written)
        }
    };
    keys_in("")
        .into_iter()
        .filter(|key| !path.starts_with(&format!("{key}.")))
        .min_by_key(|key| distance(key))
        .filter(|key| distance(key) <= written.len() / 3)
}

fn table_and_name(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// The paths of all tables and keys in `table`, as the types know them: each rejects a key
/// that it has not, and names its own.
fn keys_in(table: &str) -> Vec<String> {
    const NO_KEY: &str = "?";
    let within = |key: &str| format!("{table}.{key}").trim_start_matches('.').to_owned();
    let as_table = Figment::from((within(NO_KEY), true));
    let as_list = Figment::from((table, [BTreeMap::from([(NO_KEY, true)])]));
    let known = |source: &Figment| match source.extract::<Config>().err()?.kind {
        Kind::UnknownField(key, known) if key == NO_KEY => Some(known),
        _ => None,
    };
    let known = known(&as_table).or_else(|| known(&as_list));
    let paths = known.unwrap_or_default().iter().map(|key| within(key));
    let with_inner = |path: String| {
        let inner = keys_in(&path);
        std::iter::once(path).chain(inner)
    };
    paths.flat_map(with_inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_leads_to_the_key_that_is_meant() {
        for (misspelt, meant) in [
            ("base_ulr", Some("base_url")),
            ("baseurl", Some("base_url")),
            ("store_url", Some("store.url")),
            (
                "upstream_google_client_secret",
                Some("upstream.google.client_secret"),
            ),
            (
                "upstream.google.secret",
                Some("upstream.google.client_secret"),
            ),
            ("cookie_key", Some("cookie_keys")),
            ("stores", Some("store")),
            ("project.redirect_uri", Some("project.redirect_uris")),
            ("url", Some("base_url")),
            ("port", None),
            ("upstream.google.zzz", None),
            ("hunter", None),
            ("", None),
        ] {
            assert_eq!(nearest(misspelt).as_deref(), meant, "{misspelt}");
        }
    }
}
