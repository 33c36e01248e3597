//! An examination: the preflight, then every check in a testbed that it has to itself, as
//! many at once as there are testbeds.

mod check_result;
mod interactive;
#[cfg(test)]
mod tests;
mod workers;

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;

use crate::app::{App, Flow};
use crate::catalogue::{self, Check};
use crate::checks;
use crate::chromium::Chromium;
use crate::learn::{self, PreflightStep};
use crate::log_file::LogFile;
use crate::person::Person;
use crate::plan::ExaminationPlan;
use crate::report::Report;
use crate::testbed::Testbed;
use crate::transcript::TranscriptLine;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, Verdict};
use interactive::Interactive;

pub use check_result::CheckResult;

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

/// Examines the app of `plan`, and calls `progress` at each step.
///
/// # Errors
///
/// If the app cannot be examined at all: one sentence with the way out.
pub async fn examine(
    plan: &ExaminationPlan,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Report, String> {
    let examined = examine_until(plan, progress, pending()).await?;
    examined.ok_or_else(|| "the examination was interrupted".to_owned())
}

/// As [`examine`], up to an interruption: then there is no report, and the stack is left
/// as it was found all the same.
///
/// # Errors
///
/// As of [`examine`].
pub async fn examine_until(
    plan: &ExaminationPlan,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
    interruption: impl Future<Output = ()>,
) -> Result<Option<Report>, String> {
    progress(Progress::Preflight);
    let whole = async |testbed: &Arc<Testbed>| examine_in(plan, testbed, progress).await;
    in_first_testbed(plan, interruption, whole).await
}

/// The result of `work` in the first testbed; none after an interruption. The stack is left
/// as it was found in any case.
async fn in_first_testbed<T>(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
    work: impl AsyncFnOnce(&Arc<Testbed>) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let mut interruption = pin!(interruption);
    let chromium = Chromium::new(&plan.chromium);
    let testbed = tokio::select! {
        biased;
        () = &mut interruption => return Ok(None),
        testbed = first_testbed(plan) => Arc::new(testbed?.with_chromium(&chromium)),
    };
    let mut switched = Interactive::default();
    let done = tokio::select! {
        biased;
        () = &mut interruption => Ok(None),
        done = async {
            switched.switch(&testbed).await?;
            work(&testbed).await
        } => done.map(Some),
    };
    switched.restore(&testbed).await;
    testbed.stop().await;
    chromium.stop().await;
    done
}

async fn first_testbed(plan: &ExaminationPlan) -> Result<Testbed, String> {
    // Before the app starts: what it writes then counts as well.
    let logs: Vec<_> = plan.log.iter().map(|it| LogFile::from_now(it)).collect();
    let testbed = if plan.command.is_empty() {
        Testbed::attach(&plan.control, &plan.start).await
    } else {
        Testbed::launch(&plan.start, &plan.command, &plan.callbacks).await
    };
    Ok(testbed?.with_logs(&logs))
}

async fn examine_in(
    plan: &ExaminationPlan,
    testbed: &Arc<Testbed>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Report, String> {
    let learnt = learn::learn(testbed, &plan.hints, plan.flow).await?;
    let app = Arc::new(learnt.app);
    let chosen: VecDeque<&'static Check> = catalogue::checks()
        .iter()
        .filter(|check| !checks::parts_of(&check.id).is_empty())
        .filter(|check| plan.only.is_empty() || plan.only.contains(&check.id))
        .collect();
    progress(Progress::Checks(chosen.len()));
    let testbeds = workers::number(plan, learnt.latency);
    let results = workers::run_all(plan, testbeds, testbed, &app, chosen, progress).await;
    let good = good_run(testbed, &app).await;
    Ok(Report::new(plan, &app, learnt.preflight, results, good))
}

/// The exchanges of a plain sign-in, by each flow, to compare a failure with.
async fn good_run(testbed: &Testbed, app: &App) -> Vec<(Flow, Vec<TranscriptLine>)> {
    let mut runs = Vec::new();
    for flow in app.flows() {
        let trial = Trial::new(testbed, app, flow);
        let mut browser = trial.browser("browser A");
        let Ok(mark) = trial.mark().await else {
            continue;
        };
        let person = Person::new("Ada");
        if let Ok(callback) = trial.up_to_callback(&mut browser, &person).await
            && browser.visit(callback).await.is_ok()
            && trial.calls(mark).await.is_ok()
        {
            runs.push((flow, trial.transcript.lines()));
        }
    }
    runs
}

/// Runs one check in each flow that it concerns.
pub(crate) async fn run_check(testbed: &Testbed, app: &App, check: &'static Check) -> CheckResult {
    let mut results = Vec::new();
    let flows = concerned_flows(app, check);
    for flow in &flows {
        results.push(run_in_flow(testbed, app, check, *flow, app.flows().len() > 1).await);
    }
    let Some(worst) = worst_of(results) else {
        let reason = format!("the app does not use the {} flow", check.flow_names());
        return CheckResult::new(check, Err(Stop::not_applicable(reason)), None, Vec::new());
    };
    if worst.verdict != Verdict::Pass {
        return worst;
    }
    for flow in flows {
        if let Err(stop) = still_works(testbed, app, flow).await {
            return CheckResult::new(check, Err(stop), worst.flow, worst.evidence);
        }
    }
    worst
}

/// The flows of the app that a check is about. A good sign-in by each of them follows:
/// the one flow may work where the other refuses everything.
fn concerned_flows(app: &App, check: &Check) -> Vec<Flow> {
    let flows = app.flows().into_iter();
    flows.filter(|flow| check.concerns(*flow)).collect()
}

/// The result that counts: of two failures the one with a takeover.
fn worst_of(results: Vec<CheckResult>) -> Option<CheckResult> {
    let results = results.into_iter();
    results.min_by_key(|it| (it.verdict.rank(), !it.is_takeover))
}

async fn run_in_flow(
    testbed: &Testbed,
    app: &App,
    check: &'static Check,
    flow: Flow,
    has_both: bool,
) -> CheckResult {
    let trial = Trial::new(testbed, app, flow);
    let begin = testbed.mark().await;
    let (mut outcome, untried) = run_parts(&trial, check).await;
    if let Err(stop) = &outcome
        && stop.verdict.is_red()
    {
        trial.transcript.mark_wrong();
        // Why the app answered so is often in the broker's answer.
        if let Ok(begin) = begin {
            trial.calls(begin).await.ok();
        }
    }
    let cleared = testbed.control.disarm().await;
    if outcome.is_ok() {
        outcome = cleared.map_err(Stop::from);
    }
    let flow = has_both.then_some(flow);
    let mut result = CheckResult::new(check, outcome, flow, trial.transcript.lines());
    if let Some(reason) = untried.filter(|_| result.verdict == Verdict::Pass) {
        result.actual = format!("As expected, as far as it was tried; for the rest {reason}.");
    }
    result
}

/// Runs the parts of a check, and returns the reason for which one was left out. A check
/// of which nothing can be tried is NOT TESTED.
async fn run_parts(trial: &Trial<'_>, check: &Check) -> (Outcome, Option<String>) {
    let parts = checks::parts_of(&check.id);
    let mut untried = None;
    for part in &parts {
        match (part.run)(trial).await {
            Err(stop) if stop.verdict == Verdict::NotTested && parts.len() > 1 => {
                untried = Some(stop.actual);
            }
            Err(stop) => return (Err(stop), None),
            Ok(()) => {}
        }
    }
    (Ok(()), untried)
}

/// The good sign-in after a check. It is also the one before the next.
async fn still_works(testbed: &Testbed, app: &App, flow: Flow) -> Outcome {
    let trial = Trial::new(testbed, app, flow);
    let mut browser = trial.browser("browser");
    let signed_in = trial.sign_in(&mut browser, &Person::new("Nora")).await;
    signed_in.map(drop).map_err(|stop| {
        Stop::not_testable(format!("afterwards a plain sign-in fails: {}", stop.actual))
    })
}

/// The preflight alone, for `examine init`.
pub(crate) async fn preflight(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
) -> Result<Option<(App, Vec<PreflightStep>)>, String> {
    let look = async |testbed: &Arc<Testbed>| {
        let learnt = learn::learn(testbed, &plan.hints, plan.flow).await?;
        Ok((learnt.app, learnt.preflight))
    };
    in_first_testbed(plan, interruption, look).await
}
