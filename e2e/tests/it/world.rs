//! A stack of a test's own, with a project of the test's own.

use std::time::Duration;

use mock_upstream::{Misbehaviour, Next, Provider, Upstream, User};
use reqwest::Method;
use serde_json::{Value, json};
use stack::{Settings, Stack, StackClock};

use crate::login::{Flow, Outcome, Ticket};
use crate::logs;
use testkit::backend::{Backend, Login, Transaction};
use testkit::browser::{Arrival, Browser, UNSERVED};
use testkit::http::Http;
use testkit::http::Response;

pub(crate) struct World {
    pub(crate) stack: Stack,
    /// Whose callback is where nobody listens.
    pub(crate) backend: Backend,
}

/// A login whose browser has been at the provider and holds its answer: the
/// next address is the broker's callback.
pub(crate) struct Halfway {
    pub(crate) browser: Browser,
    pub(crate) ticket: Ticket,
    /// The provider's answer.
    pub(crate) answer: String,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::for_tests()).await
    }

    /// A world that lives by this clock.
    pub(crate) async fn by(clock: StackClock) -> Self {
        Self::start_with(Settings {
            clock,
            ..Settings::for_tests()
        })
        .await
    }

    pub(crate) async fn start_with(settings: Settings) -> Self {
        logs::listen();
        let stack = Stack::start(settings).await.expect("free ports");
        let backend = register(&stack, "A test's app", &format!("{UNSERVED}/came/back")).await;
        Self { stack, backend }
    }

    /// The backend of one more project.
    pub(crate) async fn other_project(&self, name: &str) -> Backend {
        register(&self.stack, name, &format!("{UNSERVED}/other/back")).await
    }

    pub(crate) fn broker(&self) -> &str {
        &self.stack.urls().broker
    }

    pub(crate) fn demo(&self, path: &str) -> String {
        format!("{}{path}", self.stack.urls().consumer)
    }

    pub(crate) fn upstream(&self, provider: &str) -> &Upstream {
        let provider: Provider = provider.parse().expect("one of the two");
        self.stack.upstream().provider(provider)
    }

    /// Lets `person` be the next to sign in.
    pub(crate) fn next_is(&self, provider: &str, person: &User) {
        let next = Next::User(person.clone());
        self.upstream(provider)
            .queue(next)
            .expect("a possible person");
    }

    /// Lets the next sign-in go wrong.
    pub(crate) fn next_goes_wrong(&self, provider: &str, misbehaviour: Misbehaviour) {
        let next = Next::Misbehave(misbehaviour);
        self.upstream(provider).queue(next).expect("one of its own");
    }

    /// How often the broker exchanged, or tried to exchange, a provider's code.
    pub(crate) fn token_calls(&self, provider: &str) -> usize {
        let journal = self.upstream(provider).journal();
        journal
            .iter()
            .filter(|entry| entry.method == "POST" && entry.path.contains("token"))
            .count()
    }

    pub(crate) fn advance_seconds(&self, seconds: u64) {
        self.stack.clock().advance(Duration::from_secs(seconds));
    }

    /// Moves the clock to `ms`, which must lie ahead.
    pub(crate) fn advance_to(&self, ms: i64) {
        let ahead = u64::try_from(ms - self.now_ms()).expect("a time ahead");
        self.stack.clock().advance(Duration::from_millis(ahead));
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.stack.clock().now_ms()
    }

    /// A whole login by `flow`, in a browser of its own.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let ticket = flow.start(&self.backend, provider).await;
        let arrival = Browser::new().follow(ticket.url()).await;
        ticket.outcome(&self.backend, &arrival.url).await
    }

    /// A clean login whose outcome nobody has read.
    pub(crate) async fn settled(&self, provider: &str) -> Login {
        let login = self.backend.start_login(provider).await;
        let arrival = Browser::new().follow(&login.authorization_url).await;
        assert_eq!(arrival.url, self.backend.callback);
        login
    }

    /// A legacy login whose code nobody has redeemed.
    pub(crate) async fn with_code(&self, provider: &str) -> (Transaction, String) {
        let transaction = self.backend.start_authorization(provider);
        let arrival = Browser::new().follow(&transaction.url).await;
        let code = crate::login::code_in(&self.backend, &transaction, &arrival.url);
        (transaction, code)
    }

    /// A login whose browser holds the provider's answer and has not delivered it.
    pub(crate) async fn halfway(&self, flow: Flow, provider: &str) -> Halfway {
        let ticket = flow.start(&self.backend, provider).await;
        let browser = Browser::new();
        let callback = self.broker_callback(provider);
        let arrival = browser.follow_until(ticket.url(), &callback).await;
        assert!(arrival.url.starts_with(&callback), "{}", arrival.url);
        Halfway {
            browser,
            ticket,
            answer: arrival.url,
        }
    }

    /// Where `provider` sends browsers back to.
    pub(crate) fn broker_callback(&self, provider: &str) -> String {
        format!("{}/callback/{provider}", self.broker())
    }

    /// A call of the control address.
    pub(crate) async fn control(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Response {
        control(&self.stack, method, path, body).await
    }
}

impl Halfway {
    /// Delivers the provider's answer in the browser that fetched it, and reads
    /// how the login ended.
    pub(crate) async fn finish(&self, backend: &Backend) -> Outcome {
        let arrival = self.deliver(&self.answer).await;
        self.ticket.outcome(backend, &arrival.url).await
    }

    /// Goes to `url` in this login's browser.
    pub(crate) async fn deliver(&self, url: &str) -> Arrival {
        self.browser.follow(url).await
    }
}

async fn register(stack: &Stack, name: &str, callback: &str) -> Backend {
    let project = json!({ "name": name, "redirect_uris": [callback] });
    let response = control(stack, Method::POST, "/api/projects", Some(project)).await;
    assert_eq!(response.status, 201, "{}", response.text());
    Backend::of(&stack.urls().broker, &response.json())
}

async fn control(stack: &Stack, method: Method, path: &str, body: Option<Value>) -> Response {
    let url = format!("{}{path}", stack.urls().control);
    let request = Http::new().request(method, url);
    match body {
        Some(body) => request.json(&body),
        None => request,
    }
    .send()
    .await
}
