//! The fixture: the consumer in front of a scripted broker, with a clock to move.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use consumer_demo::{App, Clock, Config};
use rocket::local::asynchronous::Client;
use serde_json::Value;

use crate::browser::Browser;
use crate::scripted_broker::{RESULT, ScriptedBroker, succeeded};

/// The consumer's base URL.
pub(crate) const CONSUMER: &str = "http://localhost:3000";
/// The consumer's client secret.
pub(crate) const SECRET: &str = "local-only";
/// The time at which a test begins, in Unix milliseconds.
const START_MS: i64 = 1_800_000_000_000;

/// A consumer and its scripted broker.
pub(crate) struct TestConsumer {
    pub(crate) app: Arc<App>,
    pub(crate) broker: ScriptedBroker,
    client: Client,
    origin: String,
    now_ms: Arc<AtomicI64>,
}

impl TestConsumer {
    pub(crate) async fn new() -> Self {
        Self::with_config(|_| {}).await
    }

    /// A consumer with another configuration.
    pub(crate) async fn with_config(change: impl FnOnce(&mut Config)) -> Self {
        testkit::leak_check::watch_log();
        let broker = ScriptedBroker::start().await;
        let mut config = config(&broker.url());
        change(&mut config);
        let origin = config.consumer_base_url.to_string();
        let now_ms = Arc::new(AtomicI64::new(START_MS));
        let clock = Clock::new({
            let now_ms = Arc::clone(&now_ms);
            move || now_ms.load(Ordering::SeqCst)
        });
        let app = App::new(config, clock).expect("a safe configuration");
        let server = app.rocket(([127, 0, 0, 1], 0).into()).expect("loopback");
        let client = Client::untracked(server).await.expect("a server");
        Self {
            app,
            broker,
            client,
            origin,
            now_ms,
        }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.now_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// A browser without cookies.
    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser::new(&self.client, &self.broker, &self.origin)
    }

    /// A browser that has signed in by the clean flow with `profile`.
    pub(crate) async fn signed_in(&self, profile: &Value) -> Browser<'_> {
        let browser = self.browser();
        browser.start_clean("google").await;
        self.broker.answer_next(RESULT, succeeded(profile));
        assert_eq!(browser.callback().await.outcome(), "/profile");
        browser
    }
}

/// A configuration for a broker at `broker`, with a short wait for pending results.
pub(crate) fn config(broker: &str) -> Config {
    let mut config = Config::new(
        broker.parse().unwrap(),
        "demo".parse().unwrap(),
        SECRET.parse().unwrap(),
        CONSUMER.parse().unwrap(),
    );
    config.pending_wait = Duration::from_millis(1);
    config
}
