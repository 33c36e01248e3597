//! Ada: her profile, the requests of her backend, and her authorization requests. And
//! a request in bytes.

use std::net::SocketAddr;
use std::sync::LazyLock;

use contract::{Digest, Profile, Provider, Subject};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use testkit::backend::Backend;
use testkit::fresh;
use testkit::http::{Http, Response};
use testkit::leak_check::MARK;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The base URL of every broker that is not configured otherwise; it listens elsewhere.
pub(crate) const BASE: &str = "http://127.0.0.1:8000";

pub(crate) const ADA_SECRET: &str = "LeakMark-Ada-QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
pub(crate) const BOB_SECRET: &str = "LeakMark-Bob-QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
pub(crate) const CALLBACK: &str = "https://app.example/cb";
pub(crate) const LOCAL_CALLBACK: &str = "http://localhost:3000/cb";
pub(crate) const BOB_CALLBACK: &str = "https://bob.example/cb";

pub(crate) fn ada() -> Profile {
    Profile {
        subject: Subject::of(Provider::GitHub, "583231"),
        provider: Provider::GitHub,
        provider_subject: "583231".to_owned(),
        name: Some("Ada Lovelace".to_owned()),
        username: Some("ada".to_owned()),
        email: Some("ada@mail.example".to_owned()),
        email_verified: true,
        avatar_url: None,
    }
}

/// Her profile as JSON.
pub(crate) fn adas_profile() -> Value {
    serde_json::to_value(ada()).unwrap()
}

/// Makes bodies; it sends nothing.
static ADA: LazyLock<Backend> = LazyLock::new(|| backend(Http::at(BASE)));

/// Ada's backend, which sends by `http`.
pub(crate) fn backend(http: Http) -> Backend {
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

/// The query of a valid authorization request with one parameter set, or left out.
pub(crate) fn query_with(name: &'static str, value: Option<&str>) -> Vec<(&'static str, String)> {
    let mut query = authorize_query();
    query.retain(|(own, _)| *own != name);
    query.extend(value.map(|value| (name, value.to_owned())));
    query
}

/// A parameter of a URL's query.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(url).unwrap();
    let mut parameters = url.query_pairs();
    let found = parameters.find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned())
}

/// The path of the authorization URL of a login that was started.
#[track_caller]
pub(crate) fn authorization_path(response: &Response, base_url: &str) -> String {
    assert_eq!(response.status, 200, "{response:?}");
    let url = response.json()["authorization_url"].clone();
    let path = url.as_str().unwrap().strip_prefix(base_url);
    path.unwrap().to_owned()
}

/// The path of the provider's callback for the upstream login that `redirect` began.
pub(crate) fn back_path(redirect: &Response, query: &str) -> String {
    let url = redirect.location().unwrap();
    let state = parameter(url, "state").unwrap();
    format!("/callback/github?{query}&state={state}")
}

/// Sends bytes that no client library would send, and reads until the broker closes the
/// connection.
pub(super) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Response {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    response_in(&text)
}

fn response_in(text: &str) -> Response {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers: HeaderMap = lines.map(header_in).collect();
    Response {
        status: status.parse().unwrap(),
        headers,
        body: body.into(),
    }
}

fn header_in(line: &str) -> (HeaderName, HeaderValue) {
    let (name, value) = line.split_once(": ").unwrap();
    (name.parse().unwrap(), value.parse().unwrap())
}
