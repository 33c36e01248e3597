//! What a consumer's backend and its users' browsers send: raw requests, and as
//! much of an answer as is judged. Any request may go to any broker of a fleet.

use std::time::Duration;

use reqwest::header::{ACCEPT, COOKIE, HeaderMap, LOCATION, REFERER, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::Failure;
use crate::chance::{Chance, digest};
use crate::history::Heard;

/// The address by which everybody knows the brokers; nobody listens there.
pub(crate) const BASE_URL: &str = "http://127.0.0.1:9";
/// Where browsers come home to; nobody listens there either.
pub(crate) const CALLBACK: &str = "http://127.0.0.1:9/home";
pub(crate) const CLIENT_ID: &str = "prover";
/// It begins as the sentinel knows it.
pub(crate) const CLIENT_SECRET: &str = "LeakMark of the prover";

/// Longer than a broker takes to say that it cannot.
const PATIENCE: Duration = Duration::from_secs(30);

/// One HTTP client for backends and browsers alike; cookies are handed in.
#[derive(Clone)]
pub(crate) struct Client(reqwest::Client);

/// What is asked of a broker, or by a browser of anybody.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    /// `POST /v1/login/session`
    Open { key: String, provider: &'static str },
    /// A navigation.
    Visit { url: String, cookies: String },
    /// `POST /v1/login/result`
    Result { key: String },
    /// `POST /v1/token`
    Redeem { kept: Transaction, code: String },
    /// `GET /v1/profile`
    Profile { token: String },
    /// `POST /v1/revoke`
    Revoke { token: String },
}

/// An answer, or that there was none.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Answered(Box<Answer>),
    /// The connection failed, or the broker said that it could not (5xx).
    Lost,
}

/// What is judged of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// What was asked: the method and the path.
    pub(crate) asked: (Method, String),
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) location: String,
    pub(crate) cookies: String,
    pub(crate) body: String,
}

/// What a legacy transaction keeps.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub(crate) state: String,
    pub(crate) verifier: String,
}

impl Reply {
    /// The answer, where one has to be.
    pub(crate) fn answer(self) -> Result<Answer, Failure> {
        match self {
            Self::Answered(answer) => Ok(*answer),
            Self::Lost => Err("a broker did not answer".into()),
        }
    }
}

impl Answer {
    /// Whether the broker could not take the step: 503, or, when the provider was asked
    /// already, the legacy callback with `provider_unavailable`. (The imitated providers
    /// of races and crashes are never unavailable.)
    fn is_of_a_store_in_trouble(&self) -> bool {
        self.status >= 500 || self.parameter("error").as_deref() == Some("provider_unavailable")
    }

    /// What it means to whoever sent `request`; nothing if it cannot be an answer
    /// to that.
    pub(crate) fn heard(&self, request: &Request) -> Option<Heard> {
        let (granted, refused): (u16, &[u16]) = match request {
            Request::Open { .. } | Request::Result { .. } | Request::Redeem { .. } => (200, &[400]),
            Request::Visit { .. } => (303, &[400, 410]),
            Request::Profile { .. } => (200, &[401]),
            Request::Revoke { .. } => (200, &[]),
        };
        match request {
            _ if refused.contains(&self.status) => Some(Heard::Refused),
            _ if self.status != granted || self.location.contains("error=") => None,
            Request::Result { .. } if self.text("status") == "pending" => Some(Heard::NotYet),
            Request::Revoke { .. } => Some(Heard::Ended),
            _ => Some(Heard::Granted),
        }
    }

    /// The handoff code that it sends a browser home with.
    pub(crate) fn code(&self) -> Option<String> {
        self.parameter("code")
    }

    /// What the address that it sends a browser to says of `name`.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&self.location).ok()?;
        let (_, value) = url.query_pairs().find(|(its, _)| its == name)?;
        Some(value.into_owned())
    }

    /// The body, which has to be JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// By which name the broker's log knows the exchange; nothing if it is not the
    /// broker who answers, for it names each of its answers.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")?.to_str().ok()
    }

    /// A text member of the body; empty if there is none.
    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_default().to_owned()
    }
}

