//! One whole login, as a consumer's backend and its user's browser make it: four
//! requests, of which each must be answered as in a login that succeeds.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{LOCATION, SET_COOKIE};
use serde_json::{Value, json};
use url::Url;

use super::connection::{Answer, Connection};
use super::secrets::{digest, secret};
use crate::error::BenchError;

pub(crate) const CLIENT_ID: &str = "bench";
pub(crate) const CLIENT_SECRET: &str = "the secret of the bench";
/// The consumer's callback; nothing listens there.
pub(crate) const CALLBACK: &str = "http://127.0.0.1:9/home";

/// A browser that follows a link on a page of the consumer.
const BROWSER: [(&str, &str); 5] = [
    ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Dest", "document"),
    ("Referer", "http://127.0.0.1:9/"),
    ("Accept", "text/html"),
];

/// A flow of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Clean,
    Legacy,
}

/// A provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    Google,
    GitHub,
}

/// The kind of a login.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Login {
    pub(crate) flow: Flow,
    pub(crate) provider: Provider,
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = match self.flow {
            Flow::Clean => "clean",
            Flow::Legacy => "legacy",
        };
        let provider = match self.provider {
            Provider::Google => "Google",
            Provider::GitHub => "GitHub",
        };
        write!(f, "{flow}, {provider}")
    }
}

impl Provider {
    fn id(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::GitHub => "github",
        }
    }
}

impl Login {
    /// Signs in once on `connection`, and adds the time of each request to `times`.
    pub(crate) async fn run(
        self,
        connection: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        match self.flow {
            Flow::Clean => self.clean(connection, times).await,
            Flow::Legacy => self.legacy(connection, times).await,
        }
    }

    async fn clean(
        self,
        connection: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        let key = secret();
        let body = credentials(json!({
            "session_key": key, "provider": self.provider.id(), "redirect_uri": CALLBACK,
        }));
        let started = connection
            .send("/v1/login/session", &[], Some(body))
            .await?;
        let started = expect("POST /v1/login/session", StatusCode::OK, started, times)?;
        let url = text(&started, "authorization_url");
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        let visited = connection.send(&format!("/{path}"), &BROWSER, None).await?;
        let visited = expect(
            "the authorization URL",
            StatusCode::SEE_OTHER,
            visited,
            times,
        )?;
        self.come_back(&visited, connection, times).await?;
        let body = credentials(json!({ "session_key": key, "redirect_uri": CALLBACK }));
        let result = connection.send("/v1/login/result", &[], Some(body)).await?;
        let result = expect("POST /v1/login/result", StatusCode::OK, result, times)?;
        match text(&result, "status").as_str() {
            "succeeded" => Ok(()),
            _ => Err(unexpected("POST /v1/login/result", &result)),
        }
    }

    async fn legacy(
        self,
        connection: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        let (state, verifier) = (secret(), secret());
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", CLIENT_ID)
            .append_pair("redirect_uri", CALLBACK)
            .append_pair("provider", self.provider.id())
            .append_pair("state", &state)
            .append_pair("code_challenge", &digest(&verifier))
            .append_pair("code_challenge_method", "S256")
            .finish();
        let visited = connection
            .send(&format!("/authorize?{query}"), &BROWSER, None)
            .await?;
        let visited = expect("GET /authorize", StatusCode::SEE_OTHER, visited, times)?;
        let back = self.come_back(&visited, connection, times).await?;
        let body = credentials(json!({
            "grant_type": "authorization_code", "code": parameter(&back, "code"),
            "code_verifier": verifier, "redirect_uri": CALLBACK,
        }));
        let token = connection.send("/v1/token", &[], Some(body)).await?;
        let token = expect("POST /v1/token", StatusCode::OK, token, times)?;
        let bearer = format!("Bearer {}", text(&token, "access_token"));
        let profile = connection
            .send("/v1/profile", &[("Authorization", &bearer)], None)
            .await?;
        expect("GET /v1/profile", StatusCode::OK, profile, times).map(drop)
    }

    /// Comes back from the provider, to which `visited` redirected the browser. Returns
    /// the answer that redirects it to the consumer.
    async fn come_back(
        self,
        visited: &Answer,
        connection: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<Answer, BenchError> {
        // The code is the nonce: the provider puts it into the ID token.
        let code = match parameter(visited, "nonce") {
            nonce if nonce.is_empty() => secret(),
            nonce => nonce,
        };
        let (provider, state) = (self.provider.id(), parameter(visited, "state"));
        let path = format!("/callback/{provider}?code={code}&state={state}");
        let cookie = visited.header(SET_COOKIE);
        let cookie = cookie.split(';').next().unwrap_or_default();
        let headers = [BROWSER.as_slice(), &[("Cookie", cookie)]].concat();
        let headers = match cookie {
            "" => BROWSER.as_slice(),
            _ => headers.as_slice(),
        };
        let back = connection.send(&path, headers, None).await?;
        expect(
            "the provider's callback",
            StatusCode::SEE_OTHER,
            back,
            times,
        )
    }
}

/// The body of a backend's request: its credentials and these members.
fn credentials(mut members: Value) -> String {
    members["client_id"] = CLIENT_ID.into();
    members["client_secret"] = CLIENT_SECRET.into();
    members.to_string()
}

fn expect(
    request: &'static str,
    status: StatusCode,
    answer: Answer,
    times: &mut Vec<Duration>,
) -> Result<Answer, BenchError> {
    times.push(answer.took);
    if answer.status == status {
        Ok(answer)
    } else {
        Err(unexpected(request, &answer))
    }
}

fn unexpected(request: &'static str, answer: &Answer) -> BenchError {
    let body = String::from_utf8_lossy(&answer.body);
    BenchError::Unexpected {
        request,
        answer: format!("{} {body}", answer.status),
    }
}

/// A member of a JSON answer; empty if it has none.
fn text(answer: &Answer, member: &str) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body[member].as_str().unwrap_or_default().to_owned()
}

/// A parameter of the address that `answer` redirects to; empty if it has none.
fn parameter(answer: &Answer, name: &str) -> String {
    let Ok(url) = Url::parse(answer.header(LOCATION)) else {
        return String::new();
    };
    let mut pairs = url.query_pairs();
    let value = pairs.find(|(it, _)| it == name);
    value
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}
