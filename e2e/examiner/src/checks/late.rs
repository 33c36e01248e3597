//! A browser that comes back after the life of its login.

use super::failure::offers_restart;
use super::faulted_login::require_page;
use crate::app::Flow;
use crate::browser::{Browser, Page, Visit};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// The life of a login, and a second more.
const LATE_SECONDS: u64 = 601;

/// Longer than sessions live: 31 days.
const SESSION_END_SECONDS: u64 = 31 * 24 * 60 * 60;

/// `late-return`: the user had signed in before the time was over, or signs in after it.
pub(super) async fn late_return(trial: &Trial<'_>) -> Outcome {
    finished_before(trial).await?;
    finished_after(trial).await?;
    // The broker knows nothing of a legacy login before its browser comes. Then only the
    // app's own limit holds, and only an app that asks the stack for the time has moved on.
    if trial.flow == Flow::Legacy && follows_clock(trial).await? {
        departed_late(trial).await?;
    }
    Ok(())
}

async fn finished_before(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    let person = Person::new("Ada");
    let callback = trial.up_to_callback(&mut browser, &person).await?;
    trial.advance(LATE_SECONDS).await?;
    let page = browser.visit(callback).await?;
    require_refused(trial, browser, &person, &page).await
}

async fn finished_after(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    let person = Person::new("Ada");
    let visit = trial.begin(&mut browser).await?;
    let provider = trial.to_provider(&mut browser, visit).await?;
    trial.advance(LATE_SECONDS).await?;
    let page = match trial.choose(&mut browser, &provider, &person).await {
        Ok(callback) => browser.visit(callback).await?,
        // The broker ends a login that is over on a page of its own.
        Err(_) => browser.visit(Visit::typed(&trial.callback()?)).await?,
    };
    require_refused(trial, browser, &person, &page).await
}

/// The browser leaves the app, and reaches the broker only after the time is over.
async fn departed_late(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    let person = Person::new("Ada");
    let visit = trial.begin(&mut browser).await?;
    trial.advance(LATE_SECONDS).await?;
    let provider = trial.to_provider(&mut browser, visit).await?;
    let callback = trial.choose(&mut browser, &provider, &person).await?;
    let page = browser.visit(callback).await?;
    require_refused(trial, browser, &person, &page).await
}

async fn require_refused(
    trial: &Trial<'_>,
    mut browser: Browser,
    person: &Person,
    page: &Page,
) -> Outcome {
    let cause = format!("{LATE_SECONDS} s after the start");
    require(!trial.is_signed_in(&mut browser, person).await?, || {
        format!("{cause}, the callback still signs in")
    })?;
    require_page(trial, page, &cause)?;
    require(offers_restart(trial, page), || {
        let path = page.url.path();
        format!("{cause}, the page {path} has no link or button to start again")
    })?;
    let person = Person::new("Ada");
    trial.try_sign_in(&mut browser, &person).await?;
    let is_in = trial.is_signed_in(&mut browser, &person).await?;
    require(is_in, || {
        format!("{cause}, the next sign-in of the same browser fails")
    })
}

/// Whether the app takes its time from the stack: a session ends when the clock moves, and
/// the broker was not asked.
async fn follows_clock(trial: &Trial<'_>) -> Outcome<bool> {
    if !trial.testbed.owns_app() {
        return Ok(false);
    }
    let mut browser = trial.browser("browser B");
    let person = Person::new("Ben");
    trial.sign_in(&mut browser, &person).await?;
    trial.advance(SESSION_END_SECONDS).await?;
    let mark = trial.mark().await?;
    let has_ended = !trial.is_signed_in(&mut browser, &person).await?;
    let calls = trial.calls(mark).await?;
    Ok(has_ended && calls.is_empty())
}
