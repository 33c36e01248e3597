//! Failures: lost answers, cancelled and failed logins. Nothing is asked for twice, and the
//! person starts again with secrets of the new login's own. Other checks share the login in which
//! one call of the app meets a fault.

use std::collections::HashSet;

use serde_json::{Value, json};
use url::Url;

use super::demands::{no_server_error, page_in_words, parameter, restart, signed_in};
use crate::app::{Flow, Step};
use crate::browser::{Arrival, Page, Visit};
use crate::calls::operation::{PROFILE, SESSION, TOKEN};
use crate::calls::{self, Call};
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, require};

/// The faults after which it is unknown what the broker did.
const AMBIGUOUS: [&str; 5] = [
    "lose_response",
    "truncate",
    "html_502",
    "html_200",
    "refuse",
];

/// `no-retry-result` and `no-retry-token`: the one-time call after each ambiguous fault.
pub(super) async fn no_retry(trial: &Trial<'_>) -> Outcome {
    let operation = trial.flow.one_time_call();
    for fault in AMBIGUOUS {
        let (mut ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
        let mark = trial.mark().await?;
        trial.arm(operation, fault).await?;
        // Whether the app answers its browser is another check's concern.
        let _ = ada.visit(callback.clone()).await;
        if fault == AMBIGUOUS[0] {
            // Nor at the next visit.
            let _ = ada.visit(callback).await;
        }
        let calls = trial.calls(mark).await?;
        trial.testbed.control.disarm().await?;
        let made = calls.iter().filter(|call| call.operation == operation);
        let made: Vec<_> = made.map(calls::describe).collect();
        let (times, all) = (made.len(), made.join("; "));
        if times == 0 {
            return Err(not_called(operation));
        }
        require(times == 1, || {
            format!("after {fault} the app called {times} times: {all}")
        })?;
    }
    Ok(())
}

/// The ways in which a login fails, each with the error of the specification.
pub(super) const FAILURES: [(&str, &str); 3] = [
    ("deny", "access_denied"),
    ("token_refused", "invalid_provider_response"),
    ("server_error", "provider_unavailable"),
];

/// `failure-page`: each of the three errors, for a visitor and for a user who is signed in.
pub(super) async fn failure_page(trial: &Trial<'_>) -> Outcome {
    for (misbehaviour, error) in FAILURES {
        let page = fail(&mut trial.user("browser A", "Abe"), misbehaviour).await?;
        no_server_error(&page, &format!("{error} is answered with"))?;
        restart(trial, &page, &format!("after {error}"))?;
    }
    let mut ada = trial.signed_in("browser B", "Ada").await?;
    let Some(begun) = ada.begin_again(None).await? else {
        return Ok(());
    };
    let page = fail_at_provider(&mut ada, begun, "deny").await?;
    no_server_error(&page, "access_denied is answered with")?;
    // A page that still shows the user need not offer another sign-in.
    let demand = match ada.person.is_shown_in(&page.body) {
        true => page_in_words,
        false => restart,
    };
    demand(trial, &page, "after access_denied")?;
    let failed = "a user who was signed in and cancelled another sign-in is signed out";
    signed_in(&mut ada, failed).await
}

/// A login that the provider lets fail or the person cancels (`deny`), and the page at its end.
pub(super) async fn fail(user: &mut User<'_>, misbehaviour: &str) -> Outcome<Page> {
    let begun = user.begin().await?;
    fail_at_provider(user, begun, misbehaviour).await
}

async fn fail_at_provider(user: &mut User<'_>, begun: Visit, how: &str) -> Outcome<Page> {
    let trial = user.trial;
    let page = trial.to_provider(&mut user.browser, begun).await?;
    let button = Step::Css(format!("[name=misbehave][value='{how}']"));
    let cannot = || Stop::harness(format!("the provider's page cannot {how}"));
    let leaves = button.on_page(&page).ok_or_else(cannot)?;
    let callback = user.leave_provider(leaves).await?;
    let mark = trial.mark().await?;
    let page = user.visit(callback).await?;
    let calls = trial.calls(mark).await?;
    // A legacy callback brings the error itself.
    if trial.flow == Flow::Clean && !calls.iter().any(calls::is_fetch) {
        return Err(Stop::not_testable(
            "the callback of a failed login did not make the app read its result",
        ));
    }
    Ok(page)
}

/// `restart-offered`: after each call of a login was lost.
pub(super) async fn restart_offered(trial: &Trial<'_>) -> Outcome {
    for operation in calls_of(trial.flow) {
        for fault in ["lose_response", "html_502"] {
            restart_after(trial, operation, fault).await?;
        }
    }
    Ok(())
}

async fn restart_after(trial: &Trial<'_>, operation: &str, fault: &str) -> Outcome {
    let (mut user, arrival) = with_fault(trial, operation, fault, &Value::Null).await?;
    let cause = format!("after a lost answer of {operation}");
    let Arrival::Page(page) = arrival else {
        let sent = format!("{cause}, the app sends the browser to another site");
        return Err(Stop::fail(sent));
    };
    restart(trial, &page, &cause)?;

    user.person = Person::new("Ada");
    let mark = trial.mark().await?;
    let visit = restart_from(&mut user, page).await?;
    user.finish(visit).await?;
    let failed = format!("{cause}, the next sign-in of the same browser fails");
    signed_in(&mut user, &failed).await?;
    let calls = trial.testbed.calls(mark).await?;
    let is_refused = |call: &Call| call.status.is_some_and(|it| it >= 400);
    let mut starts = calls.iter().filter(|call| call.operation == SESSION);
    require(!starts.any(is_refused), || {
        format!("{cause}, the app starts the next login with the same session key")
    })?;
    for name in ["state", "code_challenge"] {
        let asked = user.browser.asked.iter();
        let asked = asked.filter(|url| trial.testbed.is_broker(url));
        let begun = asked.filter(|url| url.path().ends_with("/authorize"));
        let mut values = begun.filter_map(|url| parameter(url, name).ok());
        let mut distinct = HashSet::new();
        require(values.all(|value| distinct.insert(value)), || {
            format!("{cause}, the next login has the same {name}")
        })?;
    }
    Ok(())
}

/// Starts again from the page: by its own control, or by the start page.
async fn restart_from(user: &mut User<'_>, page: Page) -> Outcome<Visit> {
    let way = user.trial.way()?;
    let first = way.steps.first();
    if first.is_some_and(|step| step.on_page(&page).is_some())
        && let Ok(visit) = user.begin_on(way, page).await
    {
        return Ok(visit);
    }
    user.begin().await
}

/// The calls that an app makes for one login.
pub(super) fn calls_of(flow: Flow) -> [&'static str; 2] {
    match flow {
        Flow::Clean => [SESSION, Flow::Clean.one_time_call()],
        Flow::Legacy => [TOKEN, PROFILE],
    }
}

/// A login up to the request that makes the app do `operation`.
pub(super) async fn login_before<'t>(
    trial: &'t Trial<'_>,
    operation: &str,
) -> Outcome<(User<'t>, Visit)> {
    if operation != SESSION {
        return trial.user_at_callback("browser A", "Ada").await;
    }
    let mut user = trial.user("browser A", "Ada");
    let press = user.last_press().await?;
    Ok((user, press))
}

