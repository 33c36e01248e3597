//! A broker in this process that serves on a free port, between an imitation of GitHub
//! and a Google that cannot be reached.

mod browser;
mod requests;

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use broker::audit::{AuditLog, Event, Party};
use broker::clock::Clock;
use broker::config::{Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret};
use broker::cookie_cipher::CookieKey;
use broker::projects::{Project, Projects};
use broker::{Broker, Dependencies};
use contract::Digest;
use reqwest::Method;
use rocket::futures::future::join_all;
use serde_json::Value;
use testkit::backend::Backend;
use testkit::http::Response;
use testkit::server::TestServer;

use crate::fake_provider::FakeProvider;
pub(crate) use browser::{Browser, checked_http};
pub(crate) use requests::{
    ADA_SECRET, BASE, BOB_CALLBACK, BOB_SECRET, CALLBACK, LOCAL_CALLBACK, ada, adas_profile,
    authorization_path, authorize_path, authorize_query, authorize_with, back_path, backend, key,
    parameter, query_with, result_body, session_body, state, token_body, verifier, with,
};

/// A running broker with the projects of Ada and Bob. It stops when it is dropped.
pub(crate) struct TestBroker {
    pub(crate) clock: Clock,
    pub(crate) projects: Projects,
    pub(crate) github: FakeProvider,
    /// The path of each route.
    pub(crate) paths: Vec<String>,
    /// Ada's backend.
    backend: Backend,
    events: Arc<Mutex<Vec<Event>>>,
    server: TestServer,
}

impl Deref for TestBroker {
    type Target = Backend;

    fn deref(&self) -> &Backend {
        &self.backend
    }
}

impl Drop for TestBroker {
    /// Every refusal has a rule, in every test.
    fn drop(&mut self) {
        let is_refusal = |event: &&Event| event.status >= Some(400) && event.to == Party::Broker;
        let events = self.events();
        let mut refusals = events.iter().filter(is_refusal);
        let without_rule = refusals.find(|event| event.rule.is_none());
        if !std::thread::panicking() {
            assert!(without_rule.is_none(), "{without_rule:?}");
        }
    }
}

pub(crate) fn project(name: &str, secret: &str, callbacks: &[&str]) -> Project {
    Project::new(
        name.parse().unwrap(),
        format!("prj_{name}").parse().unwrap(),
        Digest::of(secret.as_bytes()),
        callbacks.iter().map(|uri| uri.parse().unwrap()).collect(),
    )
}

/// The broker's client secret at both providers.
pub(crate) const OUR_SECRET: &str = "LeakMark-Ada-at-providers-k2mW9pL4tR8sB3nF6hJ1d";

pub(crate) fn google_config(url: &str) -> GoogleConfig {
    GoogleConfig {
        client_id: "us".to_owned(),
        client_secret: UpstreamSecret::new(OUR_SECRET),
        enabled: true,
        issuer: url.parse().unwrap(),
    }
}

pub(crate) fn github_config(url: &str) -> GitHubConfig {
    GitHubConfig {
        client_id: "us-at-github".to_owned(),
        client_secret: UpstreamSecret::new(OUR_SECRET),
        enabled: true,
        web_url: url.parse().unwrap(),
        api_url: url.parse().unwrap(),
    }
}

/// The configuration of a broker with these providers and the projects of Ada and Bob.
pub(crate) fn config(google: &str, github: &str) -> Config {
    Config {
        upstream: UpstreamConfig {
            timeout_ms: 5_000,
            google: Some(google_config(google)),
            github: Some(github_config(github)),
            ..UpstreamConfig::default()
        },
        projects: vec![
            project("ada", ADA_SECRET, &[CALLBACK, LOCAL_CALLBACK]),
            project("bob", BOB_SECRET, &[BOB_CALLBACK]),
        ],
        ..Config::in_process(BASE.parse().unwrap())
    }
}

/// An audit log, and the events that are appended to it.
pub(crate) fn recorded() -> (AuditLog, Arc<Mutex<Vec<Event>>>) {
    let events = Arc::<Mutex<Vec<Event>>>::default();
    let recorded = events.clone();
    let append = move |event: &Event| recorded.lock().unwrap().push(event.clone());
    (AuditLog::new().subscribed(Arc::new(append)), events)
}

