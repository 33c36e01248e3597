//! The kinds of logins, and one whole login of each, as a consumer's backend and its
//! user's browser make it: four requests to the broker, of which each must be answered as
//! in a login that succeeds.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use hyper::StatusCode;
use hyper::header::{LOCATION, RETRY_AFTER, SET_COOKIE};
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded::Serializer;

use super::connection::{Answer, Connection};
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

const RESULT: &str = "POST /v1/login/result";

/// The kind of a login: its flow and its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Login {
    #[value(name = "clean, GitHub")]
    CleanGitHub,
    #[value(name = "legacy, GitHub")]
    LegacyGitHub,
    #[value(name = "clean, Google")]
    CleanGoogle,
    #[value(name = "legacy, Google")]
    LegacyGoogle,
}

impl fmt::Display for Login {
    /// Its name on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

/// A clean login that was opened.
pub(super) struct Opened {
    session_key: String,
    /// The path of its authorization URL.
    path: String,
}

impl Login {
    /// Signs in once, and adds the time of each request to `times`.
    pub(crate) async fn run(
        self,
        client: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        match self {
            Self::CleanGitHub | Self::CleanGoogle => self.clean(client, times).await,
            Self::LegacyGitHub | Self::LegacyGoogle => self.legacy(client, times).await,
        }
    }

    /// The id of its provider in requests and paths.
    fn provider(self) -> &'static str {
        match self {
            Self::CleanGitHub | Self::LegacyGitHub => "github",
            Self::CleanGoogle | Self::LegacyGoogle => "google",
        }
    }

    /// Opens a login that no browser continues yet.
    pub(super) async fn start(
        self,
        client: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<Opened, BenchError> {
        let session_key = secret();
        let body = credentials(json!({
            "session_key": session_key, "provider": self.provider(),
            "redirect_uri": CALLBACK,
        }));
        let started = client.send("/v1/login/session", &[], Some(body)).await?;
        let started = expect("POST /v1/login/session", StatusCode::OK, started, times)?;
        let url = text(&started, "authorization_url");
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        Ok(Opened {
            session_key,
            path: format!("/{path}"),
        })
    }

    async fn clean(
        self,
        client: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        let Opened { session_key, path } = self.start(client, times).await?;
        self.visit("the authorization URL", &path, client, times)
            .await?;
        let body = credentials(json!({ "session_key": session_key, "redirect_uri": CALLBACK }));
        let result = client.send("/v1/login/result", &[], Some(body)).await?;
        let result = expect(RESULT, StatusCode::OK, result, times)?;
        match text(&result, "status").as_str() {
            "succeeded" => Ok(()),
            _ => Err(unexpected(RESULT, &result)),
        }
    }

    async fn legacy(
        self,
        client: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        let verifier = secret();
        let query = Serializer::new(String::new())
            .append_pair("client_id", CLIENT_ID)
            .append_pair("redirect_uri", CALLBACK)
            .append_pair("provider", self.provider())
            .append_pair("state", &secret())
            .append_pair("code_challenge", &digest(&verifier))
            .append_pair("code_challenge_method", "S256")
            .finish();
        let path = format!("/authorize?{query}");
        let back = self.visit("GET /authorize", &path, client, times).await?;
        let body = credentials(json!({
            "grant_type": "authorization_code", "code": parameter(&back, "code"),
            "code_verifier": verifier, "redirect_uri": CALLBACK,
        }));
        let token = client.send("/v1/token", &[], Some(body)).await?;
        let token = expect("POST /v1/token", StatusCode::OK, token, times)?;
        let bearer = format!("Bearer {}", text(&token, "access_token"));
        let bearer = [("Authorization", bearer.as_str())];
        let profile = client.send("/v1/profile", &bearer, None).await?;
        expect("GET /v1/profile", StatusCode::OK, profile, times).map(drop)
    }

    /// The browser's part: opens `path`, which `request` names, and comes straight back
    /// from the provider. Returns the answer that redirects it to the consumer.
    async fn visit(
        self,
        request: &'static str,
        path: &str,
        client: &mut Connection,
        times: &mut Vec<Duration>,
    ) -> Result<Answer, BenchError> {
        let visited = client.send(path, &BROWSER, None).await?;
        let visited = expect(request, StatusCode::SEE_OTHER, visited, times)?;
        // The code is the nonce: the provider puts it into the ID token.
        let code = match parameter(&visited, "nonce") {
            nonce if nonce.is_empty() => secret(),
            nonce => nonce,
        };
        let (provider, state) = (self.provider(), parameter(&visited, "state"));
        let path = format!("/callback/{provider}?code={code}&state={state}");
        let cookie = visited.header(SET_COOKIE).split(';').next();
        let cookie = cookie.filter(|it| !it.is_empty()).map(|it| ("Cookie", it));
        let headers: Vec<_> = BROWSER.into_iter().chain(cookie).collect();
        let back = client.send(&path, &headers, None).await?;
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
    match answer.status == status {
        true => Ok(answer),
        false => Err(unexpected(request, &answer)),
    }
}

fn unexpected(request: &'static str, answer: &Answer) -> BenchError {
    let body = String::from_utf8_lossy(&answer.body);
    let is_refused = !answer.header(RETRY_AFTER).is_empty();
    let answer = format!("{} {body}", answer.status);
    match is_refused {
        true => BenchError::Refused { request, answer },
        false => BenchError::Unexpected { request, answer },
    }
}

/// A member of a JSON answer; empty if it has none.
fn text(answer: &Answer, member: &str) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body[member].as_str().unwrap_or_default().to_owned()
}

/// A parameter of the address that `answer` redirects to; empty if it has none.
fn parameter(answer: &Answer, name: &str) -> String {
    let url = Url::parse(answer.header(LOCATION)).ok();
    let value = url.as_ref().and_then(|url| {
        let mut pairs = url.query_pairs();
        pairs.find(|(it, _)| it == name)
    });
    value.map_or_else(String::new, |(_, value)| value.into_owned())
}

/// 32 random bytes as text: a session key, state or verifier.
pub(crate) fn secret() -> String {
    let mut bytes = [0; 32];
    let drawn = SysRng.try_fill_bytes(&mut bytes);
    drawn.expect("the operating system provides randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The SHA-256 digest of `text` in base64url: a challenge, or a stored secret.
pub(crate) fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
