//! What is shown of an exchange. Whatever is not known to be harmless is masked,
//! the same secret always alike, so that one can be followed from call to call.

use contract::{Digest, Provider};
use hyper::header::HeaderMap;
use serde_json::{Map, Value};
use url::Url;

/// Shortest run of letters and digits that may be a secret wherever it stands.
const SECRET_LENGTH: usize = 22;

/// Headers whose values are shown, as far as no part of them looks like a secret.
const PLAIN_HEADERS: [&str; 21] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "allow",
    "cache-control",
    "content-length",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "date",
    "host",
    "origin",
    "referrer-policy",
    "retry-after",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "user-agent",
    "www-authenticate",
    "x-content-type-options",
    "x-request-id",
];

/// The fields of requests and parameters of addresses that there are.
const NAMES: [&str; 20] = [
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "error",
    "error_description",
    "grant_type",
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

/// `secret`, as it is shown.
pub(super) fn mask(secret: &str) -> String {
    let mut text = Digest::derive("shown", secret.as_bytes()).to_text();
    text.truncate(8);
    format!("[masked {text}]")
}

/// The headers of a message.
pub(super) fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (scrubbed(name.as_str()), header(name.as_str(), &value))
        })
        .collect()
}

fn header(name: &str, value: &str) -> String {
    match name {
        "location" | "referer" => address(value, None),
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
        _ if PLAIN_HEADERS.contains(&name) => scrubbed(value),
        _ => mask(value),
    }
}

fn pair(cookie: &str) -> String {
    match cookie.split_once('=') {
        Some((name, value)) => format!("{}={}", scrubbed(name), mask(value)),
        None => mask(cookie),
    }
}

/// An address, absolute or from a path on.
pub(super) fn address(address: &str, project: Option<&str>) -> String {
    let (address, fragment) = match address.split_once('#') {
        Some((address, "")) => (address, "#".to_owned()),
        Some((address, fragment)) => (address, format!("#{}", mask(fragment))),
        None => (address, String::new()),
    };
    let (path, query) = match address.split_once('?') {
        Some((path, query)) => (path, format!("?{}", parameters(query, project))),
        None => (address, String::new()),
    };
    format!("{}{query}{fragment}", scrubbed(path))
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

/// A request's body. What a client says is shown where it is what it should be.
pub(super) fn request(body: &Value, project: Option<&str>) -> Value {
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
        "client_id" => Some(value) == project || is_word(value),
        "provider" => value.parse::<Provider>().is_ok(),
        "redirect_uri" | "iss" => return url(value),
        "grant_type" => value == "authorization_code",
        "code_challenge_method" | "error" | "prompt" | "response_type" => is_word(value),
        "scope" => value
            .split(' ')
            .all(|scope| is_word(&scope.replace(':', "_"))),
        _ => false,
    };
    if is_harmless {
        value.to_owned()
    } else {
        mask(value)
    }
}

fn url(text: &str) -> String {
    match Url::parse(text) {
        Ok(_) => address(text, None),
        Err(_) => mask(text),
    }
}

/// An answer's body: the broker's own words, but for what it issues.
pub(super) fn answer(body: &Value) -> Value {
    match body {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), issued(name, value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(answer).collect()),
        other => other.clone(),
    }
}

fn issued(name: &str, value: &Value) -> Value {
    match (name, value) {
        ("access_token", Value::String(token)) => Value::String(mask(token)),
        ("authorization_url", Value::String(url)) => Value::String(address(url, None)),
        (_, nested) => answer(nested),
    }
}

/// `text` with everything masked in it that is long enough to be a secret.
pub(super) fn scrubbed(text: &str) -> String {
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

fn may_be_secret(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~' | '%')
}

/// Whether it is a word of the protocol, like `access_denied`: none of our secrets
/// is without digits and capitals.
fn is_word(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = "QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9p";

    #[test]
    fn one_secret_looks_alike_everywhere_and_another_does_not() {
        let shown = mask(SECRET);
        assert_eq!(
            request(&json!({ "session_key": SECRET }), None),
            json!({ "session_key": shown })
        );
        assert_eq!(
            address(&format!("/login/{SECRET}"), None),
            format!("/login/{shown}")
        );
        assert_eq!(
            header("authorization", &format!("Bearer {SECRET}")),
            format!("Bearer {shown}")
        );
        assert_ne!(mask(&SECRET.to_lowercase()), shown);
    }

    #[test]
    fn a_secret_is_masked_wherever_a_client_puts_it() {
        let everywhere = [
            address(
                &format!("/authorize?client_id={SECRET}&state={SECRET}"),
                None,
            ),
            address(&format!("/authorize?{SECRET}"), None),
            address(&format!("/{SECRET}#{SECRET}"), None),
            address(&format!("https://app.example/{SECRET}?x={SECRET}"), None),
            request(&json!({ SECRET: 1 }), None).to_string(),
            request(&json!({ "provider": SECRET }), None).to_string(),
            request(
                &json!({ "redirect_uri": format!("https://a/?k={SECRET}") }),
                None,
            )
            .to_string(),
            request(&json!({ "client_secret": [SECRET] }), None).to_string(),
            request(&json!([SECRET]), None).to_string(),
            header("user-agent", SECRET),
            header("x-anything", SECRET),
            header("cookie", &format!("a={SECRET}; {SECRET}=b; {SECRET}")),
            header("set-cookie", &format!("a={SECRET}; Path=/")),
            answer(&json!({ "access_token": SECRET })).to_string(),
            answer(&json!({ "authorization_url": format!("http://a/login/{SECRET}") })).to_string(),
        ];
        for shown in everywhere {
            assert!(!shown.contains(SECRET), "{shown}");
        }
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        assert_eq!(
            request(
                &json!({ "client_id": "prj_1", "provider": "google",
                         "redirect_uri": "http://localhost:3000/callback",
                         "grant_type": "authorization_code" }),
                Some("prj_1")
            ),
            json!({ "client_id": "prj_1", "provider": "google",
                    "redirect_uri": "http://localhost:3000/callback",
                    "grant_type": "authorization_code" })
        );
        assert_eq!(
            address("http://localhost:3000/back?error=access_denied", None),
            "http://localhost:3000/back?error=access_denied"
        );
        let profile =
            json!({ "status": "succeeded", "profile": { "name": null, "emailVerified": true } });
        assert_eq!(answer(&profile), profile);
        let policy = "default-src 'none'; cross-origin-opener-policy-and-more";
        assert_eq!(header("content-security-policy", policy), policy);
    }
}