impl TestBroker {
    /// Starts a broker in memory with two projects and both providers.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// Starts one with a changed configuration.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_on(Clock::system(), change).await
    }

    /// Starts one whose base URL is HTTPS.
    pub(crate) async fn start_https() -> Self {
        Self::start_with(|config| {
            config.base_url = "https://broker.example".parse().unwrap();
            config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
        })
        .await
    }

    /// Starts one with this clock.
    pub(crate) async fn start_on(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let dependencies = Dependencies {
            clock,
            ..Dependencies::default()
        };
        Self::start_in(dependencies, change).await
    }

    /// Starts one with these dependencies, except for projects and audit log.
    pub(crate) async fn start_in(
        dependencies: Dependencies,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        testkit::leak_check::watch_log();
        let github = FakeProvider::start_github().await;
        // Port 1 of loopback: closed on any sane machine.
        let mut config = config("http://127.0.0.1:1", &github.url());
        change(&mut config);
        let base_url = config.base_url.to_string();
        let (audit, events) = recorded();
        let projects = Projects::default();
        let clock = dependencies.clock.clone();
        let dependencies = Dependencies {
            projects: projects.clone(),
            audit,
            ..dependencies
        };
        let rocket = Broker::assemble(config, dependencies).unwrap().rocket();
        let paths = rocket.routes().filter(|route| is_own(route));
        let paths = paths.map(|route| route.uri.to_string()).collect();
        let server = TestServer::launch(rocket).await;
        Self {
            clock,
            projects,
            github,
            paths,
            backend: backend(checked_http(&base_url, server.address)),
            events,
            server,
        }
    }

    /// A browser on a page of the consumer at [`CALLBACK`].
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(&self.http)
    }

    /// A browser on a page of the consumer at [`LOCAL_CALLBACK`].
    pub(crate) fn local_browser(&self) -> Browser {
        self.browser_on("http://localhost:3000/")
    }

    /// A browser on this page.
    pub(crate) fn browser_on(&self, page: &str) -> Browser {
        Browser::on_page(&self.http, page)
    }

    /// A client that keeps cookies, like curl with a cookie jar.
    pub(crate) fn plain_client(&self) -> Browser {
        Browser::plain(&self.http)
    }

    /// Advances the clock. It also moves by itself while a test runs, so tests keep a
    /// distance of ten seconds from a limit; the store's own tests are exact to the
    /// millisecond.
    pub(crate) fn advance_ms(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.http.get(path).send().await
    }

    /// Sends a request with these headers and no others.
    pub(crate) async fn send<V: AsRef<[u8]>>(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, V)],
    ) -> Response {
        let mut request = self.request(method, path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.send().await
    }

    /// Posts a body, and asserts the status and the rule of its refusal.
    pub(crate) async fn refuses(&self, path: &str, body: &Value, status: u16, rule: &str) {
        let response = self.post(path, body).await;
        self.has_refused(&response, status, rule);
    }

    /// Asserts that the last operation was refused, by this rule.
    #[track_caller]
    pub(crate) fn has_refused(&self, response: &Response, status: u16, rule: &str) {
        assert_eq!(self.last_rule(), Some(rule), "{response:?}");
        response.is_refusal(status);
    }

    /// The rule by which the last operation was refused.
    pub(crate) fn last_rule(&self) -> Option<&'static str> {
        let last = self.events().pop().unwrap();
        last.rule.map(contract::Rule::id)
    }

    /// The audit events except for the redirects over `/return`, which belong to no
    /// login and have tests of their own.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = self.every_event();
        events.retain(|event| event.operation != "GET /return");
        events
    }

    pub(crate) fn every_event(&self) -> Vec<Event> {
        let events = self.events.lock();
        events.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Leaves Ada with these callbacks alone.
    pub(crate) fn set_adas_callbacks(&self, callbacks: &[&str]) {
        let ada = project("ada", ADA_SECRET, callbacks);
        self.projects.register(ada);
    }

    /// The number of calls that GitHub has received.
    pub(crate) fn calls_upstream(&self) -> usize {
        self.github.calls().len()
    }
}

