//! The moment at which a result is read: when the browser is back, a few times at most.

use std::collections::HashSet;

use super::faulted_login::require_page;
use crate::app::Flow;
use crate::browser::Visit;
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::catalogue::wait_of;
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The reads that one visit of the callback may make.
const MAX_READS: usize = 10;

/// `pending-bounded`: the callback while the user is still at the provider.
pub(super) async fn pending_bounded(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    trial.begin(&mut browser).await?;
    let mark = trial.mark().await?;
    let page = browser.visit(Visit::typed(&trial.callback()?)).await?;
    let answered = trial.mark().await?;
    let reads = reads_of(&trial.testbed.calls(mark).await?).len();
    if reads == 0 {
        return Err(Stop::not_testable(
            "the callback of a login that is not finished does not make the app read its result",
        ));
    }
    require(reads <= MAX_READS, || {
        format!("one visit of the callback made the app read the pending result {reads} times")
    })?;
    require_page(trial, &page, "while the result is pending")?;
    let wait = wait_of("pending-bounded");
    for seconds in [0, 60, 700] {
        trial.advance(seconds).await?;
        let calls = trial.testbed.calls_when_idle(answered, wait).await?;
        let later = reads_of(&calls).len();
        require(later == 0, || {
            format!("after the page was sent, the app read the pending result {later} more times")
        })?;
    }
    Ok(())
}

/// `result-after-browser`: of two users who have signed in, one never comes back.
pub(super) async fn result_after_browser(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut lost = trial.browser("browser A");
    trial.up_to_callback(&mut lost, &Person::new("Ada")).await?;
    let gone = logins_of(&trial.testbed.calls(mark).await?);
    let mut browser = trial.browser("browser B");
    let person = Person::new("Ben");
    let callback = trial.up_to_callback(&mut browser, &person).await?;

    let wait = wait_of("result-after-browser");
    let calls = trial.testbed.calls_when_idle(mark, wait).await?;
    let early = reads_of(&calls).len();
    require(early == 0, || {
        format!("before any browser came back, the app read results {early} times")
    })?;
    browser.visit(callback).await?;
    let is_in = trial.is_signed_in(&mut browser, &person).await?;
    if !is_in {
        return Err(Stop::not_testable("a plain sign-in did not work"));
    }
    trial.advance(60).await?;
    let calls = trial.calls(mark).await?;
    let reads = reads_of(&calls);
    let foreign = reads
        .iter()
        .any(|call| call.login.as_ref().is_some_and(|it| gone.contains(it)));
    require(!foreign, || {
        "the app read the result of a login whose browser never came back".to_owned()
    })
}

fn reads_of(calls: &[Call]) -> Vec<&Call> {
    let operation = Flow::Clean.one_time_call();
    let is_read = |call: &&Call| call.operation == operation;
    calls.iter().filter(is_read).collect()
}

/// The logins that the app has started.
fn logins_of(calls: &[Call]) -> HashSet<String> {
    calls
        .iter()
        .filter(|call| call.operation == SESSION)
        .filter_map(|call| call.login.clone())
        .collect()
}
