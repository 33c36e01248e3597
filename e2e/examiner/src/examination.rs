//! An examination: the preflight, then every check in a world that it has to itself, as
//! many at once as there are worlds.

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
use crate::tape::TapeLine;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, Verdict};
use crate::world::World;
use interactive::Interactive;

/// The result of one check.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The check.
    pub check: &'static Check,
    /// The verdict; of two flows, the more severe one.
    pub verdict: Verdict,
    /// The observation.
    pub actual: String,
    /// The flow in which it was made, if the app has both.
    pub flow: Option<Flow>,
    /// Whether an attacker was seen in another person's account.
    pub is_takeover: bool,
    /// The exchanges of that trial.
    pub evidence: Vec<TapeLine>,
}

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
    let whole = async |world: &Arc<World>| examine_in(plan, world, progress).await;
    in_first_world(plan, interruption, whole).await
}

/// The result of `work` in the first world; none after an interruption. The stack is left
/// as it was found in any case.
async fn in_first_world<T>(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
    work: impl AsyncFnOnce(&Arc<World>) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let mut interruption = pin!(interruption);
    let chromium = Chromium::new(&plan.chromium);
    let world = tokio::select! {
        biased;
        () = &mut interruption => return Ok(None),
        world = first_world(plan) => Arc::new(world?.with_chromium(&chromium)),
    };
    let mut switched = Interactive::default();
    let done = tokio::select! {
        biased;
        () = &mut interruption => Ok(None),
        done = async {
            switched.switch(&world).await?;
            work(&world).await
        } => done.map(Some),
    };
    switched.restore(&world).await;
    world.stop().await;
    chromium.stop().await;
    done
}

async fn first_world(plan: &ExaminationPlan) -> Result<World, String> {
    // Before the app starts: what it writes then counts as well.
    let logs: Vec<_> = plan.log.iter().map(|it| LogFile::from_now(it)).collect();
    let world = if plan.command.is_empty() {
        World::attach(&plan.control, &plan.start).await
    } else {
        World::launch(&plan.start, &plan.command, &plan.callbacks).await
    };
    Ok(world?.with_logs(&logs))
}

async fn examine_in(
    plan: &ExaminationPlan,
    world: &Arc<World>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Report, String> {
    let learnt = learn::learn(world, &plan.hints, plan.flow).await?;
    let app = Arc::new(learnt.app);
    let chosen: VecDeque<&'static Check> = catalogue::checks()
        .iter()
        .filter(|check| !checks::parts_of(&check.id).is_empty())
        .filter(|check| plan.only.is_empty() || plan.only.contains(&check.id))
        .collect();
    progress(Progress::Checks(chosen.len()));
    let worlds = workers::number(plan, learnt.latency);
    let results = workers::run_all(plan, worlds, world, &app, chosen, progress).await;
    let good = good_run(world, &app).await;
    Ok(Report::new(plan, &app, learnt.preflight, results, good))
}

/// The exchanges of a plain sign-in, by each flow, to compare a failure with.
async fn good_run(world: &World, app: &App) -> Vec<(Flow, Vec<TapeLine>)> {
    let mut runs = Vec::new();
    for flow in app.flows() {
        let trial = Trial::new(world, app, flow);
        let mut browser = trial.browser("browser A");
        let Ok(mark) = trial.mark().await else {
            continue;
        };
        let person = Person::new("Ada");
        if let Ok(callback) = trial.up_to_callback(&mut browser, &person).await
            && browser.visit(callback).await.is_ok()
            && trial.calls(mark).await.is_ok()
        {
            runs.push((flow, trial.tape.lines()));
        }
    }
    runs
}

/// Runs one check in each flow that it concerns.
pub(crate) async fn run_check(world: &World, app: &App, check: &'static Check) -> CheckResult {
    let mut results = Vec::new();
    let flows = concerned_flows(app, check);
    for flow in &flows {
        results.push(run_in_flow(world, app, check, *flow, app.flows().len() > 1).await);
    }
    let Some(worst) = worst_of(results) else {
        let reason = format!("the app does not use the {} flow", check.flow_names());
        return CheckResult::new(check, Err(Stop::not_applicable(reason)), None, Vec::new());
    };
    if worst.verdict != Verdict::Pass {
        return worst;
    }
    for flow in flows {
        if let Err(stop) = still_works(world, app, flow).await {
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
    world: &World,
    app: &App,
    check: &'static Check,
    flow: Flow,
    has_both: bool,
) -> CheckResult {
    let trial = Trial::new(world, app, flow);
    let (mut outcome, untried) = run_parts(&trial, check).await;
    if let Err(stop) = &outcome
        && stop.verdict.is_red()
    {
        trial.tape.mark_wrong();
    }
    let cleared = world.control.disarm().await;
    if outcome.is_ok() {
        outcome = cleared;
    }
    let flow = has_both.then_some(flow);
    let mut result = CheckResult::new(check, outcome, flow, trial.tape.lines());
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
async fn still_works(world: &World, app: &App, flow: Flow) -> Outcome {
    let trial = Trial::new(world, app, flow);
    let mut browser = trial.browser("browser");
    let signed_in = trial.sign_in(&mut browser, &Person::new("Nora")).await;
    signed_in.map(drop).map_err(|stop| {
        Stop::not_testable(format!("afterwards a plain sign-in fails: {}", stop.actual))
    })
}

/// The observation of a check that passes.
const AS_EXPECTED: &str = "As expected.";

impl CheckResult {
    /// Whether a part of a check that passes was not tried.
    pub(crate) fn is_partial(&self) -> bool {
        self.verdict == Verdict::Pass && self.actual != AS_EXPECTED
    }

    fn new(
        check: &'static Check,
        outcome: Outcome,
        flow: Option<Flow>,
        evidence: Vec<TapeLine>,
    ) -> Self {
        let (verdict, actual, is_takeover) = match outcome {
            Ok(()) => (Verdict::Pass, AS_EXPECTED.to_owned(), false),
            Err(stop) => (stop.verdict, sentence(&stop.actual), stop.is_takeover),
        };
        Self {
            check,
            verdict,
            actual,
            flow,
            is_takeover,
            evidence,
        }
    }
}

/// The text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|it| it.to_uppercase().to_string())
        .unwrap_or_default();
    let rest = letters.as_str();
    let end = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{first}{rest}{end}")
}

/// The preflight alone, for `examine init`.
pub(crate) async fn preflight(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
) -> Result<Option<(App, Vec<PreflightStep>)>, String> {
    let look = async |world: &Arc<World>| {
        let learnt = learn::learn(world, &plan.hints, plan.flow).await?;
        Ok((learnt.app, learnt.preflight))
    };
    in_first_world(plan, interruption, look).await
}
