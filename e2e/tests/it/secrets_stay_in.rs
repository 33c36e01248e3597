//! No secret is where it does not belong: in an address, a page, a cookie, a
//! `Referer` or any line that this process logs.

use std::time::Duration;

use mock_upstream::Misbehaviour;
use reqwest::Method;
use reqwest::header::SET_COOKIE;
use serde_json::json;
use stack::faults::{Fault, FaultInjection};
use testkit::leak_check::{LeakCheck, drawn};
use url::Url;

use crate::login::{FLOWS, Flow, PROVIDERS, StartedLogin, callback_answer};
use crate::logs;
use crate::test_stack::TestStack;
use testkit::browser::{Browser, NavigationStep, UNSERVED};
use testkit::fresh;

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

#[tokio::test]
async fn the_demos_pages_hold_nothing_that_looks_like_a_secret_but_the_subject() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let mut run = Run::default();
            run.use_demo(&stack, flow, provider).await;
            for step in run
                .steps
                .iter()
                .filter(|step| step.url.starts_with(&stack.demo("/")))
            {
                let found = drawn(step.response.text()).find(|word| !word.starts_with("sub_"));
                assert_eq!(found, None, "{}", step.url);
            }
        }
    }
}

#[tokio::test]
async fn a_careless_line_of_the_log_is_found() {
    logs::listen();
    // Neither drawn nor marked: else it would fail every test of this process.
    let planted = "planted-Secret_7/+ü=&%?";
    tracing::trace!(target: "planted", "a careless line with {planted}");
    let leak_check = LeakCheck::over([("planted", planted)]);
    assert_eq!(leak_check.search(logs::text()).len(), 1);
}

#[tokio::test]
async fn the_search_fails_a_run_in_which_a_browser_saw_a_secret() {
    let stack = TestStack::start().await;
    let careless = format!("{}/callback/google?session_key=", stack.broker());
    let key = fresh::secret();
    let browser = Browser::new();
    browser.open(&format!("{careless}{key}")).await;
    let run = Run {
        steps: browser.steps(),
        secrets: vec![Secret::nowhere("session key", &key)],
    };
    assert_eq!(run.leaks(&stack).len(), 1, "{:?}", run.leaks(&stack));
}

/// A value that may appear only in its own places.
struct Secret {
    what: &'static str,
    value: String,
    /// Addresses that may carry it begin with one of these.
    places: Vec<String>,
}

impl Secret {
    fn nowhere(what: &'static str, value: &str) -> Self {
        Self::in_addresses(what, value, [])
    }

    fn in_addresses<const N: usize>(what: &'static str, value: &str, places: [String; N]) -> Self {
        Self {
            what,
            value: value.to_owned(),
            places: places.into(),
        }
    }
}

/// The secrets of a run, and the pages that browsers saw.
#[derive(Default)]
struct Run {
    secrets: Vec<Secret>,
    steps: Vec<NavigationStep>,
}

