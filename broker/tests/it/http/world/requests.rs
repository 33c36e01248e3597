//! What Ada's backend and her browser ask.

use contract::Digest;
use serde_json::{Value, json};
use testkit::leak_check::MARK;

use super::{ADA_SECRET, CALLBACK};

/// 43 characters, the same for the same number.
pub(crate) fn key(n: u8) -> String {
    marked(&Digest::derive("session key", &[n]))
}

pub(crate) fn verifier() -> String {
    marked(&Digest::of(b"verifier"))
}

pub(crate) fn state() -> String {
    marked(&Digest::of(b"state"))
}

/// A secret as the sentinel knows it, cut off as it may be.
fn marked(drawn: &Digest) -> String {
    format!("{MARK}{}", &drawn.to_text()[MARK.len()..])
}

pub(crate) fn session_body(n: u8) -> Value {
    json!({
        "client_id": "prj_ada",
        "client_secret": ADA_SECRET,
        "session_key": key(n),
        "provider": "github",
        "redirect_uri": CALLBACK,
    })
}

pub(crate) fn result_body(n: u8) -> Value {
    json!({
        "client_id": "prj_ada",
        "client_secret": ADA_SECRET,
        "session_key": key(n),
        "redirect_uri": CALLBACK,
    })
}

pub(crate) fn token_body(code: &str) -> Value {
    json!({
        "grant_type": "authorization_code",
        "client_id": "prj_ada",
        "client_secret": ADA_SECRET,
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": verifier(),
    })
}

/// `body` with one field set.
pub(crate) fn with(mut body: Value, field: &str, value: impl Into<Value>) -> Value {
    body[field] = value.into();
    body
}

pub(crate) fn authorize_query() -> Vec<(&'static str, String)> {
    let verifier: contract::CodeVerifier = verifier().parse().unwrap();
    vec![
        ("client_id", "prj_ada".to_owned()),
        ("redirect_uri", CALLBACK.to_owned()),
        ("provider", "github".to_owned()),
        ("state", state()),
        ("code_challenge", verifier.challenge().as_str().to_owned()),
        ("code_challenge_method", "S256".to_owned()),
    ]
}

pub(crate) fn authorize_with(query: &[(&str, String)]) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    format!("/authorize?{query}")
}

pub(crate) fn authorize_path() -> String {
    authorize_with(&authorize_query())
}

/// One parameter of a URL's query.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    url::Url::parse(url)
        .unwrap()
        .query_pairs()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}
