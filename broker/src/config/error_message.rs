//! The error message of a rejected configuration: one line that names the key and never
//! repeats a value, because any value may be a secret.

use figment::error::Kind;

use super::{environment, keys};

/// The message of the first error.
pub(super) fn of(error: &figment::Error) -> String {
    let key = match error.path.as_slice() {
        [] => String::new(),
        path => format!("`{}`: ", printable_path(path)),
    };
    let source = match &error.metadata {
        None => String::new(),
        Some(metadata) => match &metadata.source {
            Some(source) => format!(" (in {source})"),
            None => format!(" (in the {})", metadata.name),
        },
    };
    let hint = hint(error).unwrap_or_default();
    format!("{key}{}{hint}{source}", description(&error.kind))
}

/// A suggestion for an unknown key, or the variable that sets a missing one.
fn hint(error: &figment::Error) -> Option<String> {
    match &error.kind {
        Kind::UnknownField(key, _) => {
            let meant = keys::nearest(&path_to(error, key))?;
            Some(format!("; did you mean `{meant}`?"))
        }
        Kind::MissingField(key) => {
            let path = path_to(error, key);
            let is_key = keys::KEYS.contains(&path.as_str());
            is_key.then(|| format!("; or set {}", environment::variable(&path)))
        }
        _ => None,
    }
}

/// The path to a key that is unknown or missing.
fn path_to(error: &figment::Error, key: &str) -> String {
    let is_index = |part: &&String| part.parse::<u16>().is_ok();
    let path = error.path.iter().filter(|part| !is_index(part));
    let mut path: Vec<_> = path.map(String::as_str).collect();
    // The path of a key from a file contains the key already.
    if path.last() != Some(&key) {
        path.push(key);
    }
    path.join(".")
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
pub(super) fn unknown_key(key: &str) -> String {
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
