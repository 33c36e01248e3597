//! The law of the examiner: the good consumers pass every check, and each fault of the
//! table, put into a copy of one, fails exactly its checks.
//!
//! With `FULL_SIZE` in the environment each fault is examined in every check. Else it is
//! examined in those that it must fail, and every twentieth in all of them: with each commit
//! others.
//!
//! A storm finds what only many people at once show.
//!
//! `just test-examiner` installs what the consumers need and runs this. The published
//! matrix is `e2e/consumers/MATRIX.md`; `just examiner-matrix` writes it.

mod consumer;
mod matrix;
mod practice;

use std::collections::BTreeSet;
use std::future::pending;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use examiner::catalogue::Instrument;
use examiner::fault::Fault;
use examiner::plan::ChromiumSettings;
use examiner::storm::{StormPlan, storm};
use examiner::verdict::Verdict;
use examiner::{ExaminationPlan, Report};
use testkit::server::free_port;
use tokio::sync::Semaphore;

use consumer::{Consumer, Copy};

/// Examinations at once: each waits about as long as it computes.
static PERMITS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(4));

/// The plan of examining a copy of a consumer in one testbed.
fn plan(copy: &Copy, chromium: ChromiumSettings) -> ExaminationPlan {
    let start = format!("http://localhost:{}/", free_port());
    let mut plan = ExaminationPlan::new(start.parse().expect("it is an address"));
    plan.command.clone_from(&copy.command);
    plan.share = Some(consumer::share());
    plan.jobs = Some(1);
    plan.chromium = chromium;
    plan
}

async fn examine(copy: &Copy, plan: ExaminationPlan) -> Report {
    let report = examiner::examine(&plan, &mut |_| (), pending()).await;
    let report = report.unwrap_or_else(|error| panic!("{}: {error}", copy.name));
    report.expect("nothing interrupts it")
}

/// One fault in so many is examined in every check.
const TWENTIETH: usize = 20;

/// Whether the fault at this place of the table is examined in every check: no other than its
/// own may fail, either.
fn has_turn(place: usize) -> bool {
    setting("FULL_SIZE").is_some() || place % TWENTIETH == *COMMITS % TWENTIETH
}

/// The number of commits.
static COMMITS: LazyLock<usize> = LazyLock::new(|| {
    let mut git = Command::new("git");
    let counted = git.args(["rev-list", "--count", "HEAD"]).output();
    let counted = String::from_utf8(counted.expect("git is there").stdout);
    let counted = counted.expect("a number is text");
    counted.trim().parse().expect("git counts")
});

#[expect(clippy::disallowed_methods, reason = "the settings of these tests")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Chromium, if the fault shows in nothing else: it costs as much as all other checks.
fn chromium_for(fault: &Fault) -> ChromiumSettings {
    let mut checks = fault.checks();
    let shows_in_chromium_alone = checks.any(|check| check.instruments == [Instrument::Chromium]);
    match fault.needs_chromium || shows_in_chromium_alone {
        true => ChromiumSettings::Hidden,
        false => ChromiumSettings::Off,
    }
}

/// The checks that found something, with what they saw.
fn red(report: &Report) -> Vec<(String, String)> {
    let red = report.results.iter().filter(|it| !is_fine(it.verdict));
    red.map(|it| {
        let seen = format!("{}: {}", it.verdict, it.actual);
        (it.check.id.clone(), seen)
    })
    .collect()
}

fn is_fine(verdict: Verdict) -> bool {
    use Verdict::{NotApplicable, NotTested, Pass};
    matches!(verdict, Pass | NotApplicable | NotTested)
}

async fn a_good_consumer_passes(id: &str) {
    let Some(consumer) = Consumer::installed(id) else {
        return;
    };
    let copy = Copy::good(consumer);
    // Chromium costs as much as all the rest: of the languages that `just` does not install one
    // has it, with each commit another.
    let (chromium, grade) = match consumer.has_turn(*COMMITS) {
        true => (ChromiumSettings::Hidden, "Grade A+"),
        false => (ChromiumSettings::Off, "Grade A"),
    };
    let mut plan = plan(&copy, chromium);
    plan.jobs = Some(2);
    let report = examine(&copy, plan).await;
    assert_eq!(red(&report), [], "{id}");
    let untested = report.with(Verdict::NotTested).into_iter();
    let untested: Vec<_> = untested.map(|it| (&it.check.id, &it.actual)).collect();
    assert_eq!(report.title(), grade, "{id}: {untested:?}");
}

