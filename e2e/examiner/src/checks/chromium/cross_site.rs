//! Requests that a page of another site makes in the victim's browser.

use std::time::Duration;

use crate::browser::Visit;
use crate::calls::Call;
use crate::calls::operation::{AUTHORIZE, SESSION};
use crate::catalogue::wait_of;
use crate::chromium::{ForeignSite, Tab};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// `start-same-site`: a form of another site, while the victim's own login is under way.
pub(in super::super) async fn start_same_site(trial: &Trial<'_>) -> Outcome {
    let site = ForeignSite::start().await?;
    let form = site.with_form(&start_request(trial).await?);
    let victim = Person::new("Vera");
    let mut tab = trial.chromium("the victim's Chromium").await?;
    trial.to_provider_in(&mut tab).await?;
    let provider = tab.address().await?;

    let mark = trial.mark().await?;
    press_go(&mut tab, &form, wait_of("start-same-site")).await?;
    let calls = trial
        .testbed
        .calls_when_idle(mark, crate::trial::IDLE)
        .await?;
    let started = calls.iter().find(|call| is_start(call));
    require(started.is_none(), || {
        let started = started.map_or_else(String::new, Call::describe);
        format!("a form on a page of another site started a login: {started}")
    })?;

    tab.open(&provider).await?;
    trial.choose_in(&mut tab, &victim).await?;
    require(trial.is_signed_in_in(&mut tab, &victim).await?, || {
        "after a form on a page of another site, the user's own login fails".to_owned()
    })
}

fn is_start(call: &Call) -> bool {
    matches!(call.operation.as_str(), SESSION | AUTHORIZE)
}

/// The request that starts a login, as a form of the attacker's makes it: with the hidden
/// fields of the attacker's own page, and by POST.
async fn start_request(trial: &Trial<'_>) -> Outcome<Visit> {
    let mut browser = trial.browser("the attacker's browser");
    trial.last_press(&mut browser).await
}

/// `sign-out-same-site`: a picture, a link and a form of another site.
pub(in super::super) async fn sign_out_same_site(trial: &Trial<'_>) -> Outcome {
    let mut own = trial.browser("the attacker's browser");
    trial.sign_in(&mut own, &Person::new("Mallory")).await?;
    let request = trial.sign_out_visit(&mut own).await?;
    let wait = wait_of("sign-out-same-site");
    let site = ForeignSite::start().await?;
    let victim = Person::new("Vera");
    let mut tab = trial.chromium("the victim's Chromium").await?;
    trial.sign_in_in(&mut tab, &victim).await?;

    tab.open(&site.with_picture(&request.url)).await?;
    still_in(trial, &mut tab, &victim, "a picture").await?;
    press_go(&mut tab, &site.with_link(&request.url), wait).await?;
    still_in(trial, &mut tab, &victim, "a link").await?;
    press_go(&mut tab, &site.with_form(&request), wait).await?;
    still_in(trial, &mut tab, &victim, "a form").await
}

async fn still_in(trial: &Trial<'_>, tab: &mut Tab, victim: &Person, what: &str) -> Outcome {
    require(trial.is_signed_in_in(tab, victim).await?, || {
        format!("{what} on a page of another site signs the user out")
    })
}

/// Opens a page of the foreign site, presses what is on it, and waits at most `wait` for the next page.
pub(super) async fn press_go(tab: &mut Tab, page: &url::Url, wait: Duration) -> Outcome {
    tab.open(page).await?;
    tab.press("#go").await?;
    // An answer without a page, such as 204, leaves the browser where it is.
    tab.arrives_within(wait, |url| url.origin() != page.origin())
        .await
        .map(drop)
}
