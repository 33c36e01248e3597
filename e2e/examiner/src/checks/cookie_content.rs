//! The values of the app's cookies: random or encrypted, with nothing to read in them.

use std::collections::HashSet;

use super::key::logins_of;
use super::legacy::parameter;
use crate::app::Flow;
use crate::browser::Browser;
use crate::person::Person;
use crate::search::{self, Haystack};
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// `cookie-holds-no-secret`: every value that the app gave any cookie during a login and
/// after it, decoded.
pub(super) async fn cookie_holds_no_secret(trial: &Trial<'_>) -> Outcome {
    let person = Person::new("Ada");
    let mut browser = trial.browser("browser A");
    let mark = trial.mark().await?;
    trial.sign_in(&mut browser, &person).await?;
    browser.open(&trial.testbed.start).await?;
    let calls = trial.calls(mark).await?;

    let cookies = cookies_of(trial, &browser);
    if cookies.is_empty() {
        return Err(Stop::not_testable(
            "the app set no cookie by which it knows the browser again",
        ));
    }
    // The log knows a legacy login by its state, which is looked for by itself.
    let logins = match trial.flow {
        Flow::Clean => logins_of(&calls)?,
        Flow::Legacy => HashSet::new(),
    };
    let asked = |name| {
        browser
            .asked
            .iter()
            .filter_map(move |url| parameter(url, name).ok())
    };
    let challenges = asked("code_challenge").collect();
    let known = asked("state").map(|state| ("state", state));
    let profile = [
        ("user's name", &person.name),
        ("user's username", &person.username),
        ("user's e-mail address", &person.email),
    ];
    let profile = profile.into_iter();
    let profile = profile.filter_map(|(what, value)| Some((what, value.clone()?)));
    let known = known
        .chain(profile)
        .chain([("user's id", person.id.clone())]);

    absent("session key", search::find_key(&cookies, &logins))?;
    absent(
        "code_verifier",
        search::find_verifier(&cookies, &challenges),
    )?;
    absent("access token", search::find_token(&cookies))?;
    for (what, value) in known {
        absent(what, search::find_text(&cookies, &value))?;
    }
    Ok(())
}

fn absent(what: &str, place: Option<String>) -> Outcome {
    match place {
        None => Ok(()),
        Some(place) => require(false, || format!("the {what} is readable in {place}")),
    }
}

/// Every value that the app set as a cookie, oldest first.
fn cookies_of(trial: &Trial<'_>, browser: &Browser) -> Vec<Haystack> {
    let haystacks = search::haystacks_of(browser, |page| trial.testbed.is_app(&page.url));
    let is_cookie = |haystack: &Haystack| haystack.place.starts_with("the cookie ");
    haystacks.into_iter().filter(is_cookie).collect()
}
