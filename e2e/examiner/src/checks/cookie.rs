//! The session's cookie.

use std::time::Duration;

use crate::browser::{Browser, Cookie, SameSite};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The longest life of a session's cookie: 30 days.
const MAX_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// `cookie-attributes`: of the cookie before sign-in and of the one after it.
pub(super) async fn cookie_attributes(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    trial.begin(&mut browser).await?;
    check_all(trial, &browser)?;
    let mut browser = trial.browser("browser B");
    trial.sign_in(&mut browser, &Person::new("Ada")).await?;
    check_all(trial, &browser)
}

fn check_all(trial: &Trial<'_>, browser: &Browser) -> Outcome {
    let cookies = session_cookies(trial, browser);
    if cookies.is_empty() {
        return Err(Stop::not_testable(
            "the app set no cookie by which it knows the browser again",
        ));
    }
    let is_https = trial.world.start.scheme() == "https";
    cookies
        .iter()
        .try_for_each(|cookie| check(cookie, is_https))
}

fn check(cookie: &Cookie, is_https: bool) -> Outcome {
    let name = &cookie.name;
    let needs = [
        (cookie.is_http_only, "HttpOnly"),
        (cookie.same_site == Some(SameSite::Lax), "SameSite=Lax"),
        (cookie.path == "/", "Path=/"),
        (cookie.is_secure || !is_https, "Secure"),
        (
            name.starts_with("__Host-") || !is_https,
            "the prefix __Host-",
        ),
    ];
    for (has, attribute) in needs {
        require(has, || format!("the cookie {name} lacks {attribute}"))?;
    }
    let is_bounded = cookie.has_expires || cookie.max_age.is_some_and(|age| age <= MAX_LIFE);
    require(is_bounded, || match cookie.max_age {
        None => format!("the cookie {name} has no Max-Age: browsers restore it for months"),
        Some(age) => format!("the cookie {name} lives {} days", age.as_secs() / 86_400),
    })
}

/// The cookies that carry the session, in this browser.
pub(super) fn session_cookies(trial: &Trial<'_>, browser: &Browser) -> Vec<Cookie> {
    let own = browser.jar.of(&trial.world.start).into_iter();
    own.filter(|cookie| trial.app.session_cookies.contains(&cookie.name))
        .collect()
}
