//! The testbeds that work on the checks at once.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::run_check::{run_check, still_works};
use crate::app::App;
use crate::catalogue::Check;
use crate::checks::steps_of;
use crate::learn::SLOW;
use crate::plan::{DEFAULT_JOBS, ExaminationPlan};
use crate::result::CheckResult;
use crate::testbed::Testbed;
use crate::verdict::{Stop, Verdict};

/// A step of an examination, to show its progress.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The preflight begins.
    Preflight,
    /// This number of checks begins.
    Checks(usize),
    /// A check has ended.
    Done(&'a CheckResult),
}

type Queue = Arc<Mutex<Vec<&'static Check>>>;

/// The testbeds for a slow app, which costs waiting and no computing.
const SLOW_APP_JOBS: usize = 12;

/// The number of testbeds for an app that answers after `latency`.
pub(super) fn number(plan: &ExaminationPlan, latency: Duration) -> usize {
    if plan.command.is_empty() {
        return 1;
    }
    let usual = match latency > SLOW {
        true => SLOW_APP_JOBS,
        false => DEFAULT_JOBS,
    };
    plan.jobs.unwrap_or(usual)
}

/// Runs every check of `chosen`, and returns the results in the order of the catalogue.
pub(super) async fn run_all(
    testbeds: usize,
    first: &Arc<Testbed>,
    app: &Arc<App>,
    chosen: Vec<&'static Check>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Vec<CheckResult> {
    let order: Vec<&str> = chosen.iter().map(|check| check.id.as_str()).collect();
    let more = testbeds.min(chosen.len()).saturating_sub(1);
    let (results, mut receiver) = mpsc::unbounded_channel();
    let worker = Worker {
        app: app.clone(),
        queue: Arc::new(Mutex::new(chosen)),
        results,
    };
    let mut workers = JoinSet::new();
    for _ in 0..more {
        workers.spawn(worker.clone().work_in_another(first.clone()));
    }
    let first = first.clone();
    workers.spawn(async move { worker.work(&first).await });
    let mut results = Vec::new();
    while let Some(result) = receiver.recv().await {
        progress(Progress::Done(&result));
        results.push(result);
    }
    // One that panicked has returned its results before.
    while workers.join_next().await.is_some() {}
    results.sort_by_key(|result: &CheckResult| order.iter().position(|id| *id == result.check.id));
    results
}

/// What works on the checks in one testbed.
#[derive(Clone)]
struct Worker {
    app: Arc<App>,
    queue: Queue,
    results: mpsc::UnboundedSender<CheckResult>,
}

impl Worker {
    async fn work(&self, testbed: &Testbed) {
        while let Some(check) = next(&self.queue, testbed.chromium.is_busy()) {
            let result = guarded(check, run_check(testbed, &self.app, check)).await;
            if result.verdict == Verdict::Harness {
                // A check that panicked has left its faults armed.
                let _ = testbed.control.disarm().await;
            }
            let _ = self.results.send(result);
        }
    }

    /// Works in a further testbed with the same app on another port. An app that does not follow
    /// its port, or lets no user sign in there, is examined in one testbed.
    async fn work_in_another(self, first: Arc<Testbed>) {
        let Ok(testbed) = first.another(&self.app).await else {
            return;
        };
        let testbed = testbed.with(&first.chromium, &first.logs);
        let flow = self.app.ways[0].flow;
        if still_works(&testbed, &self.app, flow).await.is_ok() {
            self.work(&testbed).await;
        }
        testbed.stop().await;
    }
}

/// The result of a check, or a failure of the examiner's own if it panics.
async fn guarded(check: &'static Check, run: impl Future<Output = CheckResult>) -> CheckResult {
    let result = AssertUnwindSafe(run).catch_unwind().await;
    result.unwrap_or_else(|_| {
        let stop = Stop::harness(
            "the examiner panicked in this check: its message stands on standard error",
        );
        CheckResult::new(check, Err(stop), None, Vec::new())
    })
}

/// The next check: the longest first, then those for which the one Chromium is needed, so that the
/// others run beside them. While it is busy these come last: no testbed waits for it while there
/// is other work.
fn next(queue: &Queue, is_chromium_busy: bool) -> Option<&'static Check> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    let places = queue.iter().enumerate();
    let (place, _) = places.min_by_key(|(_, check)| {
        let needs_chromium = steps_of(&check.id).needs_chromium;
        let is_long = LONG.contains(&check.id.as_str());
        (
            needs_chromium && is_chromium_busy,
            !is_long,
            !needs_chromium,
        )
    })?;
    Some(queue.remove(place))
}

/// The checks that wait for an app's own timer, or start it several times.
const LONG: [&str; 4] = [
    "time-limit",
    "answer-checked",
    "replicas",
    "rolling-restart",
];

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::catalogue;

    #[test]
    fn a_slow_app_has_more_testbeds_unless_their_number_is_given() {
        let mut plan = ExaminationPlan::new(Url::parse("http://localhost:5000/").unwrap());
        let of = |plan: &ExaminationPlan| (number(plan, Duration::ZERO), number(plan, SLOW * 2));
        assert_eq!(of(&plan), (1, 1));
        plan.command = vec!["app".to_owned()];
        assert_eq!(of(&plan), (3, 12));
        plan.jobs = Some(3);
        assert_eq!(of(&plan), (3, 3));
    }

    #[tokio::test]
    async fn a_check_that_panics_is_a_failure_of_the_examiner() {
        let check = catalogue::check("key-fresh").unwrap();
        let panicking = async { Vec::<CheckResult>::new().pop().unwrap() };
        let result = guarded(check, panicking).await;
        assert_eq!(result.verdict, Verdict::Harness);
        assert!(result.actual.contains("panicked"), "{}", result.actual);
    }

    #[test]
    fn a_testbed_takes_the_longest_check_and_waits_for_chromium_when_nothing_else_is_left() {
        let ids = ["key-fresh", "relay", "back-button", "replicas"];
        let checks = ids.iter().filter_map(|id| catalogue::check(id));
        let queue = Arc::new(Mutex::new(checks.collect()));
        let taken = [false, false, true, true, true].map(|is_busy| next(&queue, is_busy));
        let taken = taken.map(|it| it.map(|check| check.id.as_str()));
        let [key_fresh, relay, back_button, replicas] = ids.map(Some);
        assert_eq!(taken, [replicas, relay, key_fresh, back_button, None]);
    }
}
