//! The requests of a consumer's backend and of its users' browsers, raw; what is read of a
//! response, and the model's answer that it stands for. Any request may go to any broker of
//! a cluster.

use std::sync::LazyLock;
use std::time::Duration;

use agent::backend::{self, Backend};
use agent::browser::{CookieJar, Visit};
use agent::http::{self, HttpError, Reach};
use agent::url::parameter;
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use testkit::openapi;
use url::Url;

use crate::RunError;
use checker::history::{Outcome, User};
use checker::model::{Answer, Step};

/// The public address of the brokers; nothing listens there.
pub const BASE_URL: &str = "http://127.0.0.1:9";
/// The callback that browsers are sent to, on another site; nothing listens there either.
pub const CALLBACK: &str = "http://localhost:9/home";
/// Another callback of every project, to which no login comes home.
pub const SECOND_CALLBACK: &str = "http://localhost:9/second";
/// A callback of no project.
pub const UNREGISTERED: &str = "http://localhost:9/unregistered";
pub(crate) const CLIENT_ID: &str = "consumer";
/// It begins with the mark that the leak check looks for.
pub(crate) const CLIENT_SECRET: &str = "LeakMark of the consumer";

pub(crate) const OTHER_ID: &str = "other";
pub(crate) const OTHER_SECRET: &str = "LeakMark of the other one";

/// Longer than a broker takes to answer that it is unavailable.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The longest answer that is read.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The backend of the consumer.
pub(crate) static CONSUMER: LazyLock<Backend> = LazyLock::new(|| backend(CLIENT_ID, CLIENT_SECRET));
/// Another, with the same callback: that must not be what distinguishes them alone.
pub(crate) static OTHER: LazyLock<Backend> = LazyLock::new(|| backend(OTHER_ID, OTHER_SECRET));

fn backend(client_id: &str, client_secret: &str) -> Backend {
    Backend {
        client_id: client_id.to_owned(),
        client_secret: client_secret.to_owned(),
        callback: CALLBACK.to_owned(),
    }
}

/// One HTTP client for backends and browsers alike; cookies are arguments.
#[derive(Clone)]
pub struct Client(reqwest::Client);

/// A request to a broker, or of a browser to any server.
#[derive(Debug, Clone)]
pub enum Request {
    /// The consumer's backend calls.
    Backend(backend::Call),
    /// A browser navigates, with its cookies.
    Browser(Box<Visit>, CookieJar),
}

impl Client {
    /// A client that follows no redirect and sends nothing twice.
    pub fn new() -> Result<Self, RunError> {
        let client = http::builder(Reach::Loopback).timeout(TIMEOUT);
        Ok(Self(client.tls_certs_only([]).build()?))
    }

    /// Sends `request` to `broker` and reads the response to its end; none, if there
    /// was none of any server.
    pub async fn send(&self, broker: &str, request: &Request) -> Option<Response> {
        let request = match request {
            Request::Backend(call) => call.request(&self.0, broker),
            Request::Browser(visit, jar) => {
                let url = visit.address().replacen(BASE_URL, broker, 1);
                visit.request(&self.0, &url, visit.headers(jar))
            }
        };
        self.execute(request).await.ok()
    }

    /// Sends a request that is not one of [`Request`].
    pub(crate) async fn execute(&self, request: RequestBuilder) -> Result<Response, HttpError> {
        let (client, request) = request.build_split();
        let request = request?;
        let asked = (request.method().clone(), request.url().path().to_owned());
        let request = RequestBuilder::from_parts(client, request);
        let response = http::send(request, MAX_BODY_BYTES).await?;
        Ok(Response::new(asked, response))
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
}

impl Request {
    /// A link on the consumer's page, in a browser with these cookies.
    pub(crate) fn navigate(url: &str, cookies: &CookieJar) -> Self {
        Self::Browser(
            Box::new(typed(url).by_page_of(&parsed(CALLBACK))),
            cookies.clone(),
        )
    }

    /// A typed address, or a link in another application.
    pub(crate) fn typed(url: &str, cookies: &CookieJar) -> Self {
        Self::Browser(Box::new(typed(url)), cookies.clone())
    }

    /// An address that a client fetches which is no browser, and has cookies.
    pub(crate) fn fetch(url: &str, cookies: &CookieJar) -> Self {
        let without = |visit: Visit, header| visit.with_header(header, "");
        let visit = OF_BROWSERS.into_iter().fold(typed(url), without);
        Self::Browser(Box::new(visit), cookies.clone())
    }

    /// A button on a page of the broker.
    pub(crate) fn press(url: &str, cookies: &CookieJar) -> Self {
        let visit = typed(url).by_page_of(&base_url()).with_method(Method::POST);
        Self::Browser(Box::new(visit), cookies.clone())
    }
}

/// The headers that browsers send without being asked.
const OF_BROWSERS: [&str; 5] = [
    "accept",
    "sec-fetch-site",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-user",
];

fn typed(url: &str) -> Visit {
    Visit::written(url).expect("a broker and its providers name addresses")
}

/// [`BASE_URL`], to which cookies belong.
pub(crate) fn base_url() -> Url {
    parsed(BASE_URL)
}

fn parsed(url: &str) -> Url {
    Url::parse(url).expect("an address of this file")
}

/// A response, read to its end.
#[derive(Debug, Clone)]
pub struct Response {
    /// The method and the path of the request.
    pub(crate) asked: (Method, String),
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The address of the browser's last page.
    pub location: String,
    /// The body.
    pub body: String,
}

impl Response {
    fn new(asked: (Method, String), response: http::Response) -> Self {
        Self {
            asked,
            status: response.status,
            location: where_a_browser_arrives(response.location().unwrap_or_default()),
            body: response.text(),
            headers: response.headers,
        }
    }

