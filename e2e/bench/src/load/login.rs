//! The kinds of logins, and one whole login of each, as a consumer's backend and its
//! user's browser make it: four requests to the broker, of which each must be answered as
//! in a login that succeeds.

use std::fmt;

use agent::random::{digest, secret};
use agent::url::encode;
use clap::ValueEnum;
use hyper::header::{LOCATION, SET_COOKIE};
use serde_json::{Value, json};

use super::connection::{Answer, Connection, expect, member};
use crate::BenchError;

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
        let value = self.to_possible_value().expect("none is hidden");
        f.write_str(value.get_name())
    }
}

impl Login {
    /// Signs in once.
    pub(crate) async fn run(self, client: &mut Connection) -> Result<(), BenchError> {
        match self {
            Self::CleanGitHub | Self::CleanGoogle => self.clean(client).await,
            Self::LegacyGitHub | Self::LegacyGoogle => self.legacy(client).await,
        }
    }

    /// The id of its provider in requests and paths.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::CleanGitHub | Self::LegacyGitHub => "github",
            Self::CleanGoogle | Self::LegacyGoogle => "google",
        }
    }

    /// Opens a login that no browser continues yet: its session key, and the path of its
    /// authorization URL.
    pub(crate) async fn start(
        self,
        client: &mut Connection,
    ) -> Result<(String, String), BenchError> {
        let session_key = secret();
        let body = credentials(json!({
            "session_key": session_key, "provider": self.provider(),
            "redirect_uri": CALLBACK,
        }));
        let started = post("POST /v1/login/session", body, client).await?;
        let url = member(&started, "authorization_url");
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        Ok((session_key, format!("/{path}")))
    }

    async fn clean(self, client: &mut Connection) -> Result<(), BenchError> {
        let (session_key, path) = self.start(client).await?;
        self.visit("the authorization URL", &path, client).await?;
        let body = credentials(json!({ "session_key": session_key, "redirect_uri": CALLBACK }));
        let result = post(RESULT, body, client).await?;
        expect(member(&result, "status") == "succeeded", &result, RESULT)
    }

    async fn legacy(self, client: &mut Connection) -> Result<(), BenchError> {
        let verifier = secret();
        let query = encode(&[
            ("client_id", CLIENT_ID),
            ("redirect_uri", CALLBACK),
            ("provider", self.provider()),
            ("state", &secret()),
            ("code_challenge", &digest(&verifier)),
            ("code_challenge_method", "S256"),
        ]);
        let path = format!("/authorize?{query}");
        let back = self.visit("GET /authorize", &path, client).await?;
        let body = credentials(json!({
            "grant_type": "authorization_code", "code": parameter(&back, "code"),
            "code_verifier": verifier, "redirect_uri": CALLBACK,
        }));
        let token = post("POST /v1/token", body, client).await?;
        let bearer = format!("Bearer {}", member(&token, "access_token"));
        let bearer = [("Authorization", bearer.as_str())];
        let profile = client
            .send(("GET", "/v1/profile"), &bearer, String::new())
            .await?;
        expect(profile.status == 200, &profile, "GET /v1/profile")
    }

    /// The browser's part: opens `path`, which `request` names, and comes straight back
    /// from the provider. Returns the answer that redirects it to the consumer.
    async fn visit(
        self,
        request: &str,
        path: &str,
        client: &mut Connection,
    ) -> Result<Answer, BenchError> {
        let visited = client.send(("GET", path), &BROWSER, String::new()).await?;
        expect(visited.status == 303, &visited, request)?;
        // The code is the nonce: the provider puts it into the ID token.
        let code = match parameter(&visited, "nonce") {
            nonce if nonce.is_empty() => secret(),
            nonce => nonce,
        };
        let (provider, state) = (self.provider(), parameter(&visited, "state"));
        let path = format!("/callback/{provider}?code={code}&state={state}");
        let cookies = visited.header(SET_COOKIE.as_str());
        let cookie = cookies.split(';').next();
        let cookie = cookie.filter(|it| !it.is_empty()).map(|it| ("Cookie", it));
        let headers: Vec<_> = BROWSER.into_iter().chain(cookie).collect();
        let back = client.send(("GET", &path), &headers, String::new()).await?;
        expect(back.status == 303, &back, "the provider's callback")?;
        Ok(back)
    }
}

/// The body of a backend's request: its credentials and these members.
fn credentials(mut members: Value) -> String {
    members["client_id"] = CLIENT_ID.into();
    members["client_secret"] = CLIENT_SECRET.into();
    members.to_string()
}

/// Sends `body`, which is JSON, with a request such as `POST /v1/token`; its answer must
/// be 200.
async fn post(request: &str, body: String, client: &mut Connection) -> Result<Answer, BenchError> {
    let request_line = request.split_once(' ').unwrap_or_default();
    let json = [("Content-Type", "application/json")];
    let answer = client.send(request_line, &json, body).await?;
    expect(answer.status == 200, &answer, request)?;
    Ok(answer)
}

/// A parameter of the address that `answer` redirects to; empty if it has none.
fn parameter(answer: &Answer, name: &str) -> String {
    agent::url::parameter(&answer.header(LOCATION.as_str()), name).unwrap_or_default()
}
