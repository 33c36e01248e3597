//! Cookies in a real browser: on the way back from another site, and planted by a sister.

use crate::browser::Cookie;
use crate::chromium::{ForeignSite, Tab};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

use super::super::cookie::session_cookies;

/// `cookie-survives-sites`: the way back from the broker and the provider.
pub(in super::super) async fn cookie_survives_sites(trial: &Trial<'_>) -> Outcome {
    if trial.testbed.start.host_str() == trial.testbed.broker_host().as_deref() {
        return Err(Stop::not_tested(
            "the app and the broker are one site here: give the start page with the name localhost",
        ));
    }
    let person = Person::new("Ada");
    let mut tab = trial.chromium("Chromium").await?;
    trial.to_provider_in(&mut tab).await?;
    let landing = tab.choose(trial.testbed, &person).await?;
    let is_in = trial.is_signed_in_in(&mut tab, &person).await?;
    if is_in {
        return Ok(());
    }
    let strict = tab.cookies().await?.into_iter().find(|cookie| {
        let name = cookie["name"].as_str().unwrap_or_default();
        cookie["sameSite"] == "Strict" && trial.app.session_cookies.iter().any(|it| it == name)
    });
    let reason = strict.map_or(String::new(), |cookie| {
        let name = cookie["name"].as_str().unwrap_or_default();
        format!(": the cookie {name} is SameSite=Strict")
    });
    require(false, || {
        format!(
            "Chromium came back from the provider to {}, and no user is signed in{reason}",
            landing.path()
        )
    })
}

/// `cookie-name-exact`: cookies that another port of the app's host has set.
pub(in super::super) async fn cookie_name_exact(trial: &Trial<'_>) -> Outcome {
    let attacker = Person::new("Mallory");
    let mut own = trial.browser("the attacker's browser");
    trial.sign_in(&mut own, &attacker).await?;
    let cookies = session_cookies(trial, &own);
    if cookies.is_empty() {
        return Err(Stop::not_testable(
            "the app set no cookie by which it knows the browser again",
        ));
    }
    let host = trial.testbed.start.host_str().unwrap_or("localhost");
    let sister = ForeignSite::called(host).await?;
    let mut tab = trial.chromium("the victim's Chromium").await?;
    for spelling in SPELLINGS {
        forget_cookies(&tab).await?;
        plant(&mut tab, &sister, &cookies, |cookie| {
            format!("{}={}; Path=/", spelling(&cookie.name), cookie.value)
        })
        .await?;
        let is_taken = trial.is_signed_in_in(&mut tab, &attacker).await?;
        require(!is_taken, || {
            let names: Vec<_> = cookies.iter().map(|it| spelling(&it.name)).collect();
            format!(
                "the app takes the cookie {}, which another port of its host has set, for its own, and shows the attacker's account",
                names.join(" and ").escape_debug()
            )
        })?;
    }
    forget_cookies(&tab).await?;
    two_of_a_name(trial, &mut tab, &sister, &cookies, &attacker).await
}

/// A longer path puts the attacker's cookie before the victim's own.
async fn two_of_a_name(
    trial: &Trial<'_>,
    tab: &mut Tab,
    sister: &ForeignSite,
    cookies: &[Cookie],
    attacker: &Person,
) -> Outcome {
    let path = trial.testbed.at(&trial.app.whoami)?.path().to_owned();
    if path == "/" {
        // No path is longer than that of the page which shows who is signed in.
        return Ok(());
    }
    trial.sign_in_in(tab, &Person::new("Vera")).await?;
    plant(tab, sister, cookies, |cookie| {
        format!("{}={}; Path={path}", cookie.name, cookie.value)
    })
    .await?;
    let is_taken = trial.is_signed_in_in(tab, attacker).await?;
    require(!is_taken, || {
        format!(
            "of two cookies with one name the app takes the one that another port of its host has set, and shows the attacker's account at {path}"
        )
    })
}

async fn plant(
    tab: &mut Tab,
    sister: &ForeignSite,
    cookies: &[Cookie],
    line: impl Fn(&Cookie) -> String,
) -> Outcome {
    let lines: Vec<_> = cookies.iter().map(line).collect();
    tab.open(&sister.with_cookies(&lines)).await
}

async fn forget_cookies(tab: &Tab) -> Outcome {
    let forget = tab.command("Network.clearBrowserCookies", serde_json::json!({}));
    forget.await.map(drop)
}

/// Names that browsers store as they are, and that a server which decodes or trims takes
/// for the name itself.
const SPELLINGS: [fn(&str) -> String; 3] = [
    |name| name.bytes().map(|byte| format!("%{byte:02X}")).collect(),
    |name| format!("\u{2000}{name}"),
    |name| format!("\u{a0}{name}"),
];
