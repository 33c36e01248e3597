//! No secret is where it does not belong: in an address, a page, a cookie, a
//! `Referer` or any line that this process logs. The whole stack, searched once, after
//! every kind of success, failure, refusal and lost answer; what browsers see also below
//! its encodings.

use std::time::Duration;

use agent::secrets::layers;
use mock_upstream::Misbehaviour;
use reqwest::Method;
use reqwest::header::SET_COOKIE;
use serde_json::json;
use stack::faults::{Fault, FaultInjection};
use testkit::browser::{Browser, NavigationStep, UNSERVED};
use testkit::fresh;
use testkit::leak_check::{LeakCheck, drawn, log};
use testkit::login::{FLOWS, Flow, PROVIDERS, StartedLogin, callback_answer};
use url::Url;

use crate::test_stack::TestStack;

// Threats: A15, A16, CVE-2024-4540.
#[tokio::test]
async fn no_secret_is_in_any_address_page_cookie_or_log_line() {
    let stack = TestStack::start().await;
    let mut run = Run::default();
    for provider in PROVIDERS {
        for flow in FLOWS {
            run.log_in(&stack, flow, provider).await;
            // One of each kind; `failures` covers what they lack.
            let all = stack.provider(provider).misbehaviours();
            for kind in all.chunk_by(|one, other| one.group() == other.group()) {
                stack.queue_misbehaviour(provider, kind[0]);
                run.log_in(&stack, flow, provider).await;
            }
            run.get_refused(&stack, flow, provider).await;
            run.use_demo(&stack, flow, provider).await;
            run.lose_responses(&stack, provider).await;
        }
    }
    run.record_secrets_of(&stack).await;
    run.check(&stack);
    run.check_control(&stack).await;
}

/// The beginnings of providers' own tokens, which nothing else has. They are searched for as
/// they are: in base64 they would be four or five letters, which random values have, too.
const TOKEN_BEGINNINGS: [&str; 3] = ["ya29.", "gho_", "eyJhbGciOi"];

fn provider_token_in(text: &str) -> Option<&'static str> {
    let mut beginnings = TOKEN_BEGINNINGS.into_iter();
    beginnings.find(|beginning| text.contains(beginning))
}

/// A value that may appear only in its own places.
struct Secret {
    what: &'static str,
    value: String,
    /// Addresses that may carry it begin with one of these.
    places: Vec<String>,
}

/// The secrets of a run, and the pages that browsers saw.
#[derive(Default)]
struct Run {
    secrets: Vec<Secret>,
    steps: Vec<NavigationStep>,
}

impl Run {
    /// A value that belongs nowhere.
    fn add(&mut self, what: &'static str, value: &str) {
        self.add_in(what, value, &[]);
    }

    /// A value that belongs into addresses that begin so.
    fn add_in(&mut self, what: &'static str, value: &str, places: &[&str]) {
        self.secrets.push(Secret {
            what,
            value: value.to_owned(),
            places: places.iter().map(|place| (*place).to_owned()).collect(),
        });
    }

    async fn log_in(&mut self, stack: &TestStack, flow: Flow, provider: &str) {
        let browser = Browser::new();
        let started = flow.start(&stack.backend, provider).await;
        self.record_login(stack, &started);
        let end = browser.follow(started.url()).await;
        match &started {
            StartedLogin::Clean(_) => {
                started.outcome(&stack.backend, &end.url).await;
            }
            StartedLogin::Legacy(transaction) => {
                if let Ok(code) = callback_answer(&stack.backend, transaction, &end.url) {
                    self.add_in("code", &code, &[&stack.backend.callback]);
                    let token = stack.backend.token(transaction, &code).await;
                    stack.backend.profile(&token).await;
                    stack.backend.redeem(transaction, &code).await;
                    stack.backend.revoke(&token).await;
                    stack.backend.profile(&token).await;
                    let bare = token.strip_prefix("fsi_").expect("the service's prefix");
                    self.add("access token", bare);
                }
            }
        }
        self.record_steps(stack, provider, &browser);
    }

    fn record_login(&mut self, stack: &TestStack, started: &StartedLogin) {
        match started {
            StartedLogin::Clean(login) => {
                let at_broker = format!("{}/login/", stack.broker());
                let handle = login.authorization_url.strip_prefix(&at_broker);
                self.add_in("handle", handle.expect("a handle"), &[&at_broker]);
                self.add("session key", &login.session_key);
            }
            StartedLogin::Legacy(transaction) => {
                let at_broker = format!("{}/authorize?", stack.broker());
                let places = [&*at_broker, &stack.backend.callback];
                self.add_in("state", &transaction.state, &places);
                self.add("verifier", &transaction.verifier);
            }
        }
    }

