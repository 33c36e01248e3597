//! A stack of a test's own, with a project of the test's own.

use std::ops::Deref;
use std::time::Duration;

use mock_upstream::{Misbehaviour, Next, Provider, Upstream, User};
use reqwest::Method;
use serde_json::{Value, json};
use stack::{Stack, StackSettings};
use testkit::backend::{Backend, CleanLogin, LegacyLogin};
use testkit::browser::{Browser, NavigationEnd, UNSERVED};
use testkit::http::{Http, Response};
use testkit::leak_check::log;
use testkit::login::{Flow, Outcome, StartedLogin, callback_code};

/// A running stack, and the backend of one project of its broker.
pub(crate) struct TestStack {
    stack: Stack,
    /// Its callback is at an origin where no server listens.
    pub(crate) backend: Backend,
}

impl Deref for TestStack {
    type Target = Stack;

    fn deref(&self) -> &Stack {
        &self.stack
    }
}

impl TestStack {
    pub(crate) async fn start() -> Self {
        Self::start_with(StackSettings::for_tests()).await
    }

    pub(crate) async fn start_with(settings: StackSettings) -> Self {
        log::listen();
        let stack = Stack::start(settings).await.expect("free ports");
        let backend = register(&stack, "A test's app", &format!("{UNSERVED}/came/back")).await;
        Self { stack, backend }
    }

    /// The backend of one more project.
    pub(crate) async fn other_project(&self, name: &str) -> Backend {
        register(self, name, &format!("{UNSERVED}/other/back")).await
    }

    /// The broker's base URL.
    pub(crate) fn broker(&self) -> &str {
        &self.urls().broker
    }

    /// The URL of a path at the demo.
    pub(crate) fn demo(&self, path: &str) -> String {
        format!("{}{path}", self.urls().consumer)
    }

    pub(crate) fn provider(&self, provider: &str) -> &Upstream {
        let provider: Provider = provider.parse().expect("one of the two");
        self.upstream().provider(provider)
    }

    /// Makes `user` the next to sign in.
    pub(crate) fn queue_user(&self, provider: &str, user: &User) {
        let next = Next::User(user.clone());
        self.provider(provider).queue(next).expect("a valid user");
    }

    /// Makes the next sign-in go wrong.
    pub(crate) fn queue_misbehaviour(&self, provider: &str, misbehaviour: Misbehaviour) {
        let next = Next::Misbehave(misbehaviour);
        self.provider(provider).queue(next).expect("one of its own");
    }

    /// The number of times that the broker exchanged, or tried to exchange, a
    /// provider's code.
    pub(crate) fn token_calls(&self, provider: &str) -> usize {
        let journal = self.provider(provider).journal();
        journal
            .iter()
            .filter(|entry| entry.method == "POST" && entry.path.contains("token"))
            .count()
    }

    pub(crate) fn advance_seconds(&self, seconds: u64) {
        self.clock().advance(Duration::from_secs(seconds));
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock().now_ms()
    }

    /// A whole login, in a browser of its own.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        sign_in(&self.backend, flow, provider).await
    }

    /// A clean login that has succeeded, and whose result is not read.
    pub(crate) async fn completed_login(&self, provider: &str) -> CleanLogin {
        let login = self.backend.start_login(provider).await;
        let end = Browser::new().follow(&login.authorization_url).await;
        assert_eq!(end.url, self.backend.callback);
        login
    }

    /// A legacy login whose code is not redeemed.
    pub(crate) async fn unredeemed_code(&self, provider: &str) -> (LegacyLogin, String) {
        let transaction = self.backend.start_authorization(provider);
        let end = Browser::new().follow(&transaction.url).await;
        let code = callback_code(&self.backend, &transaction, &end.url);
        (transaction, code)
    }

    /// A login whose browser holds the provider's answer and has not delivered it.
    pub(crate) async fn halfway(&self, flow: Flow, provider: &str) -> Halfway {
        let login = flow.start(&self.backend, provider).await;
        let browser = Browser::new();
        let callback = self.broker_callback(provider);
        let end = browser.follow_until(login.url(), &callback).await;
        assert!(end.url.starts_with(&callback), "{}", end.url);
        Halfway {
            browser,
            login,
            answer: end.url,
        }
    }

    /// The broker's callback for `provider`.
    pub(crate) fn broker_callback(&self, provider: &str) -> String {
        format!("{}/callback/{provider}", self.broker())
    }

    /// Calls the control API.
    pub(crate) async fn control(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Response {
        control(self, method, path, body).await
    }
}

/// A login whose browser has been at the provider and holds its answer: the next
/// address is the broker's callback.
pub(crate) struct Halfway {
    pub(crate) browser: Browser,
    pub(crate) login: StartedLogin,
    /// The broker's callback with the provider's answer.
    pub(crate) answer: String,
}

impl Halfway {
    /// Delivers another answer, and reads the outcome.
    pub(crate) async fn finish_with(&self, backend: &Backend, answer: &str) -> Outcome {
        let end = self.deliver(answer).await;
        self.login.outcome(backend, &end.url).await
    }

    /// Opens `url` in this login's browser.
    pub(crate) async fn deliver(&self, url: &str) -> NavigationEnd {
        self.browser.follow(url).await
    }
}

/// A whole login of a backend, in a browser of its own.
pub(crate) async fn sign_in(backend: &Backend, flow: Flow, provider: &str) -> Outcome {
    let login = flow.start(backend, provider).await;
    let end = Browser::new().follow(login.url()).await;
    login.outcome(backend, &end.url).await
}

async fn register(stack: &Stack, name: &str, callback: &str) -> Backend {
    let project = json!({ "name": name, "redirect_uris": [callback] });
    let response = control(stack, Method::POST, "/api/projects", Some(project)).await;
    assert_eq!(response.status, 201, "{response:?}");
    Backend::of(&stack.urls().broker, &response.json())
}

async fn control(stack: &Stack, method: Method, path: &str, body: Option<Value>) -> Response {
    let request = Http::at(&stack.urls().control).request(method, path);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    request.send().await
}
