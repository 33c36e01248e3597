//! A broker whose store, clock and providers can fail, and requests with one mistake.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::clock::{Clock, Reading};
use broker::config::Config;
use broker::model::UnixMs;
use contract::Rule;
use reqwest::Method;
use serde_json::Value;
use testkit::http::Response;

use crate::http::overload::first_refusal;
use crate::installation::{FileBroker, Scratch};
use crate::test_broker::{
    Browser, all, authorize_path, authorize_with, query_with, result_body, session_body,
    token_body, with,
};

/// A broker without Google, whose store and clock can fail.
pub(super) struct FaultyBroker {
    broker: FileBroker,
    clock_panics: Arc<AtomicBool>,
}

impl std::ops::Deref for FaultyBroker {
    type Target = FileBroker;

    fn deref(&self) -> &FileBroker {
        &self.broker
    }
}

impl FaultyBroker {
    /// Starts one at which a request can break `rule`.
    pub(super) async fn start(rule: Rule) -> Self {
        let clock_panics = Arc::new(AtomicBool::new(false));
        let is_due = clock_panics.clone();
        let clock = Clock::from_source(move || {
            assert!(
                !is_due.swap(false, Ordering::SeqCst),
                "the test wants a panic"
            );
            Reading {
                wall: UnixMs(1_790_000_000_000),
                monotonic_ms: 0,
            }
        });
        let change = |config: &mut Config| {
            config.upstream.google = None;
            // Callbacks without this header are not limited.
            config.ip_header = Some("X-Real-IP".to_owned().try_into().unwrap());
            config.limits.callbacks_per_minute = NonZeroU32::MIN;
            config.limits.body_timeout_ms = 2_000.try_into().unwrap();
            config.limits.live_sessions = 2.try_into().unwrap();
            if rule == Rule::BrokerOverload {
                config.limits.overload_delay_ms = 100.try_into().unwrap();
            }
        };
        Self {
            broker: FileBroker::start_on(clock, change).await,
            clock_panics,
        }
    }

    /// The next request that reads the clock panics.
    pub(super) fn panic_at_the_next_reading_of_the_clock(&self) {
        self.clock_panics.store(true, Ordering::SeqCst);
    }

    /// Begins a login while many steps wait for a locked database.
    pub(super) async fn overload(&self) -> Response {
        let lock = self.lock();
        let reads = all(20, || self.result(1));
        let refusal = async {
            let refusal = first_refusal(self).await;
            drop(lock);
            refusal
        };
        tokio::select! {
            refusal = refusal => refusal,
            _ = reads => panic!("the database is locked"),
        }
    }

    /// Starts the login with key `n`.
    pub(super) async fn start_with_key(&self, n: u8) -> Response {
        self.post("/v1/login/session", &session_body(n)).await
    }

    /// Starts a login whose request has `value` in `field`.
    pub(super) async fn start_with(&self, field: &str, value: impl Into<Value>) -> Response {
        let body = with(session_body(1), field, value);
        self.post("/v1/login/session", &body).await
    }

    /// Reads the result of a pending login with `value` in `field`.
    pub(super) async fn read_with(&self, field: &str, value: &str) -> Response {
        self.session(1).await;
        let body = with(result_body(1), field, value);
        self.post("/v1/login/result", &body).await
    }

    /// Redeems a valid code with `value` in `field`.
    pub(super) async fn redeem_with(&self, field: &str, value: &str) -> Response {
        let body = with(token_body(&self.code().await), field, value);
        self.post("/v1/token", &body).await
    }

    /// Starts a login with a repeated field.
    pub(super) async fn start_with_a_field_twice(&self) -> Response {
        let body = session_body(1).to_string();
        let body = body.replacen('{', r#"{"provider":"github","#, 1);
        let framing = format!("Content-Length: {}", body.len());
        self.start_by_hand("application/json", &framing, &body)
            .await
    }

    /// Starts a login in bytes that no client library would send.
    pub(super) async fn start_by_hand(&self, media: &str, framing: &str, body: &str) -> Response {
        let headers = format!("Content-Type: {media}\r\n{framing}\r\n");
        self.send_raw_body("POST", "/v1/login/session", &headers, body)
            .await
    }

    /// Prefetches an authorization URL.
    pub(super) async fn prefetch(&self) -> Response {
        let browser = self.browser().with_header("Sec-Purpose", "prefetch");
        browser.get(&self.session(1).await).await
    }

    /// Follows a link on a foreign page to an authorization URL.
    pub(super) async fn visit_from_a_foreign_page(&self) -> (Response, Browser, String) {
        let path = self.session(1).await;
        let browser = self.browser_on("https://evil.example/");
        (browser.get(&path).await, browser, path)
    }

    /// Returns from the provider, from an address that the proxy names.
    pub(super) async fn back_from_one_address(&self) -> Response {
        let browser = self.browser().with_header("X-Real-IP", "203.0.113.7");
        let back = browser.to_provider(&authorize_path()).await;
        browser.get(&back).await
    }

    /// Sends an authorization request with `value` for one parameter.
    pub(super) async fn authorize_with(&self, name: &'static str, value: &str) -> Response {
        let path = authorize_with(&query_with(name, Some(value)));
        self.browser().get(&path).await
    }

    /// Sends an authorization request with this `Cookie` header.
    pub(super) async fn authorize_with_cookies(&self, cookies: &[u8]) -> Response {
        let headers = [("Accept", &b"text/html"[..]), ("Cookie", cookies)];
        self.send(Method::GET, &authorize_path(), &headers).await
    }

    /// Returns from the provider with this query in the legacy flow.
    pub(super) async fn come_back(&self, query: &str) -> Response {
        let browser = self.browser();
        let redirect = browser.get(&authorize_path()).await;
        browser.come_back(&redirect, query).await
    }
}

/// The error of a broker with this configuration.
pub(super) fn error_of_a_configuration(text: &str) -> String {
    let scratch = Scratch::new();
    let file = scratch.write("broker.toml", text);
    Config::load(&file).unwrap_err().to_string()
}
