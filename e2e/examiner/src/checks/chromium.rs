//! The checks that need a real browser, and those parts of others that do: cookies on the way
//! between sites, requests of other sites, what is stored, and the history.

use std::time::Duration;

use serde_json::json;
use url::Url;

use super::cookies::like;
use super::corpora::CORPORA;
use super::demands::{absent, no_call, parameter, session_cookies, some_cookies};
use super::secrets::logins_of;
use crate::calls::Call;
use crate::calls::operation::{AUTHORIZE, SESSION};
use crate::catalogue::wait_of;
use crate::chromium::Tab;
use crate::chromium_user::ChromiumUser;
use crate::foreign_site::{ForeignSite, Lure};
use crate::search::{self, Haystack};
use crate::trial::{IDLE, Trial};
use crate::verdict::{Outcome, Stop, require};

/// The number of times that Back is pressed at most.
const MAX_PRESSES: usize = 6;

/// `cookie-survives-sites`: the way back from the broker and the provider.
pub(super) async fn cookie_survives_sites(trial: &Trial<'_>) -> Outcome {
    if trial.testbed.start.host_str() == trial.testbed.broker_host().as_deref() {
        return Err(Stop::not_tested(
            "the app and the broker are one site here: give the start page with the name localhost",
        ));
    }
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    ada.reach_provider().await?;
    let landing = ada.leave_provider().await?;
    require(ada.is_signed_in().await?, || {
        let path = landing.path();
        format!("Chromium came back from the provider to {path}, and no user is signed in")
    })
}

/// `cookie-name-exact`: cookies that another port of the app's host has set.
pub(super) async fn cookie_name_exact(trial: &Trial<'_>) -> Outcome {
    let attacker = trial.signed_in("the attacker's browser", "Mallory").await?;
    let cookies = some_cookies(session_cookies(trial, &attacker.browser))?;
    let host = trial.testbed.start.host_str().unwrap_or("localhost");
    let sister = ForeignSite::called(host).await?;
    let mut victim = trial.chromium("the victim's Chromium", "Vera").await?;
    let attacker = attacker.person;
    let path = trial.testbed.at(&trial.app.whoami)?.path().to_owned();
    let like_names = CORPORA.like_names.iter();
    let padded = like_names.filter(|(_, row)| row == "{all}" || row.ends_with("{name}"));
    let padded = padded.map(|(how, row)| (&**how, &**row, "/"));
    // A longer path puts the attacker's cookie before the victim's own.
    let same = (path != "/").then_some(("is the same", "{name}", &*path));
    for (how, row, path) in padded.chain(same) {
        let forget = "Network.clearBrowserCookies";
        victim.tab.command(forget, json!({})).await?;
        if row == "{name}" {
            victim.sign_in().await?;
        }
        let lines = cookies.iter();
        let lines = lines.map(|it| format!("{}={}; Path={path}", like(&it.name, row), it.value));
        let lines: Vec<_> = lines.collect();
        let page = sister.page(Lure::Cookies(&lines)).await;
        victim.tab.open(&page).await?;
        let is_taken = attacker.is_shown_in(&victim.whoami().await?);
        require(!is_taken, || {
            format!(
                "the app takes a cookie whose name {how}, and which another port of its host has set, for its own, and shows the attacker's account"
            )
        })?;
    }
    Ok(())
}

/// `start-same-site`: a form of another site, while the victim's own login is under way.
pub(super) async fn start_same_site(trial: &Trial<'_>) -> Outcome {
    let site = ForeignSite::start().await?;
    // With the hidden fields of the attacker's own page, and by POST.
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    let form = site.page(Lure::Form(&attacker.last_press().await?)).await;
    let mut victim = trial.chromium("the victim's Chromium", "Vera").await?;
    victim.reach_provider().await?;
    let provider = victim.tab.address().await?;

    let mark = trial.mark().await?;
    press_go(&mut victim.tab, &form, wait_of("start-same-site")).await?;
    let calls = trial.testbed.calls_when_idle(mark, IDLE).await?;
    let is_start = |call: &Call| matches!(call.operation.as_str(), SESSION | AUTHORIZE);
    let what = "a form on a page of another site started a login:";
    no_call(&calls, is_start, what)?;

    victim.tab.open(&provider).await?;
    victim.choose().await?;
    require(
        victim.is_signed_in().await?,
        || "after a form on a page of another site, the user's own login fails",
    )
}

/// `sign-out-same-site`: a picture, a link and a form of another site.
pub(super) async fn sign_out_same_site(trial: &Trial<'_>) -> Outcome {
    let mut attacker = trial.signed_in("the attacker's browser", "Mallory").await?;
    let request = attacker.sign_out_visit().await?;
    let wait = wait_of("sign-out-same-site");
    let site = ForeignSite::start().await?;
    let mut victim = trial.chromium("the victim's Chromium", "Vera").await?;
    victim.sign_in().await?;

    let picture = site.page(Lure::Picture(&request.url)).await;
    victim.tab.open(&picture).await?;
    still_in(&mut victim, "a picture").await?;
    for (lure, what) in [
        (Lure::Link(&request.url), "a link"),
        (Lure::Form(&request), "a form"),
    ] {
        press_go(&mut victim.tab, &site.page(lure).await, wait).await?;
        still_in(&mut victim, what).await?;
    }
    Ok(())
}

