//! The actions of users, backends and attackers in a run, and the secrets of it.

use std::time::Duration;

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::json;
use stack::faults::{Fault, FaultInjection};
use testkit::browser::{Browser, NavigationStep, UNSERVED};
use testkit::fresh;
use url::Url;

use crate::login::{Flow, StartedLogin, callback_answer};
use crate::test_stack::TestStack;

/// A value that may appear only in its own places.
pub(super) struct Secret {
    pub(super) what: &'static str,
    pub(super) value: String,
    /// Addresses that may carry it begin with one of these.
    pub(super) places: Vec<String>,
}

impl Secret {
    pub(super) fn nowhere(what: &'static str, value: &str) -> Self {
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
pub(super) struct Run {
    pub(super) secrets: Vec<Secret>,
    pub(super) steps: Vec<NavigationStep>,
}

impl Run {
    pub(super) async fn log_in(&mut self, stack: &TestStack, flow: Flow, provider: &str) {
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
    pub(super) async fn get_refused(&mut self, stack: &TestStack, flow: Flow, provider: &str) {
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

    pub(super) async fn use_demo(&mut self, stack: &TestStack, flow: Flow, provider: &str) {
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

    pub(super) async fn record_secrets_of(&mut self, stack: &TestStack) {
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

    /// Makes calls whose responses the proxy loses, each in another way, and repeats them.
    pub(super) async fn lose_responses(&mut self, stack: &TestStack, provider: &str) {
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
            self.secrets.push(Secret::nowhere("session key", &key));
        }
    }
}

/// A token without its prefix, which is no secret.
fn bare(token: &str) -> &str {
    token.strip_prefix("fsi_").expect("the service's prefix")
}
