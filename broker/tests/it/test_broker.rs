//! A broker in this process that serves on a free port, between an imitation of GitHub
//! and a Google that cannot be reached.

mod browser;
mod held_store;
mod http;
mod logins;
mod requests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use broker::audit::{AuditLog, Event, Party};
use broker::clock::Clock;
use broker::config::{Config, UpstreamConfig};
use broker::cookie_cipher::CookieKey;
use broker::projects::{Project, Projects};
use broker::{Broker, Dependencies};
use contract::Digest;
use reqwest::Method;
use rocket::futures::future::join_all;
use serde_json::Value;
use testkit::backend::Backend;
use testkit::http::{Http, Request, Response};
use testkit::server::TestServer;

use crate::upstream::{FakeProvider, github_config, google_config, prepare_github};
pub(crate) use browser::{Browser, back_path, sign_in};
pub(crate) use held_store::HeldStore;
pub(crate) use http::checked_http;
pub(crate) use logins::{ada, adas_profile, authorization_path};
pub(crate) use requests::{
    authorize_path, authorize_query, authorize_with, key, parameter, result_body, session_body,
    state, token_body, verifier, with,
};

/// The base URL of every broker that is not configured otherwise; it listens elsewhere.
pub(crate) const BASE: &str = "http://127.0.0.1:8000";

pub(crate) const ADA_SECRET: &str = "LeakMark-Ada-QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
pub(crate) const BOB_SECRET: &str = "LeakMark-Bob-QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
pub(crate) const CALLBACK: &str = "https://app.example/cb";
pub(crate) const LOCAL_CALLBACK: &str = "http://localhost:3000/cb";
pub(crate) const BOB_CALLBACK: &str = "https://bob.example/cb";

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
        let github = FakeProvider::start().await;
        prepare_github(&github);
        let mut config = Config {
            upstream: UpstreamConfig {
                timeout_ms: 5_000,
                // Port 1 of loopback: closed on any sane machine.
                google: Some(google_config("http://127.0.0.1:1")),
                github: Some(github_config(&github.url())),
                ..UpstreamConfig::default()
            },
            projects: vec![
                project("ada", ADA_SECRET, &[CALLBACK, LOCAL_CALLBACK]),
                project("bob", BOB_SECRET, &[BOB_CALLBACK]),
            ],
            ..Config::in_process(BASE.parse().unwrap())
        };
        change(&mut config);
        let base_url = config.base_url.to_string();
        let events = Arc::<Mutex<Vec<Event>>>::default();
        let recorded = events.clone();
        let audit = AuditLog::new().subscribed(Arc::new(move |event: &Event| {
            recorded.lock().unwrap().push(event.clone());
        }));
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
            backend: requests::ada(checked_http(&base_url, server.address)),
            events,
            server,
        }
    }

    /// A client of this broker.
    pub(crate) fn http(&self) -> &Http {
        &self.backend.http
    }

    /// The base URL that it is configured with.
    pub(crate) fn base_url(&self) -> &str {
        self.backend.broker()
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.address.port()
    }

    /// A browser on a page of the consumer at [`CALLBACK`].
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.http())
    }

    /// A browser on a page of the consumer at [`LOCAL_CALLBACK`].
    pub(crate) fn local_browser(&self) -> Browser {
        self.browser_on("http://localhost:3000/")
    }

    /// A browser on this page.
    pub(crate) fn browser_on(&self, page: &str) -> Browser {
        Browser::on_page(self.http(), page)
    }

    /// A client that keeps cookies, like curl with a cookie jar.
    pub(crate) fn plain_client(&self) -> Browser {
        Browser::plain(self.http())
    }

    /// Advances the clock. It also moves by itself while a test runs, so tests keep a
    /// distance of ten seconds from a limit; the store's own tests are exact to the
    /// millisecond.
    pub(crate) fn advance_ms(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> Request {
        self.http().request(method, path)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.http().get(path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.backend.post(path, body).await
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
