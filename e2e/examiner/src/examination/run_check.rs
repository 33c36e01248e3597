//! One check, in each flow that it concerns, with a good sign-in after it.

use crate::app::{App, Flow};
use crate::catalogue::Check;
use crate::checks;
use crate::result::CheckResult;
use crate::testbed::Testbed;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, Verdict};

/// Runs one check in each flow that it concerns.
pub(super) async fn run_check(testbed: &Testbed, app: &App, check: &'static Check) -> CheckResult {
    if let Some(failure) = seen_failure(app, check) {
        return failure;
    }
    let result = run_in_flows(testbed, app, check).await;
    match result.verdict.is_red() {
        true => result.or_end_of_app(testbed.end_of_app(&check.id).await),
        false => result,
    }
}

/// The failure of the check that was seen while the app was learnt.
pub(super) fn seen_failure(app: &App, check: &'static Check) -> Option<CheckResult> {
    let (says, evidence) = app.failed.get(&*check.id)?;
    let failure = Err(Stop::fail(says));
    Some(CheckResult::new(check, failure, None, evidence.clone()))
}

async fn run_in_flows(testbed: &Testbed, app: &App, check: &'static Check) -> CheckResult {
    let mut flows = app.flows();
    flows.retain(|flow| check.concerns(*flow));
    let mut results = Vec::new();
    for flow in &flows {
        results.push(run_in_flow(testbed, app, check, *flow).await);
    }
    let Some(worst) = worst_of(results) else {
        let reason = format!("the app does not use the {} flow", check.flow_names());
        return CheckResult::new(check, Err(Stop::not_applicable(reason)), None, Vec::new());
    };
    if worst.verdict != Verdict::Pass {
        return worst;
    }
    // The one flow may work where the other refuses everything.
    for flow in flows {
        if let Err(stop) = still_works(testbed, app, flow).await {
            return CheckResult::new(check, Err(stop), worst.flow, worst.evidence);
        }
    }
    worst
}

/// The result that counts: of two failures the one with a takeover, of two passes the one of
/// which a part was not tried.
fn worst_of(results: Vec<CheckResult>) -> Option<CheckResult> {
    let results = results.into_iter();
    results.min_by_key(|it| (it.verdict, !it.is_takeover, !it.is_partial()))
}

async fn run_in_flow(
    testbed: &Testbed,
    app: &App,
    check: &'static Check,
    flow: Flow,
) -> CheckResult {
    let trial = Trial::new(testbed, app, flow);
    let begin = testbed.mark().await.unwrap_or_default();
    let (outcome, untried) = run_parts(&trial, check).await;
    if let Err(stop) = &outcome
        && stop.verdict.is_red()
    {
        if !trial.transcript.has_wrong() {
            trial.transcript.mark_wrong();
        }
        // Why the app answered so is often in the broker's answer.
        trial.calls(begin).await.ok();
    }
    let cleared = testbed.control.disarm().await.map_err(Stop::from);
    let flow = (app.flows().len() > 1).then_some(flow);
    let evidence = trial.transcript.lines();
    let mut result = CheckResult::new(check, outcome.and(cleared), flow, evidence);
    if let Some(reason) = untried.filter(|_| result.verdict == Verdict::Pass) {
        result.actual = format!("As expected, as far as it was tried; for the rest {reason}.");
    }
    result
}

/// Runs the parts of a check, and returns the reason for which one was left out. A check
/// of which nothing can be tried is NOT TESTED.
async fn run_parts(trial: &Trial<'_>, check: &Check) -> (Outcome, Option<String>) {
    let parts = &checks::steps_of(&check.id).parts;
    let mut untried = None;
    for part in parts {
        match part(trial).await.and_then(|()| trial.end()) {
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
pub(super) async fn still_works(testbed: &Testbed, app: &App, flow: Flow) -> Outcome {
    let trial = Trial::new(testbed, app, flow);
    let signed_in = trial.user("browser", "Nora").sign_in().await;
    signed_in.map(drop).map_err(|stop| {
        Stop::not_testable(format!("afterwards a plain sign-in fails: {}", stop.actual))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::check;
    use crate::verdict::{no_takeover, require};

    #[test]
    fn a_takeover_in_one_flow_counts_more_than_a_failure_in_the_other() {
        let check = check("binding-required").unwrap();
        let result = |outcome, flow| CheckResult::new(check, outcome, Some(flow), Vec::new());
        let worst = worst_of(vec![
            result(require(false, || "it asks the broker"), Flow::Clean),
            result(no_takeover(true, || "the attacker"), Flow::Legacy),
        ]);
        let worst = worst.unwrap();
        assert!(worst.is_takeover && worst.flow == Some(Flow::Legacy));
    }
}