    /// Refusals of browsers and of backends, with real secrets in the refused requests. The
    /// broker's own suite has every malformed request.
    async fn get_refused(&mut self, stack: &TestStack, flow: Flow, provider: &str) {
        let backend = &stack.backend;
        let halfway = stack.halfway(flow, provider).await;
        self.record_login(stack, &halfway.login);
        let other = Browser::new();
        other.open(&halfway.answer).await;
        other.open(halfway.login.url()).await;
        other.head(halfway.login.url()).await;
        let prefetch = [("Sec-Purpose", "prefetch")];
        halfway.browser.open_with(&halfway.answer, &prefetch).await;
        stack.advance_seconds(600);
        halfway.deliver(&halfway.answer).await;
        halfway.deliver(halfway.login.url()).await;
        self.record_steps(stack, provider, &halfway.browser);
        self.record_steps(stack, provider, &other);

        let (key, verifier, code) = (fresh::secret(), fresh::secret(), fresh::secret());
        for (path, mut body) in [
            ("/v1/login/session", backend.session_body(&key, provider)),
            ("/v1/login/result", backend.result_body(&key)),
            ("/v1/token", backend.token_body(&verifier, &code)),
        ] {
            body[&key] = json!(key);
            let request = backend.request(Method::POST, path).json(&body);
            assert_eq!(request.send().await.status, 400);
            let path = format!("{path}/{key}?session_key={verifier}");
            let request = backend.request(Method::GET, &path);
            assert!(request.send().await.status >= 400);
        }
        for secret in [&key, &verifier, &code] {
            self.add("refused value", secret);
        }
    }

    async fn use_demo(&mut self, stack: &TestStack, flow: Flow, provider: &str) {
        let browser = Browser::new();
        let start = match flow {
            Flow::Clean => format!("/login/{provider}"),
            Flow::Legacy => format!("/legacy/login/{provider}"),
        };
        let places = stack.demo("/");
        browser.type_in(&places).await;
        for fails in [true, false] {
            if fails {
                stack.queue_misbehaviour(provider, Misbehaviour::TokenRefused);
            }
            let button = stack.demo(&start);
            browser.press_until(&places, &button, UNSERVED).await;
        }
        browser.type_in(&stack.demo("/profile")).await;
        let button = stack.demo("/sign-out");
        browser.press_until(&places, &button, UNSERVED).await;
        self.record_demo_secrets(stack, &browser);
        self.record_steps(stack, provider, &browser);
    }

    /// Those of the demo's secrets that its browser carried.
    fn record_demo_secrets(&mut self, stack: &TestStack, browser: &Browser) {
        let at_demo = stack.demo("/legacy/callback?");
        let at_broker = format!("{}/authorize?", stack.broker());
        let handles = format!("{}/login/", stack.broker());
        for step in browser.steps() {
            if let Some(handle) = step.url.strip_prefix(&handles) {
                self.add_in("handle", handle, &[&handles]);
            }
            if step.url.starts_with(&at_demo) {
                let url = Url::parse(&step.url).expect("a URL");
                for (name, value) in url.query_pairs().filter(|(name, _)| name != "error") {
                    let what = if name == "code" { "code" } else { "state" };
                    self.add_in(what, &value, &[&at_demo, &at_broker]);
                }
            }
        }
    }

    /// Takes over what `browser` saw. What a provider gave it is secret, too.
    fn record_steps(&mut self, stack: &TestStack, provider: &str, browser: &Browser) {
        let at_provider = stack.provider(provider).url().to_owned();
        let at_broker = stack.broker_callback(provider);
        for step in browser.steps() {
            if step.url.starts_with(&at_broker) {
                let url = Url::parse(&step.url).expect("a URL");
                for (name, value) in url.query_pairs() {
                    if name == "code" || name == "state" {
                        let places = [&*at_provider, &at_broker];
                        self.add_in("provider's code or state", &value, &places);
                    }
                }
            }
            self.steps.push(step);
        }
    }

    async fn record_secrets_of(&mut self, stack: &TestStack) {
        let projects = stack.control(Method::GET, "/api/projects", None).await;
        for project in projects.json().as_array().expect("a list") {
            let secret = project["client_secret"].as_str().expect("a secret");
            self.add("client secret", secret);
        }
        self.add("our secret at the providers", "mock-upstream-secret");
    }

    /// Makes calls whose responses the proxy loses, each in another way, and repeats them.
    async fn lose_responses(&mut self, stack: &TestStack, provider: &str) {
        // The others keep a client waiting for longer than a test.
        let waits = [
            Fault::Silence,
            Fault::Drip,
            Fault::Endless,
            Fault::HoldRequest,
            Fault::HoldResponse,
        ];
        let ends = |it: &&Fault| !waits.contains(it);
        for fault in Fault::ALL.iter().filter(ends) {
            let key = fresh::secret();
            let start = "POST /v1/login/session".parse().expect("an operation");
            stack.faults().arm(FaultInjection {
                delay: Duration::ZERO,
                ..FaultInjection::next(start, *fault)
            });
            for _ in 0..2 {
                let body = stack.backend.session_body(&key, provider);
                let request = stack.backend.request(Method::POST, "/v1/login/session");
                let _ = request.json(&body).try_send().await;
            }
            self.add("session key", &key);
        }
    }
}

