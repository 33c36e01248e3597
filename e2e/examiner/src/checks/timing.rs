//! Time: when a result is read, how long a slow broker is waited for, and a browser that comes
//! back after the life of its login.

use std::time::Duration;

use tokio::task::JoinSet;

use super::demands::{calls_during, page_in_words, restart, signed_in, signed_out};
use super::failures::{calls_of, login_before, not_called};
use super::secrets::logins_of;
use crate::app::Flow;
use crate::browser::{Page, Visit};
use crate::calls::Call;
use crate::catalogue::{limit_of, wait_of};
use crate::time::{pause, within};
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, require};

/// The reads of a pending result that one visit of the callback may make.
const MAX_READS: usize = 10;

/// The life of a login, and a second more.
const LATE_SECONDS: u64 = 601;

/// The days after which a session is over, however often it is used.
const MAX_DAYS: u64 = 31;

/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The time in which the app serves other people meanwhile.
const OTHERS_LIMIT: Duration = Duration::from_secs(5);

/// The time in which a pressed button has made the app call the broker.
const CALL_LIMIT: Duration = Duration::from_secs(5);

/// `pending-bounded`: the callback while the user is still at the provider.
pub(super) async fn pending_bounded(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    ada.begin().await?;
    let mark = trial.mark().await?;
    let page = ada.visit(Visit::typed(&trial.callback()?)).await?;
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
    let gone = calls_during(trial, trial.user_at_callback("browser A", "Ada")).await?;
    let gone = logins_of(&gone)?;
    let (mut ben, callback) = trial.user_at_callback("browser B", "Ben").await?;

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
    let (mut ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
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
    let mut ben = trial.signed_in("browser B", "Ben").await?;
    trial.advance(MAX_DAYS * DAY).await?;
    let mark = trial.mark().await?;
    let has_ended = !ben.is_signed_in().await?;
    Ok(has_ended && trial.calls(mark).await?.is_empty())
}

/// `cookie-attributes`, further: behind its cookie, a session that is used every day.
pub(super) async fn session_ends(trial: &Trial<'_>) -> Outcome {
    // The sessions of both flows are the same, and their cookies are judged before the clock moves.
    if trial.app.flows().last() != Some(&trial.flow) {
        return Ok(());
    }
    if !trial.testbed.owns_app() {
        return Err(Stop::not_tested(
            "the clock of a stack that others use is not moved by a month: give the app's command after --",
        ));
    }
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    for _ in 0..MAX_DAYS {
        trial.advance(DAY).await?;
        if !ada.is_signed_in().await? {
            return Ok(());
        }
    }
    // Only where one that is not used has ended, sessions are known to follow the clock.
    Err(match follows_clock(trial).await? {
        true => Stop::fail(format!(
            "a session that is used every day is open after {MAX_DAYS} days, and has no end"
        )),
        false => Stop::not_tested(format!(
            "a session is open after {MAX_DAYS} days of the stack's clock: either none here ends, or they do not follow the clock at KIT_CLOCK_URL"
        )),
    })
}

/// The slow answers, with their names in a sentence.
const SLOW: [(&str, &str); 3] = [
    ("silence", "a silent broker"),
    ("drip", "a broker that sends a byte now and then"),
    ("endless", "a broker whose answer has no end"),
];

/// The browsers that wait, each with its fault in words, and the page at the end.
type Waiting = JoinSet<Outcome<(String, Page)>>;

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
        let (cause, page) = ended.map_err(|error| Stop::harness(error.to_string()))??;
        page_in_words(trial, &page, &cause)?;
    }
    Ok(())
}

/// Makes the app call `operation` once for each slow answer, and goes on while they wait.
async fn wait_at(trial: &Trial<'_>, operation: &str, waiting: &mut Waiting) -> Outcome {
    let limit = limit_of("time-limit");
    for (fault, words) in SLOW {
        let (user, next) = login_before(trial, operation).await?;
        trial.arm(operation, fault).await?;
        let cause = format!("with {words} at {operation}");
        let mut browser = user.browser;
        waiting.spawn(async move {
            match within(limit, browser.visit(next)).await {
                Some(Ok(page)) => Ok((cause, page)),
                Some(Err(stop)) => Err(Stop::fail(format!("{cause}, {}", stop.actual))),
                None => Err(Stop::fail(format!(
                    "{cause}, the user waits for more than {} s and sees nothing",
                    limit.as_secs()
                ))),
            }
        });
        until_met(trial, operation).await?;
    }
    Ok(())
}

/// Waits until the app has made the call, so that the next one meets no fault.
async fn until_met(trial: &Trial<'_>, operation: &str) -> Outcome {
    let met = async {
        while trial.testbed.control.armed().await? > 0 {
            pause(Duration::from_millis(20)).await;
        }
        Ok(())
    };
    let met = within(CALL_LIMIT, met).await;
    met.unwrap_or_else(|| Err(not_called(operation)))
}

/// Another browser loads the start page and signs in.
async fn require_others_served(trial: &Trial<'_>) -> Outcome {
    let mut ben = trial.user("browser B", "Ben");
    let too_slow = |what: &str| {
        let limit = OTHERS_LIMIT.as_secs();
        Stop::fail(format!(
            "while three users wait for a slow broker, another user {what} within {limit} s"
        ))
    };
    let opened = within(OTHERS_LIMIT, ben.open(&trial.testbed.start)).await;
    opened.ok_or_else(|| too_slow("does not load the start page"))??;
    let signed_in = within(OTHERS_LIMIT, ben.sign_in()).await;
    signed_in
        .ok_or_else(|| too_slow("cannot sign in"))?
        .map(drop)
}
