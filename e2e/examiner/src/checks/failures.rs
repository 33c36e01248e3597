//! Failures: lost answers, cancelled and failed logins. Nothing is asked for twice, and the
//! person starts again with secrets of the new login's own.

use std::collections::HashMap;

use url::Url;

use super::demands::{offers_restart, restart};
use super::faulted::{calls_of, login_before};
use crate::app::Flow;
use crate::browser::{Arrival, Browser, Page, Visit};
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::person::Person;
use crate::trial::Trial;
use crate::user::User;
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
        let mut ada = trial.user("browser A", "Ada");
        let callback = ada.up_to_callback().await?;
        let mark = trial.mark().await?;
        trial.arm(operation, fault).await?;
        // Whether the app answers its browser is another check's concern.
        let _ = ada.visit(callback.clone()).await;
        if fault == AMBIGUOUS[0] {
            // Nor at the next visit.
            let _ = ada.visit(callback).await;
        }
        let mut made = trial.calls(mark).await?;
        trial.testbed.control.disarm().await?;
        made.retain(|call| call.operation == operation);
        if made.is_empty() {
            return Err(Stop::not_testable(format!(
                "the callback did not make the app call {operation}"
            )));
        }
        require(made.len() == 1, || {
            let all: Vec<_> = made.iter().map(Call::describe).collect();
            let (times, all) = (made.len(), all.join("; "));
            format!("after {fault} the app called {times} times: {all}")
        })?;
    }
    Ok(())
}

/// The ways in which a login fails, each with the error of the specification.
const FAILURES: [(&str, &str); 3] = [
    ("deny", "access_denied"),
    ("token_refused", "invalid_provider_response"),
    ("server_error", "provider_unavailable"),
];

/// `failure-page`: each of the three errors, for a visitor and for a user who is signed in.
pub(super) async fn failure_page(trial: &Trial<'_>) -> Outcome {
    for (misbehaviour, error) in FAILURES {
        let mut visitor = trial.browser("browser A");
        let visit = trial.begin(&mut visitor).await?;
        let page = fail(trial, &mut visitor, visit, misbehaviour).await?;
        check_page(trial, &page, error)?;
    }
    let mut ada = trial.user("browser B", "Ada");
    ada.sign_in().await?;
    let begun = trial.begin_signed_in(&mut ada.browser, None);
    let Some(visit) = begun.await? else {
        return Ok(());
    };
    let page = fail(trial, &mut ada.browser, visit, "deny").await?;
    if ada.person.is_shown_in(&page.body) {
        check_words(trial, &page, "access_denied")?;
    } else {
        check_page(trial, &page, "access_denied")?;
    }
    require(
        ada.is_signed_in().await?,
        || "a user who was signed in and cancelled another sign-in is signed out",
    )
}

/// A login that fails at the provider, and the page at its end.
async fn fail(
    trial: &Trial<'_>,
    browser: &mut Browser,
    visit: Visit,
    misbehaviour: &str,
) -> Outcome<Page> {
    let page = trial.to_provider(browser, visit).await?;
    let callback = trial.misbehave(browser, &page, misbehaviour).await?;
    let mark = trial.mark().await?;
    let page = browser.visit(callback).await?;
    let calls = trial.calls(mark).await?;
    // A legacy callback brings the error itself.
    if trial.flow == Flow::Clean && !calls.iter().any(Call::is_fetch) {
        return Err(Stop::not_testable(
            "the callback of a failed login did not make the app read its result",
        ));
    }
    Ok(page)
}

fn check_page(trial: &Trial<'_>, page: &Page, error: &str) -> Outcome {
    check_words(trial, page, error)?;
    let path = page.url.path();
    require(offers_restart(trial, page), || {
        format!("{error} ends at {path}, which has no link or button to start again")
    })
}

fn check_words(trial: &Trial<'_>, page: &Page, error: &str) -> Outcome {
    let (path, status) = (page.url.path(), page.status);
    require(status < 500, || {
        format!("{error} is answered with status {status} at {path}")
    })?;
    require(trial.has_words(page), || {
        format!("{error} ends on a page without words, {path}")
    })
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
    let mut login = login_before(trial, operation).await?;
    let mark = trial.mark().await?;
    trial.arm(operation, fault).await?;
    let arrival = login.meet_fault(operation, mark).await?;
    let cause = format!("after a lost answer of {operation}");
    let Arrival::Page(page) = arrival else {
        return Err(Stop::fail(format!(
            "{cause}, the app sends the browser to another site"
        )));
    };
    restart(trial, &page, &cause)?;
    let lost = secrets_of(&login.user.browser);

    let mut user = login.user;
    user.person = Person::new("Ada");
    let mark = trial.mark().await?;
    let visit = restart_from(&mut user, &page).await?;
    let fresh = visit.url.clone();
    user.finish(visit).await?;
    require(user.is_signed_in().await?, || {
        format!("{cause}, the next sign-in of the same browser fails")
    })?;
    if trial.flow == Flow::Clean {
        return require_fresh_key(trial, mark, &cause).await;
    }
    let mut secrets = parameters_of(&fresh).into_iter();
    match secrets.find(|(name, value)| lost.get(name) == Some(value)) {
        None => Ok(()),
        Some((name, _)) => Err(Stop::fail(format!(
            "{cause}, the next login has the same {name}"
        ))),
    }
}

/// Starts again from the page: by its own control, or by the start page.
async fn restart_from(user: &mut User<'_>, page: &Page) -> Outcome<Visit> {
    let trial = user.trial;
    let steps = &trial.way()?.steps;
    let visit = steps.first().filter(|_| steps.len() == 1);
    let Some(visit) = visit.and_then(|step| step.on_page(page)) else {
        return user.begin().await;
    };
    let is_broker = |url: &Url| trial.testbed.is_broker(url);
    match user.browser.visit_until(visit, is_broker).await? {
        Arrival::Stopped(visit) => Ok(visit),
        Arrival::Page(_) => user.begin().await,
    }
}

/// The second login's key was not refused as one that is known.
async fn require_fresh_key(trial: &Trial<'_>, mark: u64, cause: &str) -> Outcome {
    let calls = trial.testbed.calls(mark).await?;
    let refused = calls
        .iter()
        .any(|call| call.operation == SESSION && call.status.is_some_and(|it| it >= 400));
    require(!refused, || {
        format!("{cause}, the app starts the next login with the same session key")
    })
}

/// The state and the challenge of the last login that this browser began.
fn secrets_of(browser: &Browser) -> HashMap<String, String> {
    let urls = browser.asked.iter().rev();
    let last = urls.map(parameters_of).find(|found| !found.is_empty());
    last.unwrap_or_default().into_iter().collect()
}

fn parameters_of(url: &Url) -> Vec<(String, String)> {
    let is_secret = |name: &str| matches!(name, "state" | "code_challenge");
    let is_start = url.path().ends_with("/authorize");
    url.query_pairs()
        .filter(|(name, _)| is_start && is_secret(name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}