async fn still_in(victim: &mut ChromiumUser<'_>, what: &str) -> Outcome {
    require(victim.is_signed_in().await?, || {
        format!("{what} on a page of another site signs the user out")
    })
}

/// Opens a page of the foreign site, presses what is on it, and waits at most `wait` for the next page.
pub(super) async fn press_go(tab: &mut Tab, page: &Url, wait: Duration) -> Outcome {
    tab.open(page).await?;
    tab.press("#go").await?;
    // An answer without a page, such as 204, leaves the browser where it is.
    let left = tab.arrives_within(wait, |url| url.origin() != page.origin());
    left.await.map(drop)
}

/// `key-not-in-browser`, in Chromium: scripts of the app may store it there.
pub(super) async fn key_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let (_ada, held) = held_in_a_login(trial).await?;
    let logins = logins_of(&trial.calls(mark).await?)?;
    let place = search::find_key(&held, &logins);
    absent("in Chromium the session key is", place)
}

/// `token-not-in-browser`, in Chromium.
pub(super) async fn token_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let (_, held) = held_in_a_login(trial).await?;
    absent("in Chromium the access token is", search::find_token(&held))
}

/// `pkce`: the verifier, in Chromium.
pub(super) async fn pkce(trial: &Trial<'_>) -> Outcome {
    let (ada, held) = held_in_a_login(trial).await?;
    let asked = ada.tab.exchanges.iter();
    let challenges = asked.filter_map(|it| parameter(&it.url, "code_challenge").ok());
    let place = search::find_verifier(&held, &challenges.collect());
    absent("in Chromium the code_verifier is", place)
}

/// A person who signs in, with everything that their browser holds of the app meanwhile and
/// afterwards.
async fn held_in_a_login<'t>(trial: &'t Trial<'_>) -> Outcome<(ChromiumUser<'t>, Vec<Haystack>)> {
    let start = &trial.testbed.start;
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    // A page that is opened while a login is under way sees what was stored for it.
    ada.reach_provider().await?;
    ada.tab.open(start).await?;
    let mut held = ada.tab.holdings(start).await?;
    ada.try_sign_in().await?;
    held.extend(ada.tab.holdings(start).await?);
    ada.require_signed_in().await?;
    held.extend(ada.tab.holdings(start).await?);
    Ok((ada, held))
}

/// `back-button`: from the start page after a sign-in back to the one before it.
pub(super) async fn back_button(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    ada.sign_in().await?;
    ada.tab.open(&trial.testbed.start).await?;

    let mark = trial.mark().await?;
    let entries = ada.tab.history().await?.len();
    for _ in 1..entries.min(MAX_PRESSES) {
        let before = ada.tab.exchanges.len();
        ada.tab.back().await?;
        let url = ada.tab.address().await?;
        if !trial.testbed.is_app(&url) {
            continue;
        }
        let path = url.path();
        let mut loaded = ada.tab.exchanges[before..].iter().rev();
        // There is no status if the browser still had the page.
        let status = loaded.find_map(|it| it.status.filter(|_| it.is_page()));
        let status = status.unwrap_or_default();
        require(status < 500, || {
            format!("Back leads to {path}, which answers with status {status}")
        })?;
        require(ada.tab.text().await?.len() >= 10, || {
            format!("Back leads to {path}, a page without words")
        })?;
    }
    let calls = trial.calls(mark).await?;
    let operations = [SESSION, trial.flow.one_time_call()];
    let is_of_login = |call: &Call| operations.contains(&call.operation.as_str());
    no_call(&calls, is_of_login, "Back made the app call")?;
    require(
        ada.is_signed_in().await?,
        || "after Back the user is signed out",
    )
}

/// `code-not-kept`: in the page, the history, and the `Referer` of later requests.
pub(super) async fn code_not_kept(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    ada.try_sign_in().await?;
    ada.tab.finish_loading().await?;
    let landing = ada.tab.address().await?;
    let page = format!("the page {} after the callback", landing.path());
    let mut kept = vec![Haystack::new(page, ada.tab.session.source().await?)];
    ada.require_signed_in().await?;
    ada.tab.open(&trial.testbed.start).await?;

    let callbacks = ada.callbacks()?;
    let code = callbacks.iter().find_map(|it| parameter(it, "code").ok());
    let code = code.ok_or_else(|| Stop::not_testable("the callback in Chromium had no code"))?;
    kept.extend(ada.tab.exchanges.iter().filter_map(|it| {
        let place = format!("the Referer of the request for {}", it.url.path());
        Some(Haystack::new(place, it.referer.as_ref()?))
    }));
    kept.extend(ada.tab.history().await?);
    absent("in Chromium the code is", search::find_text(&kept, &code))
}