impl Run {
    fn check(&self, stack: &TestStack) {
        // A search for nothing, or in nothing, would find nothing.
        assert!(self.secrets.len() > 100, "{}", self.secrets.len());
        assert!(self.steps.len() > 100, "{}", self.steps.len());
        let leaks = self.leaks(stack);
        assert!(leaks.is_empty(), "{leaks:#?}");
        let log = log::text();
        for path in ["POST /v1/token", "/legacy/callback"] {
            assert!(log.contains(path), "{path} was not logged");
        }
        assert_eq!(self.leak_check().search(&log), [], "in the log");
        assert_eq!(provider_token_in(&log), None, "in the log");
        let demo = stack.demo("/");
        for step in self.steps.iter().filter(|it| it.url.starts_with(&demo)) {
            let found = drawn(step.response.text()).find(|word| !word.starts_with("sub_"));
            assert_eq!(found, None, "{}", step.url);
        }
    }

    /// The control address shows projects their secrets, at `/calls` and `/api/projects`,
    /// and nothing else.
    async fn check_control(&self, stack: &TestStack) {
        let served = everything_served(stack).await;
        assert!(served.len() > 100_000, "{} bytes", served.len());
        for part in ["id=\"exchange\"", "<svg", "[masked"] {
            assert!(served.contains(part), "{part} was not served");
        }
        let found = self.leak_check().search(&served);
        assert_eq!(found, [], "at the control address");
        let token = provider_token_in(&served);
        assert_eq!(token, None, "at the control address");
    }

    fn leak_check(&self) -> LeakCheck {
        let secrets = self.secrets.iter();
        LeakCheck::over(secrets.map(|secret| (secret.what, &*secret.value)))
    }

    /// The secrets that browsers saw where they do not belong.
    fn leaks(&self, stack: &TestStack) -> Vec<String> {
        let leak_check = self.leak_check();
        let mut leaks = Vec::new();
        let steps = self.steps.iter();
        for step in steps.filter(|step| !is_the_providers_own(stack, step)) {
            for (part, text) in seen(step) {
                let layers = layers(&text);
                let tokens = layers.iter().filter_map(|layer| provider_token_in(layer));
                leaks.extend(tokens.map(|it| format!("{it} in {part} of {}", step.url)));
                for leak in layers.iter().flat_map(|layer| leak_check.search(layer)) {
                    let secret = &self.secrets[leak.secret];
                    let may_be_there = (part == "address" || part == "Location")
                        && secret.places.iter().any(|places| text.starts_with(places));
                    if !may_be_there {
                        leaks.push(format!("{leak} in {part} of {} {}", step.method, step.url));
                    }
                }
            }
        }
        leaks
    }
}

/// Everything that the control API serves about past events.
async fn everything_served(stack: &TestStack) -> String {
    let journals = PROVIDERS.map(|provider| format!("/api/upstreams/{provider}/requests"));
    let lists = "/ /others /api/events /api/logins /api/faults /api/stack";
    let mut addresses: Vec<_> = lists.split(' ').map(ToOwned::to_owned).collect();
    addresses.extend(journals);
    for event in stack.event_log().events(0, None) {
        let id = &event.request_id;
        addresses.push(format!("/api/exchanges/{id}"));
        if let (Some(login), "broker") = (&event.login, event.to) {
            addresses.push(format!("/logins/{login}?call={id}"));
        }
    }
    for login in stack.event_log().logins(usize::MAX) {
        addresses.push(format!("/api/logins/{login}"));
        addresses.push(format!("/logins/{login}/diagram.svg"));
    }
    let mut served = String::new();
    for address in addresses {
        let response = stack.control(Method::GET, &address, None).await;
        served.push_str(response.text());
        served.push_str(&format!("{:?}", response.headers));
    }
    served
}

/// The pages of an imitated provider are not checked.
fn is_the_providers_own(stack: &TestStack, step: &NavigationStep) -> bool {
    PROVIDERS.iter().any(|provider| {
        step.url.starts_with(stack.provider(provider).url()) && step.response.location().is_none()
    })
}

/// Everything of a step that a browser, its history or its neighbours see.
fn seen(step: &NavigationStep) -> Vec<(&'static str, String)> {
    let mut seen = vec![
        ("address", step.url.clone()),
        ("page", step.response.text().to_owned()),
    ];
    seen.extend(step.referer.clone().map(|referer| ("Referer", referer)));
    let location = step.response.location().map(ToOwned::to_owned);
    seen.extend(location.map(|location| ("Location", location)));
    let cookies = step.response.headers.get_all(SET_COOKIE).iter();
    seen.extend(cookies.map(|cookie| ("Set-Cookie", format!("{cookie:?}"))));
    seen
}