// Threats: C14, C18.
#[tokio::test(flavor = "multi_thread")]
async fn the_demo_passes_every_check() {
    a_good_consumer_passes("rust").await;
}

/// The findings of a storm of a few seconds.
async fn found_in_storm(copy: &Copy) -> Vec<String> {
    let weather = StormPlan {
        length: Duration::from_secs(4),
        seed: 7,
    };
    let plan = plan(copy, ChromiumSettings::Off);
    let report = storm(&plan, weather, pending()).await;
    let report = report.unwrap_or_else(|error| panic!("{}: {error}", copy.name));
    let violations = report.expect("nothing interrupts it").violations;
    violations.into_iter().map(|it| it.says).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_finds_a_sign_out_at_one_instance_and_nothing_at_a_good_consumer() {
    let good = Copy::good(Consumer::installed("python").expect("`just` installs it"));
    assert_eq!(found_in_storm(&good).await, Vec::<String>::new());
    let fault = Fault::named("sign-out-known-to-one-process").expect("a fault of the table");
    let wrong = Copy::with_fault(fault).await;
    let found = found_in_storm(&wrong).await;
    let says = "after sign-out, a copy of the session's cookie still opens the session";
    assert!(found.iter().any(|it| it == says), "{found:?}");
}

/// One line of what went wrong, if a fault fails other checks than its own.
async fn difference(fault: &Fault, is_whole: bool) -> Option<String> {
    let copy = Copy::with_fault(fault).await;
    let permit = PERMITS.acquire().await;
    let mut plan = plan(&copy, chromium_for(fault));
    plan.flow = Some(fault.flow());
    if !is_whole {
        plan.only = fault.fails.clone();
    }
    let report = examine(&copy, plan).await;
    drop(permit);
    let found = red(&report);
    let ids = found.iter().map(|(id, _)| id);
    let ids: BTreeSet<_> = ids.filter(|id| !fault.may_fail.contains(id)).collect();
    let wanted: BTreeSet<_> = fault.fails.iter().collect();
    (ids != wanted).then(|| format!("{}: {wanted:?} expected, but {found:?}", fault.id))
}

async fn each_fault_fails_exactly_its_checks(id: &str) {
    let Some(consumer) = Consumer::installed(id) else {
        return;
    };
    let mut running = tokio::task::JoinSet::new();
    for (place, fault) in Fault::all().iter().enumerate() {
        if fault.consumer == id {
            running.spawn(difference(fault, has_turn(place)));
        }
    }
    let least = consumer.least_faults();
    assert!(running.len() >= least, "{id} has at least {least} faults");
    let differences: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_the_demo_fails_exactly_its_checks() {
    each_fault_fails_exactly_its_checks("rust").await;
}

macro_rules! law {
    ($($consumer:literal: $passes:ident, $each_fault:ident;)+) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $passes() {
            a_good_consumer_passes($consumer).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $each_fault() {
            each_fault_fails_exactly_its_checks($consumer).await;
        }
    )+};
}

law! {
    "python": the_flask_consumer_passes_every_check, each_fault_of_the_flask_consumer_fails_exactly_its_checks;
    "node": the_express_consumer_passes_every_check, each_fault_of_the_express_consumer_fails_exactly_its_checks;
    "go": the_go_consumer_passes_every_check, each_fault_of_the_go_consumer_fails_exactly_its_checks;
    "java": the_java_consumer_passes_every_check, each_fault_of_the_java_consumer_fails_exactly_its_checks;
    "php": the_php_consumer_passes_every_check, each_fault_of_the_php_consumer_fails_exactly_its_checks;
    "ruby": the_ruby_consumer_passes_every_check, each_fault_of_the_ruby_consumer_fails_exactly_its_checks;
}

#[test]
fn every_check_is_broken_by_a_fault() {
    let broken = Fault::all().iter().flat_map(|it| &it.fails);
    let broken: BTreeSet<_> = broken.collect();
    let checks = examiner::catalogue::checks().iter().map(|check| &check.id);
    let unbroken: Vec<_> = checks.filter(|id| !broken.contains(id)).collect();
    assert_eq!(unbroken, Vec::<&String>::new());
}

#[test]
fn the_published_matrix_is_that_of_the_table() {
    matrix::compare_or_publish(Fault::all());
}
