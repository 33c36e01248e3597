//! An examination: the preflight, then every check in a testbed that it has to itself, as
//! many at once as there are testbeds.

mod run_check;
mod workers;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use crate::app::{App, Flow};
use crate::app_process::LogFile;
use crate::catalogue::{self, Check};
use crate::chromium::Chromium;
use crate::learn::{self, PreflightStep};
use crate::plan::ExaminationPlan;
use crate::report::{Origin, Report};
use crate::result::CheckResult;
use crate::testbed::Testbed;
use crate::transcript::TranscriptLine;
use crate::trial::Trial;
use crate::verdict::Stop;

pub use workers::Progress;

/// Examines the app of `plan`, and calls `progress` at each step. There is no report after an
/// interruption; the stack is left as it was found all the same.
///
/// # Errors
///
/// If the app cannot be examined at all: one sentence with the way out.
pub async fn examine(
    plan: &ExaminationPlan,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
    interruption: impl Future<Output = ()>,
) -> Result<Option<Report>, String> {
    progress(Progress::Preflight);
    // Before the app starts, which may write files.
    let origin = Origin::of(plan);
    let whole = async |testbed: &Arc<Testbed>| examine_in(plan, origin, testbed, progress).await;
    in_first_testbed(plan, interruption, whole).await
}

/// The result of `work` in the first testbed; none after an interruption. The stack is left
/// as it was found in any case.
pub(crate) async fn in_first_testbed<T>(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
    work: impl AsyncFnOnce(&Arc<Testbed>) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let mut interruption = pin!(interruption);
    let chromium = Chromium::for_app(&plan.chromium, &plan.start);
    let testbed = tokio::select! {
        biased;
        () = &mut interruption => return Ok(None),
        testbed = first_testbed(plan, &chromium) => Arc::new(testbed?),
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

async fn first_testbed(plan: &ExaminationPlan, chromium: &Chromium) -> Result<Testbed, String> {
    // Before the app starts: what it writes then counts as well.
    let logs: Vec<_> = plan.log.iter().map(|it| LogFile::from_now(it)).collect();
    let testbed = if plan.command.is_empty() {
        Testbed::attach(&plan.control, &plan.start).await
    } else {
        Testbed::launch(plan).await
    };
    Ok(testbed?.with(chromium, &logs))
}

async fn examine_in(
    plan: &ExaminationPlan,
    origin: Origin,
    testbed: &Arc<Testbed>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Report, String> {
    let learnt = learn::learn(testbed, &plan.hints, plan.flow).await?;
    let app = Arc::new(learnt.app);
    let chosen: Vec<&'static Check> = catalogue::checks()
        .iter()
        .filter(|check| plan.only.is_empty() || plan.only.contains(&check.id))
        .collect();
    progress(Progress::Checks(chosen.len()));
    let (results, good) = match learnt.broken {
        Some(says) => {
            let untried = Stop::not_testable(format!("no login can be tried: {says}"));
            let results = chosen.into_iter().map(|check| {
                let untried = || CheckResult::new(check, Err(untried.clone()), None, Vec::new());
                run_check::seen_failure(&app, check).unwrap_or_else(untried)
            });
            (results.collect(), Vec::new())
        }
        None => {
            let testbeds = workers::number(plan, learnt.latency);
            let results = workers::run_all(testbeds, testbed, &app, chosen, progress).await;
            (results, good_run(testbed, &app).await)
        }
    };
    let preflight = learnt.preflight;
    Ok(Report::new(plan, origin, &app, preflight, results, good))
}

/// The exchanges of a plain sign-in, by each flow, to compare a failure with.
async fn good_run(testbed: &Testbed, app: &App) -> Vec<(Flow, Vec<TranscriptLine>)> {
    let mut runs = Vec::new();
    for flow in app.flows() {
        let trial = Trial::new(testbed, app, flow);
        let mut ada = trial.user("browser A", "Ada");
        if let Ok(mark) = trial.mark().await
            && ada.try_sign_in().await.is_ok()
            && trial.calls(mark).await.is_ok()
        {
            runs.push((flow, trial.transcript.lines()));
        }
    }
    runs
}

/// The preflight alone, for `examine init`.
pub(crate) async fn preflight(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
) -> Result<Option<(App, Vec<PreflightStep>)>, String> {
    let look = async |testbed: &Arc<Testbed>| {
        let learnt = learn::learn(testbed, &plan.hints, plan.flow).await?;
        let found = (learnt.app, learnt.preflight);
        learnt.broken.map_or(Ok(found), Err)
    };
    in_first_testbed(plan, interruption, look).await
}

/// The providers whose pages were automatic before: they are shown while an examination runs,
/// so that each browser can choose who signs in.
#[derive(Debug, Default)]
struct Interactive(Vec<&'static str>);

impl Interactive {
    async fn switch(&mut self, testbed: &Testbed) -> Result<(), String> {
        for provider in ["google", "github"] {
            if testbed.control.mode(provider).await? == "automatic" {
                // Before the call: it may take effect although its answer is lost.
                self.0.push(provider);
                testbed.control.set_mode(provider, "interactive").await?;
            }
        }
        Ok(())
    }

    /// Leaves the stack as it was found, after an interruption as well.
    async fn restore(self, testbed: &Testbed) {
        // The stack may have ended meanwhile; there is nothing left to restore then.
        let _ = testbed.control.disarm().await;
        for provider in self.0 {
            let _ = testbed.control.set_mode(provider, "automatic").await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stack::{Stack, StackSettings};
    use tokio::net::TcpListener;
    use url::Url;

    use super::*;
    use crate::control::Control;
    use crate::time::pause;
    use crate::verdict::Verdict;

    #[tokio::test(flavor = "multi_thread")]
    async fn an_app_that_ran_already_is_left_as_it_was_and_so_is_its_stack() {
        // Its providers sign everybody in at once, as those of `just up`.
        let stack = Stack::start(StackSettings::for_tests()).await.unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let start = Url::parse(&format!("http://{}/", silent.local_addr().unwrap())).unwrap();
        let plan = ExaminationPlan {
            control: stack.urls().control.clone(),
            ..ExaminationPlan::new(start)
        };
        let control = Control::at(&plan.control).unwrap();
        let interruption = async {
            while control.mode("github").await.unwrap() == "automatic" {
                pause(Duration::from_millis(10)).await;
            }
        };
        let ended = examine(&plan, &mut |_| {}, interruption).await;
        assert!(ended.unwrap().is_none());
        for provider in ["google", "github"] {
            assert_eq!(control.mode(provider).await.unwrap(), "automatic");
        }
        let testbed = Testbed::attach(&plan.control, &plan.start).await.unwrap();
        let stop = testbed.restart_app().await.unwrap_err();
        assert_eq!(stop.verdict, Verdict::NotTested, "{}", stop.actual);
    }
}
