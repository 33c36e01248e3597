//! The requests of a consumer's backend and of its users' browsers, raw, and what is
//! read of a response. Any request may go to any broker of a cluster.

mod response;

use std::time::Duration;

use reqwest::header::{ACCEPT, COOKIE, ORIGIN, REFERER};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::RunError;
use crate::random::{Random, digest};
pub(crate) use response::Response;

/// The public address of the brokers; nothing listens there.
pub(crate) const BASE_URL: &str = "http://127.0.0.1:9";
/// The callback that browsers are sent to; nothing listens there either.
pub(crate) const CALLBACK: &str = "http://127.0.0.1:9/home";
pub(crate) const CLIENT_ID: &str = "consumer";
/// It begins with the mark that the leak check looks for.
pub(crate) const CLIENT_SECRET: &str = "LeakMark of the consumer";

/// Longer than a broker takes to answer that it is unavailable.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One HTTP client for backends and browsers alike; cookies are arguments.
#[derive(Clone)]
pub(crate) struct Client(reqwest::Client);

/// A request to a broker, or of a browser to any server.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    /// `POST /v1/login/session`
    Open { key: String, provider: &'static str },
    /// A browser follows a link or a redirect.
    Navigate {
        url: String,
        cookies: String,
        origin: Origin,
    },
    /// A browser presses a button of the confirmation page.
    Press { url: String, cookies: String },
    /// `POST /v1/login/result`
    Result { key: String },
    /// `POST /v1/token`
    Redeem {
        transaction: Transaction,
        code: String,
    },
    /// `GET /v1/profile`
    Profile { token: String },
    /// `POST /v1/revoke`
    Revoke { token: String },
}

/// The page from which a navigation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A page of the consumer.
    Consumer,
    /// A typed address, or a link in another application.
    Unknown,
}

/// The secrets that a consumer keeps of a legacy login.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub(crate) state: String,
    pub(crate) verifier: String,
}

impl Client {
    /// A client that follows no redirect and sends nothing twice.
    pub(crate) fn new() -> Result<Self, RunError> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .timeout(TIMEOUT)
            .no_proxy()
            .tls_certs_only([])
            .build()?;
        Ok(Self(client))
    }

    /// Sends `request` to `broker` and reads the response to its end; none, if there
    /// was none of any server.
    pub(crate) async fn send(&self, broker: &str, request: &Request) -> Option<Response> {
        self.execute(self.request(broker, request)).await.ok()
    }

    /// Sends a request that is not one of [`Request`].
    pub(crate) async fn execute(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let request = request.build()?;
        let asked = (request.method().clone(), request.url().path().to_owned());
        Response::read(asked, self.0.execute(request).await?).await
    }

    /// A request that is not one of [`Request`].
    pub(crate) fn other(&self, method: Method, url: &str) -> RequestBuilder {
        self.0.request(method, url)
    }

    /// Whether the broker can take a step now.
    pub(crate) async fn is_ready(&self, broker: &str) -> bool {
        let response = self.execute(self.0.get(format!("{broker}/readyz"))).await;
        response.is_ok_and(|it| it.status == 200)
    }

    fn request(&self, broker: &str, request: &Request) -> RequestBuilder {
        match request {
            Request::Open { key, provider } => {
                let more = json!({ "session_key": key, "provider": provider });
                self.post(broker, "/v1/login/session", more)
            }
            Request::Result { key } => {
                let more = json!({ "session_key": key });
                self.post(broker, "/v1/login/result", more)
            }
            Request::Redeem { transaction, code } => {
                let more = json!({
                    "grant_type": "authorization_code",
                    "code": code,
                    "code_verifier": transaction.verifier,
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
            Request::Navigate {
                url,
                cookies,
                origin,
            } => self.navigate(broker, url, cookies, *origin),
            Request::Press { url, cookies } => self.press(broker, url, cookies),
        }
    }

    /// A call of the backend: its credentials, its callback, and `more`.
    fn post(&self, broker: &str, path: &str, mut more: Value) -> RequestBuilder {
        more["client_id"] = CLIENT_ID.into();
        more["client_secret"] = CLIENT_SECRET.into();
        more["redirect_uri"] = CALLBACK.into();
        self.0.post(format!("{broker}{path}")).json(&more)
    }

    fn navigate(&self, broker: &str, url: &str, cookies: &str, origin: Origin) -> RequestBuilder {
        let request = self
            .0
            .get(url.replacen(BASE_URL, broker, 1))
            .header(ACCEPT, "text/html")
            .header("Sec-Fetch-Mode", "navigate")
            .header("Sec-Fetch-Dest", "document")
            .header(COOKIE, cookies);
        match origin {
            Origin::Consumer => request
                .header("Sec-Fetch-Site", "cross-site")
                .header(REFERER, CALLBACK),
            Origin::Unknown => request.header("Sec-Fetch-Site", "none"),
        }
    }

    fn press(&self, broker: &str, url: &str, cookies: &str) -> RequestBuilder {
        self.0
            .post(url.replacen(BASE_URL, broker, 1))
            .header(ACCEPT, "text/html")
            .header("Sec-Fetch-Mode", "navigate")
            .header("Sec-Fetch-Dest", "document")
            .header("Sec-Fetch-Site", "same-origin")
            .header(ORIGIN, BASE_URL)
            .header(COOKIE, cookies)
    }
}

impl Request {
    /// A navigation from the consumer's page, with the cookies of a browser.
    pub(crate) fn navigate(url: &str, cookies: &str) -> Self {
        Self::Navigate {
            url: url.to_owned(),
            cookies: cookies.to_owned(),
            origin: Origin::Consumer,
        }
    }
}

impl Transaction {
    /// Fresh secrets.
    pub(crate) fn fresh(random: &mut Random) -> Self {
        Self {
            state: random.secret(),
            verifier: random.secret(),
        }
    }

    /// The address at which a legacy login begins.
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
