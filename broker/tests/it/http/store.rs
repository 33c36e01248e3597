//! The store under a running broker. `/livez` and `/readyz`: the broker starts without its
//! database, and reports that it is not ready. A store that fails: no step happens by half,
//! and every login survives. And expired rows, deleted while a broker serves.

use std::sync::mpsc::channel;
use std::time::Duration;

use broker::Dependencies;
use broker::cookie_cipher::CookieKey;
use broker::store::StoreUrl;
use broker::store::fail_points::{FailPoint, FailPoints};
use serde_json::json;

use crate::file_broker::BrokerWithOutages;
use crate::installation::Scratch;
use crate::test_broker::{CALLBACK, TestBroker, adas_profile, session_body, state};

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
    let broker = TestBroker::start_with(|config| {
        config.store.url = "postgres://127.0.0.1:1/broker".parse().unwrap();
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    })
    .await;
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

// Threats: A23, CVE-2020-15223.
#[tokio::test]
async fn a_failed_revocation_or_exchange_is_not_reported_as_done() {
    let outages = BrokerWithOutages::start().await;
    let broker = &outages.broker;
    let (token, code) = (broker.access_token().await, broker.code().await);
    outages.disable("grants");
    for response in [
        broker.revoke(&token).await,
        broker.profile(&token).await,
        broker.token(&code).await,
    ] {
        broker.has_refused(&response, 503, "store.reachable");
    }
    outages.enable("grants");
    assert_eq!(broker.token(&code).await.status, 200);
    broker.profile(&token).await.is_json(200, &adas_profile());
    broker.revoke(&token).await.is_json(200, &json!({}));
    broker.profile(&token).await.is_refusal(401);
}

// Threats: A37.
#[tokio::test]
async fn a_login_survives_an_outage() {
    let outages = BrokerWithOutages::start().await;
    let broker = &outages.broker;
    broker.sign_in(1).await;
    let path = broker.session(2).await;
    outages.disable("logins");
    broker.result(1).await.is_refusal(503);
    let session = broker.post("/v1/login/session", &session_body(3)).await;
    session.is_refusal(503);
    let page = broker.browser().get(&path).await;
    page.is_refusal_page(503, "store.reachable");
    outages.enable("logins");
    broker.has_status(1, "succeeded").await;
    broker.session(3).await;
    let redirect = broker.browser().get(&path).await;
    assert_eq!(redirect.status, 303);
}

// Threats: B30.
#[tokio::test]
async fn an_upstream_login_that_cannot_be_consumed_does_not_reach_the_provider() {
    let outages = BrokerWithOutages::start().await;
    let broker = &outages.broker;
    let (browser, back) = broker.at_provider(1).await;
    outages.disable("spent_trips");
    let page = browser.get(&back).await;
    page.is_refusal_page(503, "store.reachable");
    assert_eq!(broker.calls_upstream(), 0);
    outages.enable("spent_trips");
    browser.get(&back).await.redirects_to(CALLBACK);
}

// Threats: B30.
#[tokio::test]
async fn a_consumed_upstream_login_redirects_to_the_callback_although_the_store_fails() {
    let outages = BrokerWithOutages::start().await;
    let broker = &outages.broker;
    let (browser, back) = broker.at_provider(1).await;
    outages.disable("logins");
    let returned = browser.get(&back).await;
    assert_eq!(broker.last_rule(), Some("store.reachable"));
    returned.redirects_to(CALLBACK);
    outages.enable("logins");
    broker.has_status(1, "pending").await;
}

// Threats: B30.
#[tokio::test]
async fn a_legacy_login_whose_code_cannot_be_stored_returns_an_error() {
    let outages = BrokerWithOutages::start().await;
    let broker = &outages.broker;
    let (browser, back) = broker.at_provider_in_legacy().await;
    outages.disable("grants");
    let returned = browser.get(&back).await;
    assert_eq!(broker.last_rule(), Some("store.reachable"));
    let error = format!("error=provider_unavailable&state={}", state());
    returned.redirects_to(&format!("{CALLBACK}?{error}"));
}

fn logins(scratch: &Scratch) -> i64 {
    let file = rusqlite::Connection::open(scratch.file("broker.db")).unwrap();
    file.query_row("SELECT count(*) FROM logins", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_deletes_expired_rows_for_as_long_as_it_serves() {
    let scratch = Scratch::new();
    let (sender, committed) = channel();
    let dependencies = Dependencies {
        fail_points: FailPoints::new(move |point| {
            if point == FailPoint::AfterCommit {
                let _ = sender.send(());
            }
        }),
        sweep_every: Some(Duration::from_millis(1)),
        ..Dependencies::default()
    };
    let broker = TestBroker::start_in(dependencies, |config| {
        config.store.url = StoreUrl::SqliteFile(scratch.file("broker.db"));
    })
    .await;
    for key in [1, 2] {
        broker.session(key).await;
        assert_eq!(logins(&scratch), 1, "it is known for 1200 seconds");
        broker.advance_ms(1_200_000);
        while logins(&scratch) > 0 {
            let step = committed.recv_timeout(Duration::from_secs(20));
            step.expect("the sweeper runs without requests");
        }
    }
}
