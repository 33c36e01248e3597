//! One whole login, as a consumer's backend and its user's browser make it: four
//! requests to the broker, of which each must be answered as in a login that succeeds.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{LOCATION, RETRY_AFTER, SET_COOKIE};
use serde_json::{Value, json};
use url::Url;

use super::client::{Client, Consumer};
use super::connection::Answer;
use super::login::{CALLBACK, Flow, Login};
use super::secrets::{digest, secret};
use crate::error::BenchError;

/// A browser that follows a link on a page of the consumer.
const BROWSER: [(&str, &str); 5] = [
    ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Dest", "document"),
    ("Referer", "http://127.0.0.1:9/"),
    ("Accept", "text/html"),
];

const OPEN: &str = "POST /v1/login/session";
const RESULT: &str = "POST /v1/login/result";

/// A clean login that was opened.
struct Opened {
    session_key: String,
    /// The path of its authorization URL.
    path: String,
}

impl Login {
    /// Signs in once, and adds the time of each request to `times`.
    pub(crate) async fn run(
        self,
        client: &mut Client,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        match self.flow {
            Flow::Clean => self.clean(client, times).await,
            Flow::Legacy => self.legacy(client, times).await,
        }
    }

    /// Opens a login that no browser continues.
    pub(super) async fn open(
        self,
        client: &mut Client,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        self.start(client, times).await.map(drop)
    }

    async fn start(
        self,
        client: &mut Client,
        times: &mut Vec<Duration>,
    ) -> Result<Opened, BenchError> {
        let session_key = secret();
        let body = credentials(
            &client.consumer,
            json!({
                "session_key": session_key, "provider": self.provider.id(),
                "redirect_uri": CALLBACK,
            }),
        );
        let started = client.broker.send("/v1/login/session", &[], Some(body));
        let started = expect(OPEN, StatusCode::OK, started.await?, times)?;
        let url = text(&started, "authorization_url");
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        Ok(Opened {
            session_key,
            path: format!("/{path}"),
        })
    }

    async fn clean(self, client: &mut Client, times: &mut Vec<Duration>) -> Result<(), BenchError> {
        let Opened { session_key, path } = self.start(client, times).await?;
        let visited = client.broker.send(&path, &BROWSER, None).await?;
        let visited = expect(
            "the authorization URL",
            StatusCode::SEE_OTHER,
            visited,
            times,
        )?;
        self.come_back(&visited, client, times).await?;
        let body = credentials(
            &client.consumer,
            json!({ "session_key": session_key, "redirect_uri": CALLBACK }),
        );
        let result = client.broker.send("/v1/login/result", &[], Some(body));
        let result = expect(RESULT, StatusCode::OK, result.await?, times)?;
        match text(&result, "status").as_str() {
            "succeeded" => Ok(()),
            _ => Err(unexpected(RESULT, &result)),
        }
    }

    async fn legacy(
        self,
        client: &mut Client,
        times: &mut Vec<Duration>,
    ) -> Result<(), BenchError> {
        let verifier = secret();
        let path = self.authorize_path(&client.consumer, &digest(&verifier));
        let visited = client.broker.send(&path, &BROWSER, None).await?;
        let visited = expect("GET /authorize", StatusCode::SEE_OTHER, visited, times)?;
        let back = self.come_back(&visited, client, times).await?;
        let body = credentials(
            &client.consumer,
            json!({
                "grant_type": "authorization_code", "code": parameter(&back, "code"),
                "code_verifier": verifier, "redirect_uri": CALLBACK,
            }),
        );
        let token = client.broker.send("/v1/token", &[], Some(body)).await?;
        let token = expect("POST /v1/token", StatusCode::OK, token, times)?;
        let bearer = format!("Bearer {}", text(&token, "access_token"));
        let bearer = [("Authorization", bearer.as_str())];
        let profile = client.broker.send("/v1/profile", &bearer, None).await?;
        expect("GET /v1/profile", StatusCode::OK, profile, times).map(drop)
    }

    fn authorize_path(self, consumer: &Consumer, challenge: &str) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &consumer.client_id)
            .append_pair("redirect_uri", CALLBACK)
            .append_pair("provider", self.provider.id())
            .append_pair("state", &secret())
            .append_pair("code_challenge", challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        format!("/authorize?{query}")
    }

    /// Comes back from the provider, to which `visited` redirected the browser. Returns
    /// the answer that redirects it to the consumer.
    async fn come_back(
        self,
        visited: &Answer,
        client: &mut Client,
        times: &mut Vec<Duration>,
    ) -> Result<Answer, BenchError> {
        let path = match &mut client.provider {
            Some(provider) => {
                let page = path_and_query(visited);
                let signed_in = provider.send(&page, &BROWSER, None).await?;
                match signed_in.status.is_redirection() {
                    true => path_and_query(&signed_in),
                    false => return Err(unexpected("the provider's page", &signed_in)),
                }
            }
            None => self.callback_path(visited),
        };
        let cookie = visited.header(SET_COOKIE);
        let cookie = cookie.split(';').next().unwrap_or_default();
        let mut headers = BROWSER.to_vec();
        if !cookie.is_empty() {
            headers.push(("Cookie", cookie));
        }
        let back = client.broker.send(&path, &headers, None).await?;
        expect(
            "the provider's callback",
            StatusCode::SEE_OTHER,
            back,
            times,
        )
    }

    /// The path to which a provider without a page sends the browser back.
    fn callback_path(self, visited: &Answer) -> String {
        // The code is the nonce: the provider puts it into the ID token.
        let code = match parameter(visited, "nonce") {
            nonce if nonce.is_empty() => secret(),
            nonce => nonce,
        };
        let (provider, state) = (self.provider.id(), parameter(visited, "state"));
        format!("/callback/{provider}?code={code}&state={state}")
    }
}

/// The body of a backend's request: its credentials and these members.
fn credentials(consumer: &Consumer, mut members: Value) -> String {
    members["client_id"] = consumer.client_id.as_str().into();
    members["client_secret"] = consumer.client_secret.as_str().into();
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

/// The address that `answer` redirects to.
fn location(answer: &Answer) -> Option<Url> {
    Url::parse(answer.header(LOCATION)).ok()
}

/// A parameter of the address that `answer` redirects to; empty if it has none.
fn parameter(answer: &Answer, name: &str) -> String {
    let url = location(answer);
    let value = url.as_ref().and_then(|url| {
        let mut pairs = url.query_pairs();
        pairs.find(|(it, _)| it == name)
    });
    value
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// The path and the query of the address that `answer` redirects to.
fn path_and_query(answer: &Answer) -> String {
    location(answer).map_or_else(String::new, |url| {
        format!("{}?{}", url.path(), url.query().unwrap_or_default())
    })
}
