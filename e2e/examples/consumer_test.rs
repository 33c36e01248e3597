//! A consumer of the Federated Sign-In Service, and the tests that it must pass.
//!
//! `cargo test -p e2e --test consumer_test`: the stack runs in the test's own
//! process, one for each test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod consumer;

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;

use mock_upstream::{Misbehaviour, Mode, Next, Upstream, User};
use reqwest::{Client, Method, redirect};
use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackClock, StackSettings};
use url::Url;
use wiremock::{Mock, MockServer, ResponseTemplate};

#[tokio::test]
async fn a_user_signs_in() {
    let test = TestStack::start().await;
    shows(&test.sign_in().await, "Signed in as Ada Lovelace.");
    shows(&test.home().await, "Signed in as Ada Lovelace.");
}

#[tokio::test]
async fn a_name_may_be_missing() {
    let test = TestStack::start().await;
    let nameless = User {
        id: "4711".into(),
        ..User::default()
    };
    test.google().queue(Next::User(nameless)).unwrap();
    shows(&test.sign_in().await, "Signed in as account sub_");
}

#[tokio::test]
async fn a_user_who_cancels_sees_why_and_may_start_again() {
    let test = TestStack::start().await;
    let cancel = Next::Misbehave(Misbehaviour::Deny);
    test.google().queue(cancel).unwrap();
    shows(&test.sign_in().await, "It failed: access_denied.");
    shows(&test.home().await, "You are signed out.");
    shows(&test.sign_in().await, "Signed in as");
}

#[tokio::test]
async fn a_login_ends_after_600_seconds_and_not_a_millisecond_before() {
    for (passed_ms, expected) in [(599_999, "not finished"), (600_000, "took too long")] {
        let test = TestStack::start().await;
        test.google().set_mode(Mode::Interactive);
        shows(&test.sign_in().await, "Choose an account");
        let passed = Duration::from_millis(passed_ms);
        test.stack.clock().advance(passed);
        shows(&test.visit("/callback").await, expected);
        shows(&test.home().await, "You are signed out.");
    }
}

#[tokio::test]
async fn a_lost_answer_is_not_asked_for_again() {
    let test = TestStack::start().await;
    let read = "POST /v1/login/result".parse().unwrap();
    let order = FaultInjection::next(read, Fault::LoseResponse);
    test.stack.faults().arm(order);
    shows(&test.sign_in().await, "The answer was lost.");
    shows(&test.home().await, "You are signed out.");

    // What the broker did: one call, which consumed the result, and no answer.
    let name = test.stack.event_log().logins(1).remove(0);
    let login = test.stack.login_status(&name).await.unwrap();
    let calls = login.calls.iter();
    let reads = calls.filter(|call| call.operation == read.name());
    let outcomes: Vec<_> = reads
        .map(|call| (call.committed, call.is_received))
        .collect();
    assert_eq!(outcomes, [(true, false)]);

    // One click starts again.
    shows(&test.sign_in().await, "Signed in as");
}

#[tokio::test]
async fn a_head_request_reads_nothing() {
    let test = TestStack::start().await;
    test.google().set_mode(Mode::Interactive);
    test.sign_in().await;
    let callback = format!("{}/callback", test.url);
    test.browser.go(Method::HEAD, &callback).await;
    let name = test.stack.event_log().logins(1).remove(0);
    let login = test.stack.login_status(&name).await.unwrap();
    let operations: Vec<_> = login.calls.iter().map(|call| &call.operation).collect();
    assert_eq!(
        operations,
        ["POST /v1/login/session", "GET /login/{handle}"]
    );
}

#[tokio::test]
async fn a_broker_that_cannot_be_reached_is_a_page() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let unreachable = format!("http://{}", taken.local_addr().unwrap());
    drop(taken);
    let test = TestStack::start_with(Some(unreachable)).await;
    shows(&test.sign_in().await, "The sign-in is unavailable.");
    shows(&test.home().await, "You are signed out.");
}

