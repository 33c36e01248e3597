//! After a lost call the person starts again, and that login has secrets of its own.

use std::collections::HashMap;

use url::Url;

use super::failure::offers_restart;
use super::faulted_login::{calls_of, expect_met, login_before, require_page};
use crate::app::Flow;
use crate::browser::{Arrival, Browser, Page, Visit};
use crate::calls::operation::SESSION;
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

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
    let arrival = login.go_on(trial).await?;
    trial.testbed.control.disarm().await?;
    expect_met(trial, mark, operation).await?;
    let cause = format!("after a lost answer of {operation}");
    let Arrival::Page(page) = arrival else {
        let sent = format!("{cause}, the app sends the browser to another site");
        return require(false, || sent);
    };
    require_page(trial, &page, &cause)?;
    require(offers_restart(trial, &page), || {
        let path = page.url.path();
        format!("{cause}, the page {path} has no link or button to start again")
    })?;
    let lost = secrets_of(&login.browser);

    let mut browser = login.browser;
    let mark = trial.mark().await?;
    let person = Person::new("Ada");
    let visit = restart_from(trial, &mut browser, &page).await?;
    let fresh = visit.url.clone();
    let provider = trial.to_provider(&mut browser, visit).await?;
    let callback = trial.choose(&mut browser, &provider, &person).await?;
    browser.visit(callback).await?;
    require(trial.is_signed_in(&mut browser, &person).await?, || {
        format!("{cause}, the next sign-in of the same browser fails")
    })?;
    if trial.flow == Flow::Clean {
        return require_fresh_key(trial, mark, &cause).await;
    }
    let reused = parameters_of(&fresh)
        .into_iter()
        .find(|(name, value)| lost.get(name) == Some(value));
    require(reused.is_none(), || {
        let name = reused.map_or_else(String::new, |(name, _)| name);
        format!("{cause}, the next login has the same {name}")
    })
}

/// Starts again from the page: by its own control, or by the start page.
async fn restart_from(trial: &Trial<'_>, browser: &mut Browser, page: &Page) -> Outcome<Visit> {
    let steps = &trial.way()?.steps;
    let visit = steps.first().filter(|_| steps.len() == 1);
    let Some(visit) = visit.and_then(|step| step.on_page(page)) else {
        return trial.begin(browser).await;
    };
    let is_broker = |url: &Url| trial.testbed.is_broker(url);
    match browser.visit_until(visit, is_broker).await? {
        Arrival::Stopped(visit) => Ok(visit),
        Arrival::Page(_) => trial.begin(browser).await,
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
