//! The conformance runner: this kit's broker meets every requirement, the set of
//! requirements is frozen, and a run keeps its limits. Brokers that a proxy makes
//! non-compliant in one way each do not meet the requirement that they break, and a reader
//! has approved what a report says of them.
//!
//! It is a program of its own, because its thousands of requests would fill the log that
//! `e2e/tests/it` keeps and searches. Both assemble their brokers by `broker_parts.rs`
//! of that suite.

#[path = "../../../tests/it/broker_parts.rs"]
mod parts;

mod command;
mod flaws;
mod proxy;
mod races;
mod replica;
mod test_broker;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent::control::Control;
use broker::store::StoreUrl;
use conformance::browser::BrowserDriver;
use conformance::http::MAX_REQUESTS;
use conformance::report::Conclusion;
use conformance::{ConformanceReport, Expiry, Law, Requirement, TestPlan, Verdict};
use rocket::futures::StreamExt as _;
use rocket::futures::stream;
use serde_json::json;
use testkit::leak_check::drawn;

use flaws::flaw_of;
use proxy::{Flaw, ProxiedResponse};
use test_broker::{CLIENT_ID, NO_SERVER, OTHER_SECRET, SECOND_CALLBACK, SECRET, TestBroker};
use test_broker::{project, run};

/// The number of brokers that are tested at once: about one per processor.
const IN_FLIGHT: usize = 4;

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
    let broker = TestBroker::start(store, Flaw::default(), 1).await;
    let report = broker.run().await;
    let passes = report.counts()[0];
    assert_eq!(
        passes,
        ("PASS", Requirement::ALL.len()),
        "{}",
        report.table()
    );
    assert_eq!(report.conclusion(), Conclusion::Conformant);
    assert_eq!(report.requests, 272, "docs/CONFORMANCE.md has this number");
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
        project: project(CLIENT_ID, SECRET, SECOND_CALLBACK),
        other: None,
        browser: BrowserDriver::Automatic,
        control: None,
        expiry: Expiry::LeftOut,
        races: None,
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
        control: Control::at(NO_SERVER).ok(),
        ..broker.plan()
    };
    let report = run(&plan).await;
    assert_eq!(report.conclusion(), Conclusion::Inconclusive);
    assert!(report.results.iter().all(|it| it.verdict.label() != "FAIL"));
    let unreachable = format!("the control address {NO_SERVER}");
    assert!(report.harness_errors[0].contains(&unreachable));
}

// Threats: CVE-2021-21411, L9.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_breaks_a_requirement_fails_it_for_the_right_reason_and_nothing_else() {
    let reports: Vec<_> = stream::iter(Requirement::ALL)
        .map(async |requirement| {
            let (words, flaw) = flaw_of(*requirement);
            (
                *requirement,
                words,
                report_of(*requirement, TestBroker::with(flaw).await).await,
            )
        })
        .buffered(IN_FLIGHT)
        .collect()
        .await;
    let mut unbroken = Vec::new();
    let mut approved = String::new();
    for (requirement, words, report) in &reports {
        if !is_broken(*requirement, report) {
            unbroken.push(requirement.id());
        }
        assert_shows_no_secret(report);
        let _ = writeln!(approved, "# A broker that {words}");
        describe(&mut approved, *requirement, report);
    }
    assert_eq!(
        unbroken,
        Vec::<&str>::new(),
        "not broken by their flaws:\n{approved}"
    );
    snapshots().bind(|| insta::assert_snapshot!("flaws", approved));
}

/// Plays the scenarios that cover a requirement; all of them where these do not show the
/// flaw, since it takes two.
async fn report_of(requirement: Requirement, broker: TestBroker) -> ConformanceReport {
    let report = broker.run_some(&[requirement]).await;
    if is_broken(requirement, &report) {
        report
    } else {
        broker.run().await
    }
}

fn is_broken(requirement: Requirement, report: &ConformanceReport) -> bool {
    let verdict = match requirement.law() {
        Law::Spec(_) => Verdict::Fail,
        Law::KitChoice => Verdict::Unspecified,
    };
    let mut results = report.results.iter();
    results.any(|it| it.requirement == requirement && it.verdict == verdict)
}

/// Writes the conclusion, the broken requirement with its evidence, and the other
/// verdicts of the scenarios that were played, if they are no pass.
fn describe(text: &mut String, broken: Requirement, report: &ConformanceReport) {
    let _ = writeln!(text, "is {:?}", report.conclusion());
    let mut skipped = Vec::new();
    for it in &report.results {
        let (id, label, reason) = (it.requirement.id(), it.verdict.label(), &it.reason);
        match (it.verdict, &it.evidence) {
            (Verdict::Pass, _) => {}
            (Verdict::Skipped, _) if reason == "no scenario got there" => {}
            (Verdict::Skipped, _) => skipped.push(id),
            (_, Some(evidence)) if it.requirement == broken => {
                let _ = writeln!(text, "{label} {id}: {reason}");
                let _ = writeln!(text, "  {}\n  -> {}", evidence.sent, evidence.received);
            }
            _ => {
                let _ = writeln!(text, "also {label} {id}: {reason}");
            }
        }
    }
    if !skipped.is_empty() {
        let _ = writeln!(text, "SKIPPED {}", skipped.join(" "));
    }
    text.push('\n');
}

/// Neither a secret nor who signed in is in any form of the report.
fn assert_shows_no_secret(report: &ConformanceReport) {
    for text in [report.table(), report.json(), report.junit()] {
        for secret in [SECRET, OTHER_SECRET, "conformance@app.example"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(drawn(&text).next(), None, "{text}");
    }
}
