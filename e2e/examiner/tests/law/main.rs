//! The law of the examiner: the good consumers pass every check, and each fault of the
//! table, put into a copy of one, fails exactly its checks.
//!
//! `just test-examiner` installs what the consumers need and runs this. The published
//! matrix is `e2e/consumers/MATRIX.md`; `just examiner-matrix` writes it.

mod consumer;
mod fault;
mod matrix;
mod rust_builds;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use examiner::app::Flow;
use examiner::catalogue::Instrument;
use examiner::plan::ChromiumSettings;
use examiner::verdict::Verdict;
use examiner::{ExaminationPlan, Report};
use tokio::sync::Semaphore;

use consumer::{Consumer, Copy};
use fault::Fault;

/// Examinations at once: each waits about as long as it computes.
static PERMITS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(4));

/// Examines a copy of a consumer, in one testbed.
async fn examine(copy: &Copy, flow: Option<Flow>, chromium: ChromiumSettings) -> Report {
    let mut plan = ExaminationPlan::new(Copy::start());
    plan.command = copy.command();
    plan.jobs = Some(1);
    plan.flow = flow;
    plan.chromium = chromium;
    let report = examiner::examine(&plan, &mut |_| ()).await;
    report.unwrap_or_else(|error| panic!("{}: {error}", copy.name()))
}

/// Chromium, if the fault shows in nothing else: it costs as much as all other checks.
fn chromium_for(fault: &Fault) -> ChromiumSettings {
    let checks = examiner::catalogue::checks().iter();
    let mut own = checks.filter(|check| fault.fails.contains(&check.id));
    let shows_in_chromium_alone = own.any(|check| check.instruments == [Instrument::Chromium]);
    if fault.needs_chromium || shows_in_chromium_alone {
        ChromiumSettings::Hidden
    } else {
        ChromiumSettings::Off
    }
}

/// The checks that found something, with what they saw.
fn red(report: &Report) -> Vec<(String, String)> {
    let red = report.results.iter().filter(|it| !is_fine(it.verdict));
    red.map(|it| {
        let seen = format!("{}: {}", it.verdict.label(), it.actual);
        (it.check.id.clone(), seen)
    })
    .collect()
}

fn is_fine(verdict: Verdict) -> bool {
    use Verdict::{NotApplicable, NotTested, Pass};
    matches!(verdict, Pass | NotApplicable | NotTested)
}

async fn a_good_consumer_passes(consumer: Consumer) {
    let copy = Copy::good(consumer);
    let report = examine(&copy, None, ChromiumSettings::Hidden).await;
    assert_eq!(red(&report), [], "{consumer:?}");
    assert_eq!(report.grade.as_str(), "A+", "{consumer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flask_consumer_passes_every_check() {
    a_good_consumer_passes(Consumer::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_express_consumer_passes_every_check() {
    a_good_consumer_passes(Consumer::Node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_passes_every_check() {
    a_good_consumer_passes(Consumer::Rust).await;
}

/// One line of what went wrong, if a fault fails other checks than its own.
async fn difference(fault: Arc<Fault>) -> Option<String> {
    let copy = Copy::with_fault(&fault).await;
    let permit = PERMITS.acquire().await;
    let report = examine(&copy, Some(fault.flow()), chromium_for(&fault)).await;
    drop(permit);
    let found = red(&report);
    let ids: BTreeSet<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    let wanted: BTreeSet<&str> = fault.fails.iter().map(String::as_str).collect();
    (ids != wanted).then(|| format!("{}: {wanted:?} expected, but {found:?}", fault.id))
}

async fn each_fault_fails_exactly_its_checks(consumer: Consumer) {
    let mut running = tokio::task::JoinSet::new();
    for fault in fault::all()
        .into_iter()
        .filter(|it| it.consumer == consumer)
    {
        running.spawn(difference(Arc::new(fault)));
    }
    assert!(
        running.len() >= 15,
        "every language has at least fifteen faults"
    );
    let differences: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_the_flask_consumer_fails_exactly_its_checks() {
    each_fault_fails_exactly_its_checks(Consumer::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_the_express_consumer_fails_exactly_its_checks() {
    each_fault_fails_exactly_its_checks(Consumer::Node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_the_demo_fails_exactly_its_checks() {
    each_fault_fails_exactly_its_checks(Consumer::Rust).await;
}

#[test]
fn every_check_is_broken_by_a_fault() {
    let broken: BTreeSet<_> = fault::all().into_iter().flat_map(|it| it.fails).collect();
    let checks = examiner::catalogue::checks()
        .iter()
        .map(|check| check.id.clone());
    let unbroken: Vec<_> = checks.filter(|id| !broken.contains(id)).collect();
    assert_eq!(unbroken, Vec::<String>::new());
}

#[test]
fn the_published_matrix_is_that_of_the_table() {
    matrix::compare_or_publish(&fault::all());
}
