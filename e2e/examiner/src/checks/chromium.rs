//! The checks that need a real browser, and those parts of others that do: cookies on the way
//! between sites, requests of other sites, what is stored, and the history.

use std::collections::HashSet;
use std::time::Duration;

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
use crate::foreign_site::ForeignSite;
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
    if ada.is_signed_in().await? {
        return Ok(());
    }
    let path = landing.path();
    Err(Stop::fail(format!(
        "Chromium came back from the provider to {path}, and no user is signed in"
    )))
}

/// `cookie-name-exact`: cookies that another port of the app's host has set.
pub(super) async fn cookie_name_exact(trial: &Trial<'_>) -> Outcome {
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    attacker.sign_in().await?;
    let cookies = some_cookies(session_cookies(trial, &attacker.browser))?;
    let host = trial.testbed.start.host_str().unwrap_or("localhost");
    let sister = ForeignSite::called(host).await?;
    let mut victim = trial.chromium("the victim's Chromium", "Vera").await?;
    let attacker = attacker.person;
    let path = trial.testbed.at(&trial.app.whoami)?.path().to_owned();
    let like_names = CORPORA.like_names.iter();
    let padded = like_names.filter(|(_, row)| row == "{all}" || row.ends_with("{name}"));
    let mut cases: Vec<_> = padded.map(|(how, row)| (&**how, &**row, "/")).collect();
    // A longer path puts the attacker's cookie before the victim's own.
    cases.extend((path != "/").then_some(("is the same", "{name}", &*path)));
    for (how, row, path) in cases {
        forget_cookies(&victim.tab).await?;
        if row == "{name}" {
            victim.sign_in().await?;
        }
        let lines = cookies.iter().map(|it| (like(&it.name, row), &it.value));
        let lines: Vec<_> = lines
            .map(|(name, value)| format!("{name}={value}; Path={path}"))
            .collect();
        victim.tab.open(&sister.with_cookies(&lines)).await?;
        let is_taken = attacker.is_shown_in(&victim.whoami().await?);
        require(!is_taken, || {
            format!(
                "the app takes a cookie whose name {how}, and which another port of its host has set, for its own, and shows the attacker's account"
            )
        })?;
    }
    Ok(())
}

async fn forget_cookies(tab: &Tab) -> Outcome {
    let forget = tab.command("Network.clearBrowserCookies", serde_json::json!({}));
    forget.await.map(drop)
}

/// `start-same-site`: a form of another site, while the victim's own login is under way.
pub(super) async fn start_same_site(trial: &Trial<'_>) -> Outcome {
    let site = ForeignSite::start().await?;
    // With the hidden fields of the attacker's own page, and by POST.
    let mut attacker = trial.browser("the attacker's browser");
    let form = site.with_form(&trial.last_press(&mut attacker).await?);
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
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    attacker.sign_in().await?;
    let request = trial.sign_out_visit(&mut attacker.browser).await?;
    let wait = wait_of("sign-out-same-site");
    let site = ForeignSite::start().await?;
    let mut victim = trial.chromium("the victim's Chromium", "Vera").await?;
    victim.sign_in().await?;

    victim.tab.open(&site.with_picture(&request.url)).await?;
    still_in(&mut victim, "a picture").await?;
    press_go(&mut victim.tab, &site.with_link(&request.url), wait).await?;
    still_in(&mut victim, "a link").await?;
    press_go(&mut victim.tab, &site.with_form(&request), wait).await?;
    still_in(&mut victim, "a form").await
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
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    let held = held_in_a_login(&mut ada).await?;
    let calls = trial.calls(mark).await?;
    let place = search::find_key(&held, &logins_of(&calls)?);
    absent("in Chromium the session key is", place)
}

/// `token-not-in-browser`, in Chromium.
pub(super) async fn token_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    let held = held_in_a_login(&mut ada).await?;
    absent("in Chromium the access token is", search::find_token(&held))
}

/// `pkce`: the verifier, in Chromium.
pub(super) async fn pkce(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    let held = held_in_a_login(&mut ada).await?;
    let asked = ada.tab.exchanges().iter();
    let challenges: HashSet<_> = asked
        .filter_map(|exchange| parameter(&exchange.url, "code_challenge").ok())
        .collect();
    let place = search::find_verifier(&held, &challenges);
    absent("in Chromium the code_verifier is", place)
}

/// Everything that the browser holds of the app during a login, and after it.
async fn held_in_a_login(user: &mut ChromiumUser<'_>) -> Outcome<Vec<Haystack>> {
    let start = &user.trial.testbed.start;
    // A page that is opened while a login is under way sees what was stored for it.
    user.reach_provider().await?;
    user.tab.open(start).await?;
    let mut held = user.tab.holdings(start).await?;
    user.try_sign_in().await?;
    held.extend(user.tab.holdings(start).await?);
    user.require_signed_in().await?;
    held.extend(user.tab.holdings(start).await?);
    Ok(held)
}

/// `back-button`: from the start page after a sign-in back to the one before it.
pub(super) async fn back_button(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    ada.sign_in().await?;
    ada.tab.open(&trial.testbed.start).await?;

    let mark = trial.mark().await?;
    let entries = ada.tab.history().await?.len();
    for _ in 1..entries.min(MAX_PRESSES) {
        let before = ada.tab.exchanges().len();
        ada.tab.back().await?;
        let url = ada.tab.address().await?;
        if !trial.testbed.is_app(&url) {
            continue;
        }
        let path = url.path();
        // There is no status if the browser still had the page.
        let status = status_of_page(&ada.tab, before).unwrap_or_default();
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

/// The status of the page that was loaded last; none if the browser still had it.
fn status_of_page(tab: &Tab, before: usize) -> Option<u16> {
    let loaded = tab.exchanges().iter().skip(before).rev();
    let mut pages = loaded.filter(|exchange| exchange.kind == "Document");
    pages.find_map(|exchange| exchange.status)
}

/// `code-not-kept`: in the page, the history, and the `Referer` of later requests.
pub(super) async fn code_not_kept(trial: &Trial<'_>) -> Outcome {
    let callback = trial.callback()?;
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    ada.try_sign_in().await?;
    ada.tab.finish_loading().await?;
    let page = ada.tab.source().await?;
    let landing = ada.tab.address().await?;
    ada.require_signed_in().await?;
    ada.tab.open(&trial.testbed.start).await?;

    let visits = ada.tab.exchanges().iter();
    let code = visits
        .filter(|it| it.url.path() == callback.path() && trial.testbed.is_app(&it.url))
        .find_map(|it| parameter(&it.url, "code").ok());
    let code = code.ok_or_else(|| Stop::not_testable("the callback in Chromium had no code"))?;
    require(!page.contains(&code), || {
        let path = landing.path();
        format!("the page {path} after the callback contains the code")
    })?;
    let mut sent = ada.tab.exchanges().iter();
    let sent = sent.find(|it| it.referer.as_ref().is_some_and(|it| it.contains(&code)));
    require(sent.is_none(), || {
        let path = sent.map_or("a page", |it| it.url.path());
        format!("the Referer of the request for {path} contains the code")
    })?;
    let history = ada.tab.history().await?;
    require(!history.iter().any(|url| url.contains(&code)), || {
        let path = callback.path();
        format!("the history has the address {path} with the code in it")
    })
}