#[tokio::test]
async fn a_redirect_carries_the_secrets_nowhere() {
    let elsewhere = MockServer::start().await;
    let redirect = ResponseTemplate::new(307).insert_header("Location", "/elsewhere");
    let any = Mock::given(wiremock::matchers::any());
    any.respond_with(redirect).mount(&elsewhere).await;
    let test = TestStack::start_with(Some(elsewhere.uri())).await;
    shows(&test.sign_in().await, "The sign-in is unavailable.");
    let requests = elsewhere.received_requests().await.unwrap();
    let paths: Vec<_> = requests.iter().map(|request| request.url.path()).collect();
    assert_eq!(paths, ["/v1/login/session"]);
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "{text} in {page}");
}

/// A stack, the consumer in front of it, and a user's browser.
struct TestStack {
    stack: Stack,
    /// The consumer's address.
    url: String,
    browser: Browser,
}

impl TestStack {
    async fn start() -> Self {
        Self::start_with(None).await
    }

    /// The same, with a consumer that calls another server as its broker.
    async fn start_with(broker: Option<String>) -> Self {
        // Free ports, providers that sign in without a page, and a clock that stands still.
        let settings = StackSettings {
            clock: StackClock::frozen_at(1_790_000_000_000),
            ..StackSettings::for_tests()
        };
        let stack = Stack::start(settings).await.unwrap();
        let (consumer, url) = consumer::start().await;
        let callback = format!("{url}/callback");
        let callbacks = vec![callback.parse().unwrap()];
        let project = stack
            .projects()
            .register("My consumer".parse().unwrap(), callbacks);
        consumer.configure(consumer::Settings {
            callback,
            broker: broker.unwrap_or_else(|| stack.urls().broker.clone()),
            client_id: project.client_id.to_string(),
            client_secret: project.client_secret.expose().to_owned(),
        });
        Self {
            stack,
            url,
            browser: Browser::new(),
        }
    }

    fn google(&self) -> &Upstream {
        self.stack.upstream().google()
    }

    /// Presses the button, and returns the page on which the browser ends.
    async fn sign_in(&self) -> String {
        let button = format!("{}/login", self.url);
        self.browser.go(Method::POST, &button).await
    }

    async fn home(&self) -> String {
        self.visit("/").await
    }

    async fn visit(&self, path: &str) -> String {
        let url = format!("{}{path}", self.url);
        self.browser.go(Method::GET, &url).await
    }
}

/// A browser that keeps cookies, by host, and follows redirects.
struct Browser {
    http: Client,
    cookies: Mutex<HashMap<(String, String), String>>,
}

impl Browser {
    fn new() -> Self {
        let http = Client::builder().redirect(redirect::Policy::none());
        Self {
            http: http.build().unwrap(),
            cookies: Mutex::default(),
        }
    }

    async fn go(&self, mut method: Method, url: &str) -> String {
        let mut url: Url = url.parse().unwrap();
        loop {
            let host = url.host_str().unwrap().to_owned();
            let request = self.http.request(method, url.clone());
            let answer = request
                .header("Cookie", self.cookies(&host))
                .send()
                .await
                .unwrap();
            for cookie in answer.headers().get_all("Set-Cookie") {
                let cookie = cookie.to_str().unwrap().split(';').next().unwrap();
                let (name, value) = cookie.split_once('=').unwrap();
                let key = (host.clone(), name.to_owned());
                self.cookies.lock().unwrap().insert(key, value.to_owned());
            }
            let Some(next) = answer.headers().get("Location") else {
                return answer.text().await.unwrap();
            };
            url = url.join(next.to_str().unwrap()).unwrap();
            method = Method::GET;
        }
    }

    fn cookies(&self, host: &str) -> String {
        let cookies = self.cookies.lock().unwrap();
        let own = cookies.iter().filter(|((owner, _), _)| owner == host);
        let pairs: Vec<_> = own
            .map(|((_, name), value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }
}
