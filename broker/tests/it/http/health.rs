//! `/livez` and `/readyz`. The broker starts without its database, reports that it is
//! not ready, and serves as soon as the database is there.

use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use serde_json::json;

use crate::test_broker::{TestBroker, session_body};

fn on_postgres(url: &str) -> impl FnOnce(&mut Config) {
    let url = url.parse().unwrap();
    move |config| {
        config.store.url = url;
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    }
}

#[tokio::test]
async fn a_broker_with_its_store_is_live_and_ready() {
    let broker = TestBroker::start().await;
    for (path, status) in [("/livez", "live"), ("/readyz", "ready")] {
        broker
            .get(path)
            .await
            .is_json(200, &json!({ "status": status }));
    }
}

#[tokio::test]
async fn a_broker_without_its_database_is_live_and_not_ready() {
    // Port 1 of loopback: closed on any sane machine.
    let broker = TestBroker::start_with(on_postgres("postgres://127.0.0.1:1/broker")).await;
    broker
        .get("/livez")
        .await
        .is_json(200, &json!({ "status": "live" }));
    broker.has_refused(&broker.get("/readyz").await, 503, "store.reachable");
    broker
        .refuses(
            "/v1/login/session",
            &session_body(1),
            503,
            "store.reachable",
        )
        .await;
    assert_eq!(broker.get("/api/providers").await.status, 200);
}

#[cfg(feature = "postgres")]
mod on_a_real_one {
    use broker::clock::{Clock, Reading};

    use super::*;
    use crate::storage::postgres::Schema;

    #[tokio::test]
    async fn a_broker_becomes_ready_when_its_database_appears() {
        let database = Schema::new();
        let broker = TestBroker::start_with(on_postgres(&database.url_of_database("later"))).await;
        broker.get("/readyz").await.is_refusal(503);
        database.execute("CREATE DATABASE later").await;
        assert_eq!(broker.get("/readyz").await.status, 200);
        broker.session(1).await;
    }

    /// A broker whose clock is `ms` ahead of the database's.
    async fn ahead_by(ms: i64) -> TestBroker {
        let system = Clock::system();
        let clock = Clock::from_source(move || Reading {
            wall: system.now().plus_ms(ms),
            monotonic_ms: 0,
        });
        let database = Schema::created().await;
        TestBroker::start_on(clock, on_postgres(&database.url())).await
    }

    // Threats: L3.
    #[tokio::test]
    async fn a_broker_is_ready_while_its_clock_is_30_seconds_off_the_databases_at_most() {
        for ms in [-28_000, 28_000] {
            assert_eq!(ahead_by(ms).await.get("/readyz").await.status, 200, "{ms}");
        }
        for ms in [-32_000, 32_000, 3_600_000] {
            let broker = ahead_by(ms).await;
            broker.has_refused(&broker.get("/readyz").await, 503, "store.reachable");
        }
    }

    #[tokio::test]
    async fn an_advanced_clock_does_not_count_as_wrong() {
        let broker = ahead_by(0).await;
        broker.advance_ms(3_600_000);
        assert_eq!(broker.get("/readyz").await.status, 200);
    }
}
