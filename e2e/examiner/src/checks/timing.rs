//! Time: when a result is read, how long a slow broker is waited for, and a browser that comes
//! back after the life of its login.

use std::collections::HashSet;
use std::time::Duration;

use tokio::task::JoinSet;

use super::demands::{page_in_words, restart, signed_in, signed_out};
use super::failures::{calls_of, login_before, not_called};
use crate::app::Flow;
use crate::browser::{Page, Visit};
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::catalogue::{limit_of, wait_of};
use crate::time::{Stopwatch, pause, within};
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, require};

/// The reads of a pending result that one visit of the callback may make.
const MAX_READS: usize = 10;

/// The life of a login, and a second more.
const LATE_SECONDS: u64 = 601;

/// Longer than sessions live: 31 days.
const SESSION_END_SECONDS: u64 = 31 * 24 * 60 * 60;

/// The time in which the app serves other people meanwhile.
const OTHERS_LIMIT: Duration = Duration::from_secs(5);

/// The time in which a pressed button has made the app call the broker.
const CALL_LIMIT: Duration = Duration::from_secs(5);

/// `pending-bounded`: the callback while the user is still at the provider.
pub(super) async fn pending_bounded(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    trial.begin(&mut browser).await?;
    let mark = trial.mark().await?;
    let page = browser.visit(Visit::typed(&trial.callback()?)).await?;
    let answered = trial.mark().await?;
    let reads = reads_of(&trial.testbed.calls(mark).await?).count();
    if reads == 0 {
        return Err(Stop::not_testable(
            "the callback of a login that is not finished does not make the app read its result",
        ));
    }
    require(reads <= MAX_READS, || {
        format!("one visit of the callback made the app read the pending result {reads} times")
    })?;
    page_in_words(trial, &page, "while the result is pending")?;
    let wait = wait_of("pending-bounded");
    for seconds in [0, 60, 700] {
        trial.advance(seconds).await?;
        let calls = trial.testbed.calls_when_idle(answered, wait).await?;
        let later = reads_of(&calls).count();
        require(later == 0, || {
            format!("after the page was sent, the app read the pending result {later} more times")
        })?;
    }
    Ok(())
}

/// `result-after-browser`: of two users who have signed in, one never comes back.
pub(super) async fn result_after_browser(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    trial.user("browser A", "Ada").up_to_callback().await?;
    let mut started = trial.testbed.calls(mark).await?;
    started.retain(|call| call.operation == SESSION);
    let gone: HashSet<_> = started.into_iter().filter_map(|call| call.login).collect();
    let mut ben = trial.user("browser B", "Ben");
    let callback = ben.up_to_callback().await?;

    let wait = wait_of("result-after-browser");
    let calls = trial.testbed.calls_when_idle(mark, wait).await?;
    let early = reads_of(&calls).count();
    require(early == 0, || {
        format!("before any browser came back, the app read results {early} times")
    })?;
    ben.visit(callback).await?;
    ben.require_signed_in().await?;
    trial.advance(60).await?;
    let calls = trial.calls(mark).await?;
    let is_gone = |call: &Call| call.login.as_ref().is_some_and(|it| gone.contains(it));
    require(
        !reads_of(&calls).any(is_gone),
        || "the app read the result of a login whose browser never came back",
    )
}

fn reads_of(calls: &[Call]) -> impl Iterator<Item = &Call> {
    let operation = Flow::Clean.one_time_call();
    calls.iter().filter(move |call| call.operation == operation)
}

/// `late-return`: the user had signed in before the time was over, or signs in after it.
pub(super) async fn late_return(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    let callback = ada.up_to_callback().await?;
    trial.advance(LATE_SECONDS).await?;
    let page = ada.visit(callback).await?;
    require_refused(ada, &page).await?;

    let mut ada = trial.user("browser A", "Ada");
    let visit = ada.begin().await?;
    let provider = trial.to_provider(&mut ada.browser, visit).await?;
    trial.advance(LATE_SECONDS).await?;
    let page = match ada.choose(&provider).await {
        Ok(callback) => ada.visit(callback).await?,
        // The broker ends a login that is over on a page of its own.
        Err(_) => ada.open(&trial.callback()?).await?,
    };
    require_refused(ada, &page).await
}

/// `late-return`, further: the browser leaves the app, and reaches the broker only after the time.
pub(super) async fn late_departure(trial: &Trial<'_>) -> Outcome {
    if trial.flow == Flow::Clean {
        return Ok(());
    }
    // The broker knows nothing of a legacy login before its browser comes: only the app's own
    // limit holds, and only in an app that asks the stack for the time.
    let mut ada = trial.user("browser A", "Ada");
    let visit = ada.begin().await?;
    trial.advance(LATE_SECONDS).await?;
    let page = ada.finish(visit).await?;
    if !ada.is_signed_in().await? {
        return require_refused(ada, &page).await;
    }
    Err(match follows_clock(trial).await? {
        true => Stop::fail(format!(
            "a browser that leaves the app {LATE_SECONDS} s after the start still signs in"
        )),
        false => Stop::not_tested(
            "the app's own limit of a login is not tested: nothing in the app ends when the stack's clock moves, and it may take the time from KIT_CLOCK_URL while it is examined",
        ),
    })
}

async fn require_refused(mut user: User<'_>, page: &Page) -> Outcome {
    let cause = format!("{LATE_SECONDS} s after the start");
    signed_out(&mut user, &format!("{cause}, the callback still signs in")).await?;
    restart(user.trial, page, &cause)?;
    user.person = Person::new("Ada");
    user.try_sign_in().await?;
    let failed = format!("{cause}, the next sign-in of the same browser fails");
    signed_in(&mut user, &failed).await
}

/// Whether the app takes its time from the stack: a session ends when the clock moves, and
/// the broker was not asked.
async fn follows_clock(trial: &Trial<'_>) -> Outcome<bool> {
    if !trial.testbed.owns_app() {
        return Ok(false);
    }
    let mut ben = trial.user("browser B", "Ben");
    ben.sign_in().await?;
    trial.advance(SESSION_END_SECONDS).await?;
    let mark = trial.mark().await?;
    let has_ended = !ben.is_signed_in().await?;
    Ok(has_ended && trial.calls(mark).await?.is_empty())
}

/// The slow answers, with their names in a sentence.
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
        Some(Ok(page)) => page_in_words(trial, &page, &format!("with {cause}")),
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
        let login = login_before(trial, operation).await?;
        trial.arm(operation, fault).await?;
        let cause = format!("{words} at {operation}");
        let (mut browser, next) = (login.user.browser, login.next);
        waiting.spawn(async move {
            let page = within(limit_of("time-limit"), browser.visit(next)).await;
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
            return Err(not_called(operation));
        }
        pause(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Another browser loads the start page and signs in.
async fn require_others_served(trial: &Trial<'_>) -> Outcome {
    let mut ben = trial.user("browser B", "Ben");
    let opened = within(OTHERS_LIMIT, ben.open(&trial.testbed.start)).await;
    served_in_time(opened, "does not load the start page")?;
    let signed_in = within(OTHERS_LIMIT, ben.sign_in()).await;
    served_in_time(signed_in, "cannot sign in")
}

fn served_in_time(served: Option<Outcome<Page>>, what: &str) -> Outcome {
    let limit = OTHERS_LIMIT.as_secs();
    let too_slow = || {
        Err(Stop::fail(format!(
            "while three users wait for a slow broker, another user {what} within {limit} s"
        )))
    };
    served.map_or_else(too_slow, |page| page.map(drop))
}