impl Run {
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
                    let places = [stack.backend.callback.clone()];
                    self.secrets
                        .push(Secret::in_addresses("code", &code, places));
                    let token = stack.backend.token(transaction, &code).await;
                    stack.backend.profile(&token).await;
                    stack.backend.redeem(transaction, &code).await;
                    stack.backend.revoke(&token).await;
                    stack.backend.profile(&token).await;
                    self.secrets
                        .push(Secret::nowhere("access token", bare(&token)));
                }
            }
        }
        self.record_steps(stack, provider, &browser);
    }

    fn record_login(&mut self, stack: &TestStack, started: &StartedLogin) {
        match started {
            StartedLogin::Clean(login) => {
                let handle = login
                    .authorization_url
                    .rsplit('/')
                    .next()
                    .expect("a handle");
                let places = [format!("{}/login/", stack.broker())];
                self.secrets
                    .push(Secret::in_addresses("handle", handle, places));
                self.secrets
                    .push(Secret::nowhere("session key", &login.session_key));
            }
            StartedLogin::Legacy(transaction) => {
                let places = [
                    format!("{}/authorize?", stack.broker()),
                    stack.backend.callback.clone(),
                ];
                self.secrets
                    .push(Secret::in_addresses("state", &transaction.state, places));
                self.secrets
                    .push(Secret::nowhere("verifier", &transaction.verifier));
            }
        }
    }

    /// Every way to be refused, with real secrets in the refused requests.
    async fn get_refused(&mut self, stack: &TestStack, flow: Flow, provider: &str) {
        let backend = &stack.backend;
        let halfway = stack.halfway(flow, provider).await;
        self.record_login(stack, &halfway.login);
        let other = Browser::new();
        other.open(&halfway.answer).await;
        other.open(halfway.login.url()).await;
        other.head(halfway.login.url()).await;
        halfway
            .browser
            .open_with(&halfway.answer, &[("Sec-Purpose", "prefetch")])
            .await;
        stack.advance_seconds(600);
        halfway.deliver(&halfway.answer).await;
        halfway.deliver(halfway.login.url()).await;
        self.record_steps(stack, provider, &halfway.browser);
        self.record_steps(stack, provider, &other);

        let (key, verifier) = (fresh::secret(), fresh::secret());
        let code = fresh::secret();
        for (path, body) in [
            ("/v1/login/session", backend.session_body(&key, provider)),
            ("/v1/login/result", backend.result_body(&key)),
            ("/v1/token", backend.token_body(&verifier, &code)),
        ] {
            let whole = body.to_string();
            let mut unknown = body.clone();
            unknown[&key] = json!(key);
            let mut wrong_type = body.clone();
            wrong_type["redirect_uri"] = json!({ "x": key });
            let mut wrong_uri = body.clone();
            wrong_uri["redirect_uri"] = json!(format!("https://{verifier}.example/{key}"));
            for body in [
                whole[..whole.len() - 1].to_owned(),
                format!("{whole}{key}"),
                unknown.to_string(),
                wrong_type.to_string(),
                wrong_uri.to_string(),
            ] {
                let request = backend
                    .request(Method::POST, path)
                    .header("Content-Type", "application/json")
                    .body(body);
                assert_eq!(request.send().await.status, 400);
            }
            let form = backend
                .request(Method::POST, path)
                .form(&[("client_secret", &key)]);
            assert_eq!(form.send().await.status, 415);
            let basic = backend
                .request(Method::POST, path)
                .basic_auth(&key, Some(&verifier))
                .json(&json!({}));
            assert_eq!(basic.send().await.status, 400);
        }
        for path in [
            "/v1/token",
            "/v1/profile",
            "/authorize",
            "/callback/google",
            "/nowhere",
        ] {
            for name in [
                "client_secret",
                "session_key",
                "code_verifier",
                "access_token",
            ] {
                let path = format!("{path}?{name}={key}");
                assert!(backend.request(Method::GET, &path).send().await.status >= 400);
            }
            let path = format!("{path}/{key}");
            assert!(backend.request(Method::GET, &path).send().await.status >= 400);
        }
        for secret in [&key, &verifier, &code] {
            self.secrets.push(Secret::nowhere("refused value", secret));
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
            browser
                .press_until(&places, &stack.demo(&start), UNSERVED)
                .await;
        }
        browser.type_in(&stack.demo("/profile")).await;
        browser
            .press_until(&places, &stack.demo("/sign-out"), UNSERVED)
            .await;
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
                let places = [handles.clone()];
                self.secrets
                    .push(Secret::in_addresses("handle", handle, places));
            }
            if step.url.starts_with(&at_demo) {
                let url = Url::parse(&step.url).expect("a URL");
                for (name, value) in url.query_pairs().filter(|(name, _)| name != "error") {
                    let what = if name == "code" { "code" } else { "state" };
                    let places = [at_demo.clone(), at_broker.clone()];
                    self.secrets
                        .push(Secret::in_addresses(what, &value, places));
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
                    let places = [at_provider.clone(), at_broker.clone()];
                    if name == "code" || name == "state" {
                        let what = "provider's code or state";
                        self.secrets
                            .push(Secret::in_addresses(what, &value, places));
                    }
                }
            }
            self.steps.push(step);
        }
    }

    async fn record_secrets_of(&mut self, stack: &TestStack) {
        let projects = stack
            .control(Method::GET, "/api/projects", None)
            .await
            .json();
        for project in projects.as_array().expect("a list") {
            let secret = project["client_secret"].as_str().expect("a secret");
            self.secrets.push(Secret::nowhere("client secret", secret));
        }
        let ours = "mock-upstream-secret";
        self.secrets
            .push(Secret::nowhere("our secret at the providers", ours));
        // A provider's own tokens have a beginning that nothing else has.
        for beginning in ["ya29.", "gho_", "eyJhbGciOi"] {
            self.secrets
                .push(Secret::nowhere("provider's token", beginning));
        }
    }

    fn check(&self, stack: &TestStack) {
        // A search for nothing, or in nothing, would find nothing.
        assert!(self.secrets.len() > 100, "{}", self.secrets.len());
        assert!(self.steps.len() > 100, "{}", self.steps.len());
        let leaks = self.leaks(stack);
        assert!(leaks.is_empty(), "{leaks:#?}");
        let log = logs::text();
        for path in ["POST /v1/token", "/legacy/callback"] {
            assert!(log.contains(path), "{path} was not logged");
        }
        assert_eq!(self.leak_check().search(&log), [], "in the log");
    }

    /// Makes calls whose responses the proxy loses, each in another way, and repeats them.
    async fn lose_responses(&mut self, stack: &TestStack, provider: &str) {
        for fault in Fault::ALL {
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
            self.secrets.push(Secret::nowhere("session key", &key));
        }
    }

    /// The control address shows projects their secrets, and else nothing.
    async fn check_control(&self, stack: &TestStack) {
        let served = everything_served(stack).await;
        assert!(served.len() > 100_000, "{} bytes", served.len());
        let found = self.leak_check().search(&served);
        assert_eq!(found, [], "at the control address");
    }

    fn leak_check(&self) -> LeakCheck {
        let secrets = self.secrets.iter();
        LeakCheck::over(secrets.map(|secret| (secret.what, &*secret.value)))
    }

    /// The secrets that browsers saw where they do not belong.
    fn leaks(&self, stack: &TestStack) -> Vec<String> {
        let leak_check = self.leak_check();
        let mut leaks = Vec::new();
        for step in self
            .steps
            .iter()
            .filter(|step| !is_the_providers_own(stack, step))
        {
            for (part, text) in seen(step) {
                for leak in leak_check.search(&text) {
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
    let lists = [
        "/",
        "/others",
        "/calls",
        "/api/events",
        "/api/logins",
        "/api/faults",
        "/api/stack",
    ];
    let mut addresses: Vec<_> = lists.map(ToOwned::to_owned).into();
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
    for cookie in step.response.headers.get_all(SET_COOKIE) {
        seen.push((
            "Set-Cookie",
            String::from_utf8_lossy(cookie.as_bytes()).into_owned(),
        ));
    }
    seen
}

/// A token without its prefix, which is no secret.
fn bare(token: &str) -> &str {
    token.strip_prefix("fsi_").expect("the service's prefix")
}
