//! A system clock that is set back or jumps: an expired item stays expired, and a
//! valid one continues to age.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use broker::clock::{Clock, Reading};
use broker::config::Config;
use broker::model::UnixMs;
use testkit::http::Response;

use crate::test_broker::{Browser, CALLBACK, TestBroker, back_path, sign_in};

/// The system clock when a test begins.
const START_MS: i64 = 1_790_000_000_000;
const HOUR_MS: i64 = 3_600_000;

/// The system's clocks: one that can be set, and a monotonic one.
#[derive(Clone)]
struct SystemClocks {
    wall: Arc<AtomicI64>,
    monotonic: Arc<AtomicI64>,
}

impl SystemClocks {
    fn new() -> Self {
        Self {
            wall: Arc::new(AtomicI64::new(START_MS)),
            monotonic: Arc::default(),
        }
    }

    fn clock(&self) -> Clock {
        let clocks = self.clone();
        Clock::from_source(move || Reading {
            wall: UnixMs(clocks.wall.load(Ordering::SeqCst)),
            monotonic_ms: clocks.monotonic.load(Ordering::SeqCst),
        })
    }

    /// Sets the clock to `ms` milliseconds after the beginning of the test.
    fn set(&self, ms: i64) {
        self.wall.store(START_MS + ms, Ordering::SeqCst);
    }

    fn advance(&self, ms: i64) {
        for clock in [&self.wall, &self.monotonic] {
            clock.fetch_add(ms, Ordering::SeqCst);
        }
    }
}

/// One of each that can expire, created at the same time.
struct Items {
    pending: String,
    code: String,
    token: String,
    callback_path: String,
}

/// Result 1 is available, login 2 is pending, login 3 is at the provider.
async fn create_items(broker: &TestBroker, browser: &Browser) -> Items {
    sign_in(broker, 1).await;
    let redirect = browser.get(&broker.session(3).await).await;
    Items {
        pending: broker.session(2).await,
        code: broker.code().await,
        token: broker.access_token().await,
        callback_path: back_path(&redirect, "code=upstream-code"),
    }
}

/// Asserts the status of a response, and its rule in the audit log.
#[track_caller]
fn check(broker: &TestBroker, response: &Response, status: u16, rule: &str) {
    assert_eq!(response.status, status, "{response:?}");
    assert_eq!(broker.last_rule(), Some(rule));
}

/// Asserts that all items are refused because they expired.
async fn all_have_expired(broker: &TestBroker, browser: &Browser, items: &Items) {
    broker
        .browser()
        .get(&items.pending)
        .await
        .redirects_to(CALLBACK);
    browser
        .get(&items.callback_path)
        .await
        .redirects_to(CALLBACK);
    for key in [1, 2, 3] {
        check(broker, &broker.result(key).await, 400, "result.expiry");
    }
    let code = broker.token(&items.code).await;
    check(broker, &code, 400, "code.expiry");
    let profile = broker.profile(&items.token).await;
    check(broker, &profile, 401, "bearer.expiry");
}

/// Asserts that all items are refused, whether the store still has them or not.
async fn all_are_refused(broker: &TestBroker, items: &Items) {
    for key in [1, 2, 3] {
        broker.result(key).await.is_refusal(400);
    }
    broker.token(&items.code).await.is_refusal(400);
    broker.profile(&items.token).await.is_refusal(401);
}

async fn an_expired_item_stays_expired(change: impl FnOnce(&mut Config)) {
    let clocks = SystemClocks::new();
    let broker = TestBroker::start_on(clocks.clock(), change).await;
    let browser = broker.browser();
    let items = create_items(&broker, &browser).await;
    let calls = broker.calls_upstream().await;

    // A token lives for 900 seconds, all others for less.
    clocks.set(900_000);
    all_have_expired(&broker, &browser, &items).await;
    for back in [899_999, 0, -HOUR_MS, -START_MS] {
        clocks.set(back);
        all_have_expired(&broker, &browser, &items).await;
    }
    for to_and_fro in [0, HOUR_MS, 0, 899_999, 1] {
        clocks.set(to_and_fro);
        all_are_refused(&broker, &items).await;
    }
    assert_eq!(
        broker.calls_upstream().await,
        calls,
        "the upstream login is expired, too"
    );
}

async fn a_valid_item_continues_to_age(change: impl FnOnce(&mut Config)) {
    let clocks = SystemClocks::new();
    let broker = TestBroker::start_on(clocks.clock(), change).await;
    sign_in(&broker, 1).await;
    broker.session(2).await;
    let token = broker.access_token().await;
    clocks.advance(590_000);
    assert_eq!(broker.result(2).await.status, 200);
    clocks.set(-HOUR_MS);
    assert_eq!(broker.result(2).await.status, 200);
    // Ahead of the system's clock, the broker's advances at three quarters of its speed.
    clocks.advance(13_332);
    assert_eq!(broker.result(2).await.status, 200, "it is still valid");
    clocks.advance(1);
    check(&broker, &broker.result(1).await, 400, "result.expiry");
    check(&broker, &broker.result(2).await, 400, "result.expiry");
    assert_eq!(broker.profile(&token).await.status, 200);
    clocks.advance(400_000);
    check(&broker, &broker.profile(&token).await, 401, "bearer.expiry");
}

/// The system clock was two hours ahead and is corrected.
async fn an_item_created_during_the_correction_lives_at_most_a_third_longer(
    change: impl FnOnce(&mut Config),
) {
    let clocks = SystemClocks::new();
    let broker = TestBroker::start_on(clocks.clock(), change).await;
    clocks.set(2 * HOUR_MS);
    broker.session(1).await;
    clocks.set(0);
    broker.session(2).await;
    clocks.advance(799_998);
    for key in [1, 2] {
        assert_eq!(broker.result(key).await.status, 200);
    }
    clocks.advance(1);
    for key in [1, 2] {
        check(&broker, &broker.result(key).await, 400, "result.expiry");
    }
    clocks.advance(8 * HOUR_MS);
    let true_time = UnixMs(START_MS + 8 * HOUR_MS + 799_999);
    assert_eq!(broker.clock.now(), true_time, "the correction is complete");
    broker.session(3).await;
    clocks.advance(599_999);
    assert_eq!(broker.result(3).await.status, 200);
    clocks.advance(1);
    check(&broker, &broker.result(3).await, 400, "result.expiry");
}

macro_rules! on {
    ($engine:ident, $($store:tt)+) => {
        mod $engine {
            // Threats: A28, L5.
            #[tokio::test]
            async fn an_expired_item_stays_expired() {
                super::an_expired_item_stays_expired($($store)+).await;
            }

            // Threats: L5.
            #[tokio::test]
            async fn a_valid_item_continues_to_age() {
                super::a_valid_item_continues_to_age($($store)+).await;
            }

            // Threats: L5.
            #[tokio::test]
            async fn an_item_created_during_the_correction_lives_at_most_a_third_longer() {
                super::an_item_created_during_the_correction_lives_at_most_a_third_longer($($store)+).await;
            }
        }
    };
}

on!(on_sqlite, |_| ());
#[cfg(feature = "postgres")]
on!(
    on_postgres,
    crate::http::health::on_postgres(&crate::storage::postgres::Schema::created().await.url())
);
