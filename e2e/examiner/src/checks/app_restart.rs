//! A restart of the app in the middle of a login and of a session.

use super::failure::offers_restart;
use crate::browser::Browser;
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require, require_no_server_error};

/// The number of sessions and of logins on either side of a restart. Ids that are
/// counted from one again meet within them.
const SESSIONS: usize = 4;

/// `restart-of-app`: sessions and logins from before a restart, among new ones.
pub(super) async fn restart_of_app(trial: &Trial<'_>) -> Outcome {
    // Counters begin anew, also in an app that earlier checks have used.
    trial.testbed.restart_app().await?;
    let mut old = Vec::new();
    for _ in 0..SESSIONS {
        let person = Person::new("Ada");
        let mut browser = trial.browser("browser A");
        trial.sign_in(&mut browser, &person).await?;
        old.push(browser);
    }
    let late = Person::new("Eve");
    let mut late_browser = trial.browser("browser B");
    let callback = trial.up_to_callback(&mut late_browser, &late).await?;
    trial.testbed.restart_app().await?;

    let mut new = Vec::new();
    for _ in 0..=SESSIONS {
        let person = Person::new("Nora");
        trial
            .sign_in(&mut trial.browser("browser C"), &person)
            .await?;
        new.push(person);
    }
    for browser in &mut old {
        opens_no_other(trial, browser, &new).await?;
    }
    let page = late_browser.visit(callback).await?;
    opens_no_other(trial, &mut late_browser, &new).await?;
    let ends_well = trial.is_signed_in(&mut late_browser, &late).await?;
    require_no_server_error(page.status, || {
        format!(
            "a login that a restart interrupts ends with status {}",
            page.status
        )
    })?;
    require(ends_well || offers_restart(trial, &page), || {
        format!(
            "a login that a restart interrupts ends at {}, which has no link or button to start again",
            page.url.path()
        )
    })?;
    for browser in old.iter_mut().take(1).chain([&mut late_browser]) {
        is_usable(trial, browser).await?;
    }
    Ok(())
}

async fn opens_no_other(trial: &Trial<'_>, browser: &mut Browser, new: &[Person]) -> Outcome {
    let page = trial.whoami(browser).await?;
    if new.iter().any(|person| person.is_shown_in(&page.body)) {
        return Err(Stop::takeover(
            "a cookie from before a restart opens the session of a user who signed in after it",
        ));
    }
    require_no_server_error(page.status, || {
        format!(
            "a browser with a cookie from before a restart gets status {}",
            page.status
        )
    })
}

/// A user with cookies from before the restart signs in again.
async fn is_usable(trial: &Trial<'_>, browser: &mut Browser) -> Outcome {
    let way = trial.way()?;
    let page = browser.open(&trial.testbed.start).await?;
    let has_step = way
        .steps
        .first()
        .is_some_and(|it| it.on_page(&page).is_some());
    if !has_step {
        // The session outlived the restart, and the page offers no second sign-in.
        return require(page.status < 400, || {
            format!(
                "after a restart the start page answers an old cookie with {}",
                page.status
            )
        });
    }
    let person = Person::new("Ada");
    let ended = trial.try_sign_in(browser, &person).await;
    let is_in = ended.is_ok() && trial.is_signed_in(browser, &person).await?;
    require(is_in, || {
        "a browser with a cookie from before a restart cannot sign in".to_owned()
    })
}
