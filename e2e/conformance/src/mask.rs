//! Secrets as short fingerprints: the same ones that this kit's broker logs, so that
//! a report can be compared with its log.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

/// The length below which a value is no secret: it would occur in every text.
const MIN_SECRET_LENGTH: usize = 8;

/// The members whose strings are masked: secrets, and the identity of a user.
const MEMBERS: &[&str] = &[
    "access_token",
    "authorization_url",
    "avatarUrl",
    "client_secret",
    "code",
    "code_verifier",
    "email",
    "name",
    "providerSubject",
    "session_key",
    "subject",
    "username",
];

/// The query parameters whose values are shown.
const PARAMETERS: &[&str] = &[
    "client_id",
    "error",
    "provider",
    "redirect_uri",
    "response_type",
];

/// The secrets of a run, to be masked wherever they occur.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    secrets: Vec<(&'static str, String)>,
}

impl Mask {
    /// Adds a secret with its name.
    pub(crate) fn add(&mut self, name: &'static str, secret: &str) {
        let is_new = !self.secrets.iter().any(|(_, known)| known == secret);
        if secret.len() >= MIN_SECRET_LENGTH && is_new {
            self.secrets.push((name, secret.to_owned()));
            // One may be part of another: the longer one is replaced first.
            self.secrets.sort_by_key(|(_, it)| usize::MAX - it.len());
        }
    }

    /// `text` without the secrets.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, secret) in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), &placeholder(name, secret));
            }
        }
        text
    }
}

/// `<session_key 1a2b3c4d5e6f>`
fn placeholder(name: &str, secret: &str) -> String {
    format!("<{name} {}>", fingerprint(secret))
}

fn fingerprint(secret: &str) -> String {
    let digest = Sha256::digest(format!("fingerprint\u{1F}{secret}"));
    let mut text = URL_SAFE_NO_PAD.encode(digest);
    text.truncate(12);
    text
}

/// A body for a report, cut to 400 characters: JSON with its secret members masked,
/// other text as it is.
pub(crate) fn body(text: &str) -> String {
    const MAX_CHARACTERS: usize = 400;
    let shown = match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            mask_members(&mut value);
            value.to_string()
        }
        Err(_) => printable(text),
    };
    match shown.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

/// The value of an `Authorization` header for a report: its scheme is shown.
pub(crate) fn authorization(value: &str) -> String {
    match value.split_once(' ') {
        Some((scheme, secret)) => format!("{scheme} <{}>", fingerprint(secret)),
        None => format!("<{}>", fingerprint(value)),
    }
}

/// A URL, or a path with a query, for a report: the secret values of the query are
/// masked.
pub(crate) fn url(text: &str) -> String {
    let Some((before, rest)) = text.split_once('?') else {
        return printable(text);
    };
    let (query, fragment) = match rest.split_once('#') {
        Some((query, fragment)) => (query, format!("#{fragment}")),
        None => (rest, String::new()),
    };
    let pairs = form_urlencoded::parse(query.as_bytes());
    let masked: Vec<_> = pairs
        .map(|(name, value)| {
            if value.len() < MIN_SECRET_LENGTH || PARAMETERS.contains(&&*name) {
                format!("{name}={value}")
            } else {
                format!("{name}=<{}>", fingerprint(&value))
            }
        })
        .collect();
    printable(&format!("{before}?{}{fragment}", masked.join("&")))
}

fn mask_members(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if MEMBERS.contains(&name.as_str()) && !text.is_empty() => {
                        *text = format!("<{}, {} long>", fingerprint(text), text.chars().count());
                    }
                    other => mask_members(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_members),
        _ => {}
    }
}

/// Replaces what would move a terminal's cursor or break an XML file.
fn printable(text: &str) -> String {
    text.replace(char::is_control, " ")
}
