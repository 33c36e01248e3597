//! A system clock that is set back or jumps: an expired item stays expired, and a
//! valid one continues to age. The clock's own tests have every way in which it is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use broker::clock::{Clock, Reading};
use broker::model::UnixMs;

use crate::test_broker::{Browser, CALLBACK, TestBroker, sign_in};

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
    let path = broker.session(3).await;
    Items {
        pending: broker.session(2).await,
        code: broker.code().await,
        token: broker.access_token().await,
        callback_path: browser.to_provider(&path).await,
    }
}

/// Asserts that all items are refused because they expired.
async fn all_have_expired(broker: &TestBroker, browser: &Browser, items: &Items) {
    let visited = broker.browser().get(&items.pending).await;
    visited.redirects_to(CALLBACK);
    let called_back = browser.get(&items.callback_path).await;
    called_back.redirects_to(CALLBACK);
    for key in [1, 2, 3] {
        broker.has_refused(&broker.result(key).await, 400, "result.expiry");
    }
    let code = broker.token(&items.code).await;
    broker.has_refused(&code, 400, "code.expiry");
    let profile = broker.profile(&items.token).await;
    broker.has_refused(&profile, 401, "bearer.expiry");
}

// Threats: A28, L5.
#[tokio::test]
async fn an_expired_item_stays_expired() {
    let clocks = SystemClocks::new();
    let broker = TestBroker::start_on(clocks.clock(), |_| ()).await;
    let browser = broker.browser();
    let items = create_items(&broker, &browser).await;
    let calls = broker.calls_upstream().await;

    // A token lives for 900 seconds, all others for less.
    for time in [900_000, 899_999, 0, -HOUR_MS, -START_MS, 0] {
        clocks.set(time);
        all_have_expired(&broker, &browser, &items).await;
    }
    assert_eq!(
        broker.calls_upstream().await,
        calls,
        "the upstream login is expired, too"
    );
}

// Threats: L5.
#[tokio::test]
async fn a_valid_item_continues_to_age() {
    let clocks = SystemClocks::new();
    let broker = TestBroker::start_on(clocks.clock(), |_| ()).await;
    broker.session(1).await;
    clocks.advance(590_000);
    broker.has_status(1, "pending").await;
    clocks.set(-HOUR_MS);
    broker.has_status(1, "pending").await;
    // Ahead of the system's clock, the broker's advances at three quarters of its speed.
    clocks.advance(13_332);
    broker.has_status(1, "pending").await;
    clocks.advance(1);
    broker.has_refused(&broker.result(1).await, 400, "result.expiry");
}