/// Makes the request after which `operation` must meet a fault; the browser stops before it
/// leaves the app.
pub(super) async fn meet_fault(
    user: &mut User<'_>,
    next: Visit,
    operation: &str,
    fault: &str,
    more: &Value,
) -> Outcome<Arrival> {
    let (trial, testbed) = (user.trial, user.trial.testbed);
    let mark = trial.mark().await?;
    trial.arm_with(operation, fault, more).await?;
    let leaves = |url: &Url| !testbed.is_app(url);
    let arrival = user.browser.visit_until(next, leaves).await;
    testbed.control.disarm().await?;
    let calls = testbed.calls(mark).await?;
    let is_met = |call: &Call| call.operation == operation && call.fault.is_some();
    match calls.iter().any(is_met) {
        true => arrival,
        false => Err(arrival.err().unwrap_or_else(|| not_called(operation))),
    }
}

/// A login in which `operation` meets a fault, up to the page after it.
pub(super) async fn with_fault<'t>(
    trial: &'t Trial<'_>,
    operation: &str,
    fault: &str,
    more: &Value,
) -> Outcome<(User<'t>, Arrival)> {
    let (mut user, next) = login_before(trial, operation).await?;
    let arrival = meet_fault(&mut user, next, operation, fault, more).await?;
    Ok((user, arrival))
}

/// The end of a check whose login did not make the app do the call.
pub(super) fn not_called(operation: &str) -> Stop {
    Stop::not_testable(format!("a login did not make the app call {operation}"))
}

/// The members of the fault `answer`.
pub(super) fn answer(status: u16, headers: &Value, body: &str) -> Value {
    json!({ "answer": { "status": status, "headers": headers, "body": body } })
}