/// The steps of a login by Ada's backend and browser.
impl TestBroker {
    /// Starts Ada's login with key `n`, and returns the path of its URL.
    pub(crate) async fn session(&self, n: u8) -> String {
        self.session_with(&session_body(n)).await
    }

    /// Starts a login, and returns the path of its URL.
    pub(crate) async fn session_with(&self, body: &Value) -> String {
        let response = self.post("/v1/login/session", body).await;
        authorization_path(&response, self.http.base_url())
    }

    /// Starts the login with key 1 whose callback is local, and returns the path of its URL.
    pub(crate) async fn local_session(&self) -> String {
        let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
        self.session_with(&body).await
    }

    /// A browser at the provider in the login with key `n`, and the path by which it comes
    /// back.
    pub(crate) async fn at_provider(&self, n: u8) -> (Browser, String) {
        let (browser, path) = (self.browser(), self.session(n).await);
        let back = browser.to_provider(&path).await;
        (browser, back)
    }

    /// A browser at the provider in a legacy login, and the path by which it comes back.
    pub(crate) async fn at_provider_in_legacy(&self) -> (Browser, String) {
        let browser = self.browser();
        let back = browser.to_provider(&authorize_path()).await;
        (browser, back)
    }

    /// Asserts that the login with key `n` is pending, or has this end.
    pub(crate) async fn has_status(&self, n: u8, status: &str) {
        assert_eq!(self.result(n).await.json()["status"], status);
    }

    /// Reads the result of the login with key `n`.
    pub(crate) async fn result(&self, n: u8) -> Response {
        self.backend.result(&key(n)).await
    }

    /// Completes a legacy login, and returns the code from its callback.
    pub(crate) async fn code(&self) -> String {
        let (browser, back) = self.at_provider_in_legacy().await;
        let callback = browser.get(&back).await;
        assert_eq!(callback.status, 303, "{callback:?}");
        parameter(callback.location().unwrap(), "code").unwrap()
    }

    pub(crate) async fn token(&self, code: &str) -> Response {
        self.post("/v1/token", &token_body(code)).await
    }

    /// Completes a legacy login, and returns its access token.
    pub(crate) async fn access_token(&self) -> String {
        self.redeem(&self.code().await).await
    }

    /// Redeems a code, and returns its access token.
    pub(crate) async fn redeem(&self, code: &str) -> String {
        let response = self.token(code).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["access_token"].as_str().unwrap().to_owned()
    }

    /// Signs Ada in through the clean flow, with key `n`. Returns the last redirect.
    pub(crate) async fn sign_in(&self, n: u8) -> Response {
        let (browser, back) = self.at_provider(n).await;
        browser.get(&back).await
    }
}

/// Requests in bytes.
impl TestBroker {
    /// Sends bytes that no client library would send, and reads until the broker closes
    /// the connection.
    pub(crate) async fn send_bytes(&self, bytes: impl AsRef<[u8]>) -> Response {
        let response = requests::exchange(self.server.address, bytes.as_ref()).await;
        browser::check_headers(&response);
        response
    }

    /// Sends a request of these parts, byte for byte. Each header ends its line.
    pub(crate) async fn send_raw(&self, method: &str, target: &str, headers: &str) -> Response {
        self.send_raw_body(method, target, headers, "").await
    }

    /// The same with a body, whose length or transfer coding is in a header.
    pub(crate) async fn send_raw_body(
        &self,
        method: &str,
        target: &str,
        headers: &str,
        body: &str,
    ) -> Response {
        let start = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        self.send_bytes(format!("{start}{headers}\r\n{body}")).await
    }
}

/// Whether it is no route that only refuses wrong methods.
fn is_own(route: &rocket::Route) -> bool {
    let name = route.name.as_deref();
    name.is_some_and(|name| name != "wrong method")
}

/// Calls `call` `times` times at once.
pub(crate) async fn all<F: Future<Output = Response>>(
    times: usize,
    mut call: impl FnMut() -> F,
) -> Vec<Response> {
    join_all((0..times).map(|_| call())).await
}
