//! The kinds of logins, and one whole login of each, as a consumer's backend and its
//! user's browser make it: four requests to the broker, of which each must be answered as
//! in a login that succeeds.

use std::fmt;
use std::sync::LazyLock;

use agent::backend::{Backend, Call, LegacyLogin};
use agent::random::secret;
use clap::ValueEnum;
use hyper::header::{LOCATION, SET_COOKIE};

use super::connection::{Answer, Connection, expect, member};
use crate::BenchError;

pub(crate) const CLIENT_ID: &str = "bench";
pub(crate) const CLIENT_SECRET: &str = "the secret of the bench";
/// The consumer's callback; nothing listens there.
pub(crate) const CALLBACK: &str = "http://127.0.0.1:9/home";

/// The consumer's backend.
static BACKEND: LazyLock<Backend> = LazyLock::new(|| Backend {
    client_id: CLIENT_ID.to_owned(),
    client_secret: CLIENT_SECRET.to_owned(),
    callback: CALLBACK.to_owned(),
});

/// A browser that follows a link on a page of the consumer.
const BROWSER: [(&str, &str); 5] = [
    ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Dest", "document"),
    ("Referer", "http://127.0.0.1:9/"),
    ("Accept", "text/html"),
];

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
        let started = post(BACKEND.start(&session_key, self.provider()), client).await?;
        let url = member(&started, "authorization_url");
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        Ok((session_key, format!("/{path}")))
    }

    async fn clean(self, client: &mut Connection) -> Result<(), BenchError> {
        let (session_key, path) = self.start(client).await?;
        self.visit("the authorization URL", &path, client).await?;
        let result = post(BACKEND.result(&session_key), client).await?;
        let has_succeeded = member(&result, "status") == "succeeded";
        expect(has_succeeded, &result, "POST /v1/login/result")
    }

    async fn legacy(self, client: &mut Connection) -> Result<(), BenchError> {
        let login = LegacyLogin {
            state: secret(),
            verifier: secret(),
        };
        let path = BACKEND.authorize_url("", self.provider(), &login);
        let back = self.visit("GET /authorize", &path, client).await?;
        let redeem = BACKEND.redeem(&parameter(&back, "code"), &login.verifier);
        let token = post(redeem, client).await?;
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

/// Sends a call of the backend; its answer must be 200.
async fn post(call: Call, client: &mut Connection) -> Result<Answer, BenchError> {
    let request = format!("POST {}", call.path);
    let body = call.body.unwrap_or_default().to_string();
    let json = [("Content-Type", "application/json")];
    let answer = client.send(("POST", call.path), &json, body).await?;
    expect(answer.status == 200, &answer, &request)?;
    Ok(answer)
}

/// A parameter of the address that `answer` redirects to; empty if it has none.
fn parameter(answer: &Answer, name: &str) -> String {
    agent::url::parameter(&answer.header(LOCATION.as_str()), name).unwrap_or_default()
}
