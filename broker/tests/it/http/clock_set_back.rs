//! The machine's clock is set back, or jumps: what was seen expired stays so, and
//! what lives goes on ageing.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use broker::clock::{Clock, Reading};
use broker::config::Config;
use broker::model::UnixMs;

use testkit::http::Response;

use crate::test_broker::{Browser, CALLBACK, TestBroker, back_path, sign_in};

/// What the machine's clock says when a test begins.
const START_MS: i64 = 1_790_000_000_000;
const HOUR_MS: i64 = 3_600_000;

/// The machine's clocks: one that anybody may set, and one that nobody can.
#[derive(Clone)]
struct Wall {
    time: Arc<AtomicI64>,
    running: Arc<AtomicI64>,
}

impl Wall {
    fn new() -> Self {
        Self {
            time: Arc::new(AtomicI64::new(START_MS)),
            running: Arc::default(),
        }
    }

    fn clock(&self) -> Clock {
        let machine = self.clone();
        Clock::from_source(move || Reading {
            wall: UnixMs(machine.time.load(Ordering::SeqCst)),
            monotonic_ms: machine.running.load(Ordering::SeqCst),
        })
    }

    /// Sets it to so many milliseconds after the beginning, or before it.
    fn set(&self, ms: i64) {
        self.time.store(START_MS + ms, Ordering::SeqCst);
    }

    fn passes(&self, ms: i64) {
        for clock in [&self.time, &self.running] {
            clock.fetch_add(ms, Ordering::SeqCst);
        }
    }
}

/// Everything that can expire, made at the same time.
struct Made {
    pending: String,
    code: String,
    token: String,
    return_path: String,
}

/// Result 1 is settled, login 2 is pending, login 3 is away at the provider.
async fn make_everything(broker: &TestBroker, traveller: &Browser) -> Made {
    sign_in(broker, 1).await;
    let away = traveller.get(&broker.session(3).await).await;
    Made {
        pending: broker.session(2).await,
        code: broker.code().await,
        token: broker.access_token().await,
        return_path: back_path(&away, "code=upstream-code"),
    }
}

/// Checks an answer, and the rule behind it.
#[track_caller]
fn check(broker: &TestBroker, answer: &Response, status: u16, rule: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(broker.last_rule(), Some(rule));
}

/// Checks that all of it is refused for its age.
async fn all_has_expired(broker: &TestBroker, traveller: &Browser, made: &Made) {
    broker
        .browser()
        .get(&made.pending)
        .await
        .redirects_to(CALLBACK);
    traveller
        .get(&made.return_path)
        .await
        .redirects_to(CALLBACK);
    for key in [1, 2, 3] {
        check(broker, &broker.result(key).await, 400, "result.expiry");
    }
    let code = broker.token(&made.code).await;
    check(broker, &code, 400, "code.expiry");
    let profile = broker.profile(&made.token).await;
    check(broker, &profile, 401, "bearer.expiry");
}

/// Checks that none of it is of use, known or forgotten.
async fn nothing_lives(broker: &TestBroker, made: &Made) {
    for key in [1, 2, 3] {
        broker.result(key).await.is_refusal(400);
    }
    broker.token(&made.code).await.is_refusal(400);
    broker.profile(&made.token).await.is_refusal(401);
}

async fn an_expired_item_stays_expired(change: impl FnOnce(&mut Config)) {
    let wall = Wall::new();
    let broker = TestBroker::start_on(wall.clock(), change).await;
    let traveller = broker.browser();
    let made = make_everything(&broker, &traveller).await;
    let asked = broker.calls_upstream().await;

    // A token has 900 seconds, everything else less.
    wall.set(900_000);
    all_has_expired(&broker, &traveller, &made).await;
    for back in [899_999, 0, -HOUR_MS, -START_MS] {
        wall.set(back);
        all_has_expired(&broker, &traveller, &made).await;
    }
    for to_and_fro in [0, HOUR_MS, 0, 899_999, 1] {
        wall.set(to_and_fro);
        nothing_lives(&broker, &made).await;
    }
    assert_eq!(
        broker.calls_upstream().await,
        asked,
        "nor does the upstream login"
    );
}

async fn a_valid_item_continues_to_age(change: impl FnOnce(&mut Config)) {
    let wall = Wall::new();
    let broker = TestBroker::start_on(wall.clock(), change).await;
    sign_in(&broker, 1).await;
    broker.session(2).await;
    let token = broker.access_token().await;
    wall.passes(590_000);
    assert_eq!(broker.result(2).await.status, 200);
    wall.set(-HOUR_MS);
    assert_eq!(broker.result(2).await.status, 200);
    // While it is behind, time goes on at three quarters of its speed.
    wall.passes(13_332);
    assert_eq!(broker.result(2).await.status, 200, "it is not over yet");
    wall.passes(1);
    check(&broker, &broker.result(1).await, 400, "result.expiry");
    check(&broker, &broker.result(2).await, 400, "result.expiry");
    assert_eq!(broker.profile(&token).await.status, 200);
    wall.passes(400_000);
    check(&broker, &broker.profile(&token).await, 401, "bearer.expiry");
}

/// The clock was two hours ahead and is corrected.
async fn an_item_created_during_the_correction_lives_at_most_a_third_longer(
    change: impl FnOnce(&mut Config),
) {
    let wall = Wall::new();
    let broker = TestBroker::start_on(wall.clock(), change).await;
    wall.set(2 * HOUR_MS);
    broker.session(1).await;
    wall.set(0);
    broker.session(2).await;
    wall.passes(799_998);
    for key in [1, 2] {
        assert_eq!(broker.result(key).await.status, 200);
    }
    wall.passes(1);
    for key in [1, 2] {
        check(&broker, &broker.result(key).await, 400, "result.expiry");
    }
    wall.passes(8 * HOUR_MS);
    let true_time = UnixMs(START_MS + 8 * HOUR_MS + 799_999);
    assert_eq!(broker.clock.now(), true_time, "it is healed");
    broker.session(3).await;
    wall.passes(599_999);
    assert_eq!(broker.result(3).await.status, 200);
    wall.passes(1);
    check(&broker, &broker.result(3).await, 400, "result.expiry");
}

macro_rules! on {
    ($engine:ident, $($store:tt)+) => {
        mod $engine {
            #[tokio::test]
            async fn an_expired_item_stays_expired() {
                super::an_expired_item_stays_expired($($store)+).await;
            }

            #[tokio::test]
            async fn a_valid_item_continues_to_age() {
                super::a_valid_item_continues_to_age($($store)+).await;
            }

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
