//! The conformance runner: this kit's broker meets every requirement, the set of
//! requirements is frozen, and a run keeps its limits. Brokers that are made non-compliant
//! by a proxy break each requirement (`non_compliant.rs`).
//!
//! It is a program of its own, because its thousands of requests would fill the log that
//! `e2e/tests/it` keeps and searches. Both assemble their brokers by `broker_parts.rs`
//! of that suite.

#[path = "../../../tests/it/broker_parts.rs"]
mod parts;

mod command;
mod flaws;
mod non_compliant;
mod proxy;
mod test_broker;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use broker::store::StoreUrl;
use conformance::browser::BrowserDriver;
use conformance::control::StackControl;
use conformance::http::MAX_REQUESTS;
use conformance::report::Conclusion;
use conformance::{Expiry, Requirement, TestPlan};
use serde_json::json;

use proxy::{Flaw, ProxiedResponse};
use test_broker::{CLIENT_ID, NO_SERVER, SECRET, TestBroker, project, run};

/// Settings for snapshots of reports: what differs between runs is left out.
fn snapshots() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"(<|&#60;)((?:\w+ )?)[\w-]{12}(,|>|&#62;)", "$1$2…$3");
    settings.add_filter(r"127\.0\.0\.1:\d{4,}", "127.0.0.1:PORT");
    // The words of the operating system, of a library, and of this kit's broker.
    settings.add_filter("no connection: .*", "no connection: …");
    settings.add_filter(r#""message":"[^"]*("|…)"#, r#""message":"…""#);
    settings
}

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
    assert_eq!(report.requests, 272, "e2e/README.md has this number");
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
        control: StackControl::at(NO_SERVER).ok(),
        ..broker.plan()
    };
    let report = run(&plan).await;
    assert_eq!(report.conclusion(), Conclusion::Inconclusive);
    assert!(report.results.iter().all(|it| it.verdict.label() != "FAIL"));
    let unreachable = format!("the control address {NO_SERVER}");
    assert!(report.harness_errors[0].contains(&unreachable));
}
