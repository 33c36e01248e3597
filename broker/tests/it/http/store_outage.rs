//! A store that fails: no step happens by half, and every login survives.

use broker::clock::Clock;
use broker::config::Config;
use broker::store::StoreUrl;
use serde_json::json;

use crate::scratch::Scratch;
use crate::test_broker::{CALLBACK, TestBroker, adas_profile, session_body, sign_in, state};

/// A broker whose tables can be disabled.
pub(super) struct BrokerWithOutages {
    pub(super) broker: TestBroker,
    scratch: Scratch,
}

impl BrokerWithOutages {
    async fn start() -> Self {
        Self::start_on(Clock::system(), |_| ()).await
    }

    /// Starts one with this clock and a changed configuration.
    pub(super) async fn start_on(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let scratch = Scratch::new();
        let url = StoreUrl::SqliteFile(scratch.file("broker.db"));
        let broker = TestBroker::start_on(clock, |config| {
            config.store.url = url;
            change(config);
        })
        .await;
        Self { broker, scratch }
    }

    pub(super) fn disable(&self, table: &str) {
        self.execute(&format!("ALTER TABLE {table} RENAME TO away"));
    }

    fn enable(&self, table: &str) {
        self.execute(&format!("ALTER TABLE away RENAME TO {table}"));
    }

    /// Locks the database until the connection is dropped.
    pub(super) fn lock(&self) -> rusqlite::Connection {
        let file = rusqlite::Connection::open(self.scratch.file("broker.db")).unwrap();
        file.execute_batch("BEGIN IMMEDIATE").unwrap();
        file
    }

    fn execute(&self, statement: &str) {
        let file = rusqlite::Connection::open(self.scratch.file("broker.db")).unwrap();
        file.execute_batch(statement).unwrap();
    }
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
    sign_in(broker, 1).await;
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
