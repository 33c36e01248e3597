//! The runner itself: this kit's broker, the set of requirements, and the limits of a
//! run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use broker::store::StoreUrl;
use conformance::browser::BrowserDriver;
use conformance::control::StackControl;
use conformance::http::MAX_REQUESTS;
use conformance::report::Conclusion;
use conformance::{Expiry, Requirement, TestPlan};
use serde_json::json;

use super::proxy::{self, Flaw, ProxiedResponse};
use super::test_broker::{CLIENT_ID, NO_SERVER, SECRET, TestBroker, project, run};

async fn assert_meets_every_requirement(store: StoreUrl) {
    let report = TestBroker::start(store, Flaw::default()).await.run().await;
    let passes = report.counts()[0];
    assert_eq!(
        passes,
        ("PASS", Requirement::ALL.len()),
        "{}",
        report.table()
    );
    assert_eq!(report.conclusion(), Conclusion::Conformant);
}

#[tokio::test(flavor = "multi_thread")]
async fn this_kits_broker_meets_every_requirement_on_sqlite() {
    assert_meets_every_requirement(StoreUrl::SqliteMemory).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn this_kits_broker_meets_every_requirement_on_postgresql() {
    use testkit::postgres::{Durability, Server};
    let server = Server::start(Durability::Relaxed).expect("PostgreSQL");
    let url = server.url("postgres").parse().expect("a store's URL");
    assert_meets_every_requirement(url).await;
}

#[test]
fn the_requirements_of_0_1_0_are_these() {
    let ids: Vec<_> = Requirement::ALL.iter().map(|it| it.id()).collect();
    let frozen: Vec<_> = include_str!("requirements-0.1.0.txt").lines().collect();
    assert_eq!(ids, frozen);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_everything_gets_no_more_requests_than_promised() {
    let (listener, base_url) = testkit::server::bind();
    let asked_for = Arc::new(AtomicUsize::new(0));
    let count = asked_for.clone();
    let own = base_url.clone();
    proxy::serve(listener, move |request| {
        count.fetch_add(1, Ordering::Relaxed);
        let body = match request.path.as_str() {
            "/api/providers" => json!([{ "id": "google" }]),
            "/v1/login/session" => json!({ "authorization_url": format!("{own}/somewhere") }),
            _ => json!({}),
        };
        async move { ProxiedResponse::of(200, &body.to_string()) }
    });
    let plan = TestPlan {
        base_url,
        project: project(CLIENT_ID, SECRET),
        other: None,
        browser: BrowserDriver::Automatic,
        control: None,
        expiry: Expiry::LeftOut,
    };
    let report = run(&plan).await;
    assert_eq!(report.conclusion(), Conclusion::NonConformant);
    let asked_for = asked_for.load(Ordering::Relaxed);
    assert_eq!(report.requests, asked_for);
    assert!(asked_for <= MAX_REQUESTS, "{asked_for}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_control_address_is_a_harness_error_and_no_failure() {
    let broker = TestBroker::compliant().await;
    let plan = TestPlan {
        control: Some(StackControl::at(NO_SERVER)),
        ..broker.plan()
    };
    let report = run(&plan).await;
    assert_eq!(report.conclusion(), Conclusion::Inconclusive);
    assert!(report.results.iter().all(|it| it.verdict.label() != "FAIL"));
    let unreachable = format!("the control address {NO_SERVER}");
    assert!(report.harness_errors[0].contains(&unreachable));
}
