//! A broker that is slow without an end: silent, dripping, endless.

use std::time::Duration;

use tokio::task::JoinSet;

use super::faulted_login::{calls_of, login_before, require_page};
use crate::app::Flow;
use crate::browser::{Browser, Page};
use crate::catalogue::limit_of;
use crate::person::Person;
use crate::time::{Stopwatch, pause, within};
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The time in which the app serves other people meanwhile.
const OTHERS_LIMIT: Duration = Duration::from_secs(5);

/// The time in which a pressed button has made the app call the broker.
const CALL_LIMIT: Duration = Duration::from_secs(5);

/// The faults, with their names in a sentence.
const SLOW: [(&str, &str); 3] = [
    ("silence", "a silent broker"),
    ("drip", "a broker that sends a byte now and then"),
    ("endless", "a broker whose answer has no end"),
];

/// The browsers that wait, each with its fault in words, and the page at the end; none
/// if none came in time.
type Waiting = JoinSet<(String, Option<Outcome<Page>>)>;

/// `time-limit`: every slow answer at every call, at once, beside other people.
pub(super) async fn time_limit(trial: &Trial<'_>) -> Outcome {
    // All flows wait together: the limit is waited for once.
    let flows = trial.app.flows();
    if flows.first() != Some(&trial.flow) {
        return Ok(());
    }
    let judged = try_all(trial, &flows).await;
    if judged.is_err() && trial.testbed.owns_app() {
        // The calls that still wait would disturb the next check.
        trial.testbed.control.disarm().await?;
        trial.testbed.restart_app().await?;
    }
    judged
}

async fn try_all(trial: &Trial<'_>, flows: &[Flow]) -> Outcome {
    let mut waiting = Waiting::new();
    // Three calls that wait are few enough for a small app to serve others beside them.
    wait_at(trial, trial.flow.one_time_call(), &mut waiting).await?;
    require_others_served(trial).await?;
    for flow in flows {
        let mut of_flow = Trial::new(trial.testbed, trial.app, *flow);
        of_flow.transcript = trial.transcript.clone();
        let further = calls_of(*flow).into_iter();
        for operation in further.filter(|it| *it != trial.flow.one_time_call()) {
            wait_at(&of_flow, operation, &mut waiting).await?;
        }
    }
    while let Some(ended) = waiting.join_next().await {
        let (cause, answer) = ended.map_err(|error| Stop::harness(error.to_string()))?;
        check_answer(trial, &cause, answer)?;
    }
    Ok(())
}

/// A page in words came in time.
fn check_answer(trial: &Trial<'_>, cause: &str, answer: Option<Outcome<Page>>) -> Outcome {
    match answer {
        Some(Ok(page)) => require_page(trial, &page, &format!("with {cause}")),
        Some(Err(stop)) => Err(Stop::fail(format!("with {cause}, {}", stop.actual))),
        None => {
            let limit = limit_of("time-limit").as_secs();
            Err(Stop::fail(format!(
                "with {cause}, the user waits for more than {limit} s and sees nothing"
            )))
        }
    }
}

/// Makes the app call `operation` once for each slow answer, and goes on while they wait.
async fn wait_at(trial: &Trial<'_>, operation: &str, waiting: &mut Waiting) -> Outcome {
    for (fault, words) in SLOW {
        let mut login = login_before(trial, operation).await?;
        trial.arm(operation, fault).await?;
        let cause = format!("{words} at {operation}");
        waiting.spawn(async move {
            let limit = limit_of("time-limit");
            let page = within(limit, login.browser.visit(login.next)).await;
            (cause, page)
        });
        until_met(trial, operation).await?;
    }
    Ok(())
}

/// Waits until the app has made the call, so that the next one meets no fault.
async fn until_met(trial: &Trial<'_>, operation: &str) -> Outcome {
    let watch = Stopwatch::start();
    while trial.testbed.control.armed().await? > 0 {
        if watch.elapsed() > CALL_LIMIT {
            return Err(Stop::not_testable(format!(
                "a login did not make the app call {operation}"
            )));
        }
        pause(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Another browser loads the start page and signs in.
async fn require_others_served(trial: &Trial<'_>) -> Outcome {
    let mut other = trial.browser("browser B");
    let opened = served(&mut other, trial, false).await?;
    require(opened, || too_slow("does not load the start page"))?;
    let signed_in = served(&mut other, trial, true).await?;
    require(signed_in, || too_slow("cannot sign in"))
}

fn too_slow(what: &str) -> String {
    format!(
        "while three users wait for a slow broker, another user {what} within {} s",
        OTHERS_LIMIT.as_secs()
    )
}

async fn served(browser: &mut Browser, trial: &Trial<'_>, signs_in: bool) -> Outcome<bool> {
    let visit = async {
        if signs_in {
            trial.sign_in(browser, &Person::new("Ben")).await.map(drop)
        } else {
            browser.open(&trial.testbed.start).await.map(drop)
        }
    };
    match within(OTHERS_LIMIT, visit).await {
        Some(served) => served.map(|()| true),
        None => Ok(false),
    }
}