    /// The outcome of `step` that this response shows.
    pub(crate) fn outcome(&self, step: Step) -> Outcome {
        if let Some(error) = self.contract_violation() {
            return self.unexpected(&error);
        }
        let answer = match (step, self.status) {
            (_, 503) => return Outcome::Unavailable,
            (Step::Start { .. }, 200) => Some(Answer::Started),
            (Step::Read { .. }, 200) => self.result(),
            (Step::Redeem { .. }, 200) => Some(Answer::Token),
            (Step::Profile { .. }, 200) => Some(Answer::Profile(user(&self.json()))),
            (Step::Revoke { .. }, 200) => Some(Answer::Revoked),
            (Step::Start { .. } | Step::Read { .. } | Step::Redeem { .. }, 400) => {
                Some(Answer::Refused)
            }
            (Step::Start { .. } | Step::Redeem { .. } | Step::Profile { .. }, 401) => {
                Some(Answer::Unrecognised)
            }
            (step, status) if step.by().is_some() => self.page(status),
            _ => None,
        };
        answer.map_or_else(|| self.unexpected("no answer to that"), Outcome::Answered)
    }

    /// A violation of the published contract.
    pub fn contract_violation(&self) -> Option<String> {
        let (method, path) = &self.asked;
        match self.status {
            500 => Some("a fault of the broker".to_owned()),
            _ => openapi::check(method, path, &self.as_tested()).err(),
        }
    }

    /// The same response for the checks that all suites share.
    pub fn as_tested(&self) -> testkit::http::Response {
        testkit::http::Response {
            status: self.status,
            headers: self.headers.clone(),
            body: self.body.as_bytes().to_vec(),
        }
    }

    /// The operation, the status and what is wrong with them, without secrets.
    pub(crate) fn unexpected(&self, error: &str) -> Outcome {
        let (method, path) = &self.asked;
        let operation = path.rsplit_once("/login/").map_or(&**path, |_| "/login/…");
        Outcome::Unexpected(format!(
            "{method} {operation} answered {}: {error}",
            self.status
        ))
    }

    /// Whether it takes the browser to a provider.
    pub(crate) fn leads_to_provider(&self) -> bool {
        self.status == 303 && self.redirect() == Some(Answer::ToProvider)
    }

    /// The handoff code that it takes to the callback.
    pub fn code(&self) -> Option<String> {
        parameter(&self.location, "code")
    }

    /// The body as JSON; null, if it is something else.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// A text member of the body; empty if there is none.
    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_default().to_owned()
    }

    /// The id of the request in the broker's log. Only a broker names its responses; one
    /// without an id is another server's.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")?.to_str().ok()
    }

    fn result(&self) -> Option<Answer<User>> {
        let result = self.json();
        match result["status"].as_str()? {
            "pending" => Some(Answer::Pending),
            "succeeded" => Some(Answer::Succeeded(user(&result["profile"]))),
            "failed" => self.text("error").parse().ok().map(Answer::Failed),
            _ => None,
        }
    }

    fn page(&self, status: u16) -> Option<Answer<User>> {
        match status {
            200 if self.body.contains("/continue\"") => Some(Answer::ConfirmationPage),
            303 => self.redirect(),
            400 => Some(Answer::Refused),
            404 => Some(Answer::NotKnown),
            410 => Some(Answer::AnotherBrowser),
            _ => None,
        }
    }

    fn redirect(&self) -> Option<Answer<User>> {
        match self.location.strip_prefix(CALLBACK) {
            None if self.location.starts_with(BASE_URL) => None,
            None => Some(Answer::ToProvider),
            Some("") => Some(Answer::ToCallback),
            Some(_) if self.code().is_some() => Some(Answer::CallbackWithCode),
            Some(_) => {
                let failure = parameter(&self.location, "error")?.parse().ok()?;
                Some(Answer::CallbackWithError(failure))
            }
        }
    }
}

/// The user whom a profile shows.
fn user(profile: &Value) -> User {
    let text = |member: &str| profile[member].as_str().unwrap_or_default().to_owned();
    User {
        provider: text("provider"),
        id: text("providerSubject"),
        subject: text("subject"),
    }
}

/// The address at which a browser arrives that is sent to `location`: an empty fragment
/// leaves nothing behind, and the broker's own address that ends one leads on to the
/// callback.
fn where_a_browser_arrives(location: String) -> String {
    let is_return = Url::parse(&location).is_ok_and(|url| url.path() == "/return");
    let over_return =
        is_return && parameter(&location, "redirect_uri").as_deref() == Some(CALLBACK);
    match location.strip_suffix('#') {
        Some(_) if over_return => CALLBACK.to_owned(),
        Some(bare) => bare.to_owned(),
        None => location,
    }
}