impl Client {
    pub(crate) fn new() -> Result<Self, Failure> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            // Nothing here may be sent twice by anybody but us.
            .retry(reqwest::retry::never())
            .timeout(PATIENCE)
            .no_proxy()
            .tls_certs_only([])
            .build()?;
        Ok(Self(client))
    }

    /// Sends `request` to `broker`, a URL without a trailing slash.
    pub(crate) async fn send(&self, broker: &str, request: &Request) -> Reply {
        match self.ask(self.request(broker, request)).await {
            Ok(answer) if !answer.is_of_a_store_in_trouble() => Reply::Answered(Box::new(answer)),
            _ => Reply::Lost,
        }
    }

    /// Sends `request` and reads the answer to its end, whoever gives it.
    pub(crate) async fn ask(&self, request: RequestBuilder) -> reqwest::Result<Answer> {
        let request = request.build()?;
        let asked = (request.method().clone(), request.url().path().to_owned());
        read(asked, self.0.execute(request).await?).await
    }

    /// A request that is none of [`Request`].
    pub(crate) fn other(&self, method: Method, url: &str) -> RequestBuilder {
        self.0.request(method, url)
    }

    /// Whether the broker could take a step now.
    pub(crate) async fn is_ready(&self, broker: &str) -> bool {
        let reply = self.ask(self.0.get(format!("{broker}/readyz"))).await;
        reply.is_ok_and(|answer| answer.status == 200)
    }

    /// `request`, as `broker` gets it.
    pub(crate) fn request(&self, broker: &str, request: &Request) -> RequestBuilder {
        match request {
            Request::Open { key, provider } => {
                let more = json!({ "session_key": key, "provider": provider });
                self.post(broker, "/v1/login/session", more)
            }
            Request::Result { key } => {
                let more = json!({ "session_key": key });
                self.post(broker, "/v1/login/result", more)
            }
            Request::Redeem { kept, code } => {
                let more = json!({
                    "grant_type": "authorization_code",
                    "code": code,
                    "code_verifier": kept.verifier,
                });
                self.post(broker, "/v1/token", more)
            }
            Request::Profile { token } => {
                let request = self.0.get(format!("{broker}/v1/profile"));
                request.bearer_auth(token)
            }
            Request::Revoke { token } => {
                let request = self.0.post(format!("{broker}/v1/revoke"));
                request.bearer_auth(token)
            }
            Request::Visit { url, cookies } => self.visit(broker, url, cookies),
        }
    }

    /// A call of the backend: its credentials, its callback, and `more`.
    fn post(&self, broker: &str, path: &str, mut more: Value) -> RequestBuilder {
        more["client_id"] = CLIENT_ID.into();
        more["client_secret"] = CLIENT_SECRET.into();
        more["redirect_uri"] = CALLBACK.into();
        self.0.post(format!("{broker}{path}")).json(&more)
    }

    /// A browser that was sent to `url`; what is at the brokers is asked of `broker`.
    fn visit(&self, broker: &str, url: &str, cookies: &str) -> RequestBuilder {
        let url = url.replacen(BASE_URL, broker, 1);
        self.0
            .get(url)
            .header(ACCEPT, "text/html")
            .header("Sec-Fetch-Site", "cross-site")
            .header("Sec-Fetch-Mode", "navigate")
            .header("Sec-Fetch-Dest", "document")
            .header(REFERER, CALLBACK)
            .header(COOKIE, cookies)
    }
}

impl Request {
    /// A browser's visit, with what it was given before.
    pub(crate) fn visit(url: &str, cookies: &str) -> Self {
        Self::Visit {
            url: url.to_owned(),
            cookies: cookies.to_owned(),
        }
    }

    /// The same visit in another browser; any other request as it is.
    pub(crate) fn with_cookies(&self, cookies: &str) -> Self {
        match self {
            Self::Visit { url, .. } => Self::visit(url, cookies),
            other => other.clone(),
        }
    }
}

impl Transaction {
    /// A fresh one.
    pub(crate) fn fresh(chance: &mut Chance) -> Self {
        Self {
            state: chance.secret(),
            verifier: chance.secret(),
        }
    }

    /// Where a legacy login begins.
    pub(crate) fn authorize_url(&self, provider: &str) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", CLIENT_ID)
            .append_pair("redirect_uri", CALLBACK)
            .append_pair("provider", provider)
            .append_pair("state", &self.state)
            .append_pair("code_challenge", &digest(&self.verifier))
            .append_pair("code_challenge_method", "S256")
            .finish();
        format!("{BASE_URL}/authorize?{query}")
    }
}

/// What a browser that was sent to a provider comes back with.
pub(crate) async fn at_provider(client: &Client, departure: &Answer) -> Result<Request, Failure> {
    let leave = Request::visit(&departure.location, "");
    match client.send("", &leave).await {
        Reply::Answered(answer) => Ok(Request::visit(&answer.location, &departure.cookies)),
        Reply::Lost => Err("an imitated provider did not answer".into()),
    }
}

async fn read(asked: (Method, String), response: reqwest::Response) -> reqwest::Result<Answer> {
    let headers = response.headers().clone();
    let text = |name| {
        let values = headers.get_all(name).iter();
        let texts: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
        texts
    };
    Ok(Answer {
        asked,
        status: response.status().as_u16(),
        location: where_a_browser_goes(text(LOCATION).join("")),
        cookies: cookie_pairs(&text(SET_COOKIE)),
        body: response.text().await?,
        headers,
    })
}

/// The address at which a browser arrives that is sent to `location`: an empty fragment
/// leaves nothing behind, and the broker's own address that ends one leads on to the
/// callback.
fn where_a_browser_goes(location: String) -> String {
    let over_return = url::Url::parse(&location).is_ok_and(|url| {
        let callback = ("redirect_uri".into(), CALLBACK.into());
        url.path() == "/return" && url.query_pairs().any(|pair| pair == callback)
    });
    match location.strip_suffix('#') {
        Some(_) if over_return => CALLBACK.to_owned(),
        Some(bare) => bare.to_owned(),
        None => location,
    }
}

/// What a browser would send back of the cookies that it was given.
fn cookie_pairs(given: &[&str]) -> String {
    let pairs: Vec<_> = given
        .iter()
        .filter(|cookie| !cookie.contains("Max-Age=0"))
        .filter_map(|cookie| cookie.split(';').next())
        .collect();
    pairs.join("; ")
}
