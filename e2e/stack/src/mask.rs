//! The masks of secrets. A secret has the same mask everywhere, `[masked vN3bR2xQ]`, so
//! that it can be followed from call to call and from program to program.
//!
//! In an exchange every value is masked that is not known to be harmless. For other texts
//! there are [`scrub`] and [`url()`], which go by the form of a secret.

#[cfg(test)]
mod tests;

use contract::{Digest, Provider, RedirectUri};
use hyper::header::HeaderMap;
use serde_json::{Map, Value};
use url::Url;

/// The shortest run of letters and digits that may be a secret anywhere.
const SECRET_LENGTH: usize = 22;

/// The length of the secrets that the service makes or asks for: 32 bytes in base64url.
const GENERATED_LENGTH: usize = 43;

/// Headers whose values are shown, except for parts that look like a secret.
const PLAIN_HEADERS: [&str; 29] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "allow",
    "cache-control",
    "connection",
    "content-length",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "date",
    "host",
    "origin",
    "priority",
    "referrer-policy",
    "retry-after",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "upgrade-insecure-requests",
    "user-agent",
    "vary",
    "www-authenticate",
    "x-content-type-options",
    "x-request-id",
];

/// The known members of request bodies and parameters of queries.
const NAMES: [&str; 22] = [
    "authuser",
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "error",
    "error_description",
    "grant_type",
    "hd",
    "iss",
    "login_hint",
    "nonce",
    "prompt",
    "provider",
    "redirect_uri",
    "response_type",
    "scope",
    "session_key",
    "state",
    "token",
];

/// The mask of a secret: `[masked ` and eight characters of a digest, then `]`.
///
/// ```
/// let mask = stack::mask::mask("a session key");
/// assert!(mask.starts_with("[masked ") && mask.len() == 17);
/// assert_eq!(mask, stack::mask::mask("a session key"));
/// ```
pub fn mask(secret: &str) -> String {
    let mut text = Digest::derive("shown", secret.as_bytes()).to_text();
    text.truncate(8);
    format!("[masked {text}]")
}

/// `text` with the mask of each run that may be a secret: 22 or more letters, digits and
/// `-_~%` in a row, unless they are lower-case words, such as `cross-origin-opener-policy`.
/// Shorter secrets, and those with other characters in between, stay.
///
/// ```
/// let line = "the key is QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9p.";
/// let mask = stack::mask::mask("QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9p");
/// assert_eq!(stack::mask::scrub(line), format!("the key is {mask}."));
/// ```
pub fn scrub(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(may_be_secret) {
        let run = &rest[start..];
        let end = run.find(|c| !may_be_secret(c)).unwrap_or(run.len());
        shown.push_str(&rest[..start]);
        match &run[..end] {
            secret if end >= SECRET_LENGTH && !is_word(secret) => shown.push_str(&mask(secret)),
            word => shown.push_str(word),
        }
        rest = &run[end..];
    }
    shown + rest
}

/// A URL, absolute or relative, with its secrets masked: in its path as by [`scrub`], in
/// its query every value that has not the harmless form of a parameter of the contract,
/// and its fragment as a whole.
///
/// ```
/// let back = "http://localhost:3000/back?error=access_denied&state=x1";
/// let masked = format!(
///     "http://localhost:3000/back?error=access_denied&state={}",
///     stack::mask::mask("x1"),
/// );
/// assert_eq!(stack::mask::url(back), masked);
/// ```
pub fn url(url: &str) -> String {
    url_of(url, None)
}

/// The headers of a message.
pub(crate) fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (scrub(name.as_str()), header(name.as_str(), &value))
        })
        .collect()
}

fn header(name: &str, value: &str) -> String {
    match name {
        "location" | "referer" => url(value),
        "authorization" => match value.split_once(' ') {
            Some((scheme @ ("Basic" | "Bearer"), secret)) => format!("{scheme} {}", mask(secret)),
            _ => mask(value),
        },
        "cookie" => {
            let cookies: Vec<_> = value.split("; ").map(pair).collect();
            cookies.join("; ")
        }
        "set-cookie" => match value.split_once(';') {
            Some((cookie, attributes)) => format!("{};{attributes}", pair(cookie)),
            None => pair(value),
        },
        _ if PLAIN_HEADERS.contains(&name) => scrub(value),
        _ => mask(value),
    }
}

fn pair(cookie: &str) -> String {
    match cookie.split_once('=') {
        Some((name, value)) => format!("{}={}", scrub(name), mask(value)),
        None => mask(cookie),
    }
}

/// A URL, absolute or relative, for readers who know its project: its `client_id` is shown.
pub(crate) fn url_of(url: &str, project: Option<&str>) -> String {
    let (url, fragment) = match url.split_once('#') {
        Some((url, "")) => (url, "#".to_owned()),
        Some((url, fragment)) => (url, format!("#{}", mask(fragment))),
        None => (url, String::new()),
    };
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, format!("?{}", parameters(query, project))),
        None => (url, String::new()),
    };
    format!("{}{query}{fragment}", scrub(path))
}

