//! Failures: lost answers, cancelled and failed logins.

use crate::app::Flow;
use crate::browser::{Browser, Page, Visit};
use crate::calls::Call;
use crate::person::Person;
use crate::trial::Trial;
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
        let mut browser = trial.browser("browser A");
        let callback = trial
            .up_to_callback(&mut browser, &Person::new("Ada"))
            .await?;
        let mark = trial.mark().await?;
        trial.arm(operation, fault).await?;
        // Whether the app answers its browser is another check's concern.
        let _ = browser.visit(callback.clone()).await;
        if fault == AMBIGUOUS[0] {
            // Nor at the next visit.
            let _ = browser.visit(callback).await;
        }
        let calls = trial.calls(mark).await?;
        trial.testbed.control.disarm().await?;
        let made: Vec<_> = calls
            .iter()
            .filter(|call| call.operation == operation)
            .collect();
        if made.is_empty() {
            return Err(Stop::not_testable(format!(
                "the callback did not make the app call {operation}"
            )));
        }
        require(made.len() == 1, || {
            let made: Vec<_> = made.iter().map(|call| call.describe()).collect();
            format!(
                "after {fault} the app called {} times: {}",
                made.len(),
                made.join("; ")
            )
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
    let person = Person::new("Ada");
    let mut user = trial.browser("browser B");
    trial.sign_in(&mut user, &person).await?;
    let Some(visit) = trial.begin_signed_in(&mut user, None).await? else {
        return Ok(());
    };
    let page = fail(trial, &mut user, visit, "deny").await?;
    if person.is_shown_in(&page.body) {
        check_words(trial, &page, "access_denied")?;
    } else {
        check_page(trial, &page, "access_denied")?;
    }
    let stays = trial.is_signed_in(&mut user, &person).await?;
    require(stays, || {
        "a user who was signed in and cancelled another sign-in is signed out".to_owned()
    })
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
    let path = page.url.path();
    require(page.status < 500, || {
        format!("{error} is answered with status {} at {path}", page.status)
    })?;
    require(trial.has_words(page), || {
        format!("{error} ends on a page without words, {path}")
    })
}

/// Whether the page leads back to a sign-in: by one of its first steps, or by a link to
/// the start page. On the start page itself, any control will do: the user may be
/// signed in.
pub(super) fn offers_restart(trial: &Trial<'_>, page: &Page) -> bool {
    let controls = page.controls();
    let first_steps = trial.app.ways.iter().filter_map(|way| way.steps.first());
    let has_step = first_steps
        .into_iter()
        .any(|step| step.on_page(page).is_some());
    let start = trial.testbed.start.path();
    let is_start = page.url.path() == start && !controls.is_empty();
    let has_script_alone = || controls.is_empty() && trial.leave_to_script(page);
    has_step
        || is_start
        || has_script_alone()
        || controls.iter().any(|control| {
            let target = control.target();
            trial.testbed.is_app(&target)
                && (target.path() == start || is_sign_in_path(trial, target.path()))
        })
}

fn is_sign_in_path(trial: &Trial<'_>, path: &str) -> bool {
    let steps = trial.app.ways.iter().flat_map(|way| &way.steps);
    steps
        .into_iter()
        .filter_map(|step| step.path())
        .any(|its| its == path)
}
