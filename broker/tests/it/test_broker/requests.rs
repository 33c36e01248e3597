//! The requests of Ada's backend, and her authorization requests.

use std::sync::LazyLock;

use contract::Digest;
use serde_json::Value;
use testkit::backend::Backend;
use testkit::fresh;
use testkit::http::Http;
use testkit::leak_check::MARK;

use super::{ADA_SECRET, BASE, CALLBACK};

/// Makes bodies; it sends nothing.
static ADA: LazyLock<Backend> = LazyLock::new(|| ada(Http::at(BASE)));

/// Ada's backend, which sends by `http`.
pub(super) fn ada(http: Http) -> Backend {
    Backend {
        http,
        client_id: "prj_ada".to_owned(),
        client_secret: ADA_SECRET.to_owned(),
        callback: CALLBACK.to_owned(),
    }
}

/// Session key `n`: 43 characters.
pub(crate) fn key(n: u8) -> String {
    marked(&Digest::derive("session key", &[n]))
}

pub(crate) fn verifier() -> String {
    marked(&Digest::of(b"verifier"))
}

pub(crate) fn state() -> String {
    marked(&Digest::of(b"state"))
}

/// A secret that the leak check recognises even when it is cut off.
fn marked(drawn: &Digest) -> String {
    format!("{MARK}{}", &drawn.to_text()[MARK.len()..])
}

pub(crate) fn session_body(n: u8) -> Value {
    ADA.session_body(&key(n), "github")
}

pub(crate) fn result_body(n: u8) -> Value {
    ADA.result_body(&key(n))
}

pub(crate) fn token_body(code: &str) -> Value {
    ADA.token_body(&verifier(), code)
}

/// `body` with one field set.
pub(crate) fn with(mut body: Value, field: &str, value: impl Into<Value>) -> Value {
    body[field] = value.into();
    body
}

pub(crate) fn authorize_query() -> Vec<(&'static str, String)> {
    vec![
        ("client_id", ADA.client_id.clone()),
        ("redirect_uri", ADA.callback.clone()),
        ("provider", "github".to_owned()),
        ("state", state()),
        ("code_challenge", fresh::challenge(&verifier())),
        ("code_challenge_method", "S256".to_owned()),
    ]
}

/// The path of an authorization request with these parameters.
pub(crate) fn authorize_with(query: &[(&str, String)]) -> String {
    let query: Vec<_> = query
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let url = ADA.authorize_url(&query);
    url.strip_prefix(BASE).unwrap().to_owned()
}

pub(crate) fn authorize_path() -> String {
    authorize_with(&authorize_query())
}

/// A parameter of a URL's query.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(url).unwrap();
    let mut parameters = url.query_pairs();
    let found = parameters.find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned())
}