fn parameters(query: &str, project: Option<&str>) -> String {
    let shown = url::form_urlencoded::parse(query.as_bytes()).map(|(name, value)| {
        if NAMES.contains(&name.as_ref()) {
            format!("{name}={}", field(&name, &value, project))
        } else {
            mask(&format!("{name}={value}"))
        }
    });
    shown.collect::<Vec<_>>().join("&")
}

/// A masked request body. A value is shown if it has the form that its member requires.
pub(crate) fn request(body: &Value, project: Option<&str>) -> Value {
    let Value::Object(fields) = body else {
        return Value::String(mask(&body.to_string()));
    };
    let shown = fields.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => Value::String(field(name, text, project)),
            other => Value::String(mask(&other.to_string())),
        };
        let is_known = NAMES.contains(&name.as_str());
        (if is_known { name.clone() } else { mask(name) }, value)
    });
    Value::Object(shown.collect::<Map<_, _>>())
}

fn field(name: &str, value: &str, project: Option<&str>) -> String {
    let is_harmless = match name {
        "client_id" => Some(value) == project || is_client_id(value),
        "provider" => value.parse::<Provider>().is_ok(),
        "redirect_uri" if is_callback(value) => true,
        "redirect_uri" | "iss" => return absolute_url(value),
        "grant_type" => value == "authorization_code",
        "code_challenge_method" | "error" | "prompt" | "response_type" => is_word(value),
        "scope" => value.split(' ').all(is_scope),
        // Google's callback: the number of the account, and the domain of its organisation.
        "authuser" => value.len() <= 3 && value.bytes().all(|byte| byte.is_ascii_digit()),
        "hd" => value.split('.').all(is_word),
        _ => false,
    };
    if is_harmless {
        value.to_owned()
    } else {
        mask(value)
    }
}

/// Whether this is a scope of a provider: `read:user`, or an address at Google.
fn is_scope(scope: &str) -> bool {
    let name = scope.strip_prefix("https://www.googleapis.com/auth/");
    is_word(&name.unwrap_or(scope).replace([':', '.'], "_"))
}

/// Whether this is a client id as `broker new-project` and the stack make them, or a word.
fn is_client_id(text: &str) -> bool {
    let random = text.strip_prefix("prj_");
    is_word(text) || random.is_some_and(|it| it.len() <= 22 && it.chars().all(may_be_secret))
}

/// Whether this is a callback, which is no secret however long its parts are; but a client
/// may have put a secret of the service into its path.
fn is_callback(text: &str) -> bool {
    let is_generated =
        |run: &str| run.len() >= GENERATED_LENGTH && run.contains(|c: char| c.is_ascii_uppercase());
    text.parse::<RedirectUri>().is_ok() && !text.split(|c| !may_be_secret(c)).any(is_generated)
}

fn absolute_url(text: &str) -> String {
    match Url::parse(text) {
        Ok(_) => url(text),
        Err(_) => mask(text),
    }
}

/// A masked response body: everything that the broker writes, except for what it issues.
pub(crate) fn response(body: &Value) -> Value {
    match body {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), issued(name, value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(response).collect()),
        other => other.clone(),
    }
}

fn issued(name: &str, value: &Value) -> Value {
    match (name, value) {
        ("access_token", Value::String(token)) => Value::String(mask(token)),
        ("authorization_url", Value::String(text)) => Value::String(url(text)),
        (_, nested) => response(nested),
    }
}

/// A masked answer of a provider, or a part of an ID token: everything but tokens, what
/// stands for one, and what looks like a secret.
pub(crate) fn provider_answer(body: &Value) -> Value {
    match body {
        Value::Object(fields) => {
            let shown = fields.iter().map(|(name, value)| {
                let value = match (name.as_str(), value) {
                    (
                        "access_token" | "refresh_token" | "id_token" | "nonce" | "at_hash",
                        Value::String(secret),
                    ) => Value::String(mask(secret)),
                    // The id of a key is public, and long.
                    ("kid", value) => value.clone(),
                    (_, nested) => provider_answer(nested),
                };
                (name.clone(), value)
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(provider_answer).collect()),
        Value::String(text) => Value::String(scrub(text)),
        other => other.clone(),
    }
}

fn may_be_secret(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~' | '%')
}

/// Whether the text is words of the protocol, like `access_denied` and `Content-Security-Policy`.
/// All secrets have digits, or capitals within a word.
fn is_word(text: &str) -> bool {
    let is_one = |word: &str| {
        let rest = word.strip_prefix(|first: char| first.is_ascii_uppercase());
        let rest = rest.unwrap_or(word).as_bytes();
        rest.iter().all(u8::is_ascii_lowercase)
    };
    (1..=40).contains(&text.len()) && text.split(['_', '-']).all(is_one)
}
