//! The session's cookie.

use std::time::Duration;

use crate::browser::{Browser, Cookie, SameSite};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The longest life of a session's cookie: 30 days.
const MAX_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The longest life of the cookie of one login.
const MAX_LOGIN_LIFE: Duration = Duration::from_secs(600);

/// `cookie-attributes`: of the cookies before sign-in and of those after it.
pub(super) async fn cookie_attributes(trial: &Trial<'_>) -> Outcome {
    let is_https = trial.testbed.start.scheme() == "https";
    for cookie in login_cookies(trial).await? {
        let is_own = !trial.app.session_cookies.contains(&cookie.name);
        let max_life = if is_own { MAX_LOGIN_LIFE } else { MAX_LIFE };
        check(&cookie, is_https, max_life)?;
    }
    let mut browser = trial.browser("browser B");
    trial.sign_in(&mut browser, &Person::new("Ada")).await?;
    let cookies = session_cookies(trial, &browser);
    if cookies.is_empty() {
        return Err(Stop::not_testable(
            "the app set no cookie by which it knows the browser again",
        ));
    }
    let mut cookies = cookies.iter();
    cookies.try_for_each(|cookie| check(cookie, is_https, MAX_LIFE))
}

/// The cookies that carry a login: those without which its callback does not end well.
async fn login_cookies(trial: &Trial<'_>) -> Outcome<Vec<Cookie>> {
    let callback = trial.callback()?;
    let mut begun = trial.browser("browser A");
    trial.begin(&mut begun).await?;
    let mut needed = Vec::new();
    for cookie in begun.jar.of(&callback) {
        let person = Person::new("Ada");
        let mut browser = trial.browser("browser A");
        let visit = trial.up_to_callback(&mut browser, &person).await?;
        browser.jar = browser.jar.only(|name| name != cookie.name);
        browser.visit(visit).await?;
        if !trial.is_signed_in(&mut browser, &person).await? {
            needed.push(cookie);
        }
    }
    Ok(needed)
}

fn check(cookie: &Cookie, is_https: bool, max_life: Duration) -> Outcome {
    let name = &cookie.name;
    // Of another path, a cookie reaches less; on https the prefix asks for `/`.
    let needs = [
        (cookie.is_http_only, "HttpOnly"),
        (cookie.same_site == Some(SameSite::Lax), "SameSite=Lax"),
        (cookie.is_secure || !is_https, "Secure"),
        (
            name.starts_with("__Host-") || !is_https,
            "the prefix __Host-",
        ),
    ];
    for (has, attribute) in needs {
        require(has, || format!("the cookie {name} lacks {attribute}"))?;
    }
    let is_bounded = cookie.life.is_some_and(|life| life <= max_life);
    require(is_bounded, || match cookie.life {
        None => format!(
            "the cookie {name} has neither Max-Age nor a date in Expires: browsers restore it for months"
        ),
        Some(life) => format!("the cookie {name} lives {}", in_words(life)),
    })
}

fn in_words(life: Duration) -> String {
    match life.as_secs() {
        seconds @ ..172_800 => format!("{seconds} s"),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// The cookies that carry the session, in this browser.
pub(super) fn session_cookies(trial: &Trial<'_>, browser: &Browser) -> Vec<Cookie> {
    let own = browser.jar.of(&trial.testbed.start).into_iter();
    own.filter(|cookie| trial.app.session_cookies.contains(&cookie.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(attributes: &str, max_life: Duration) -> Option<String> {
        let line = format!("sid=1; HttpOnly; SameSite=Lax; {attributes}");
        let url = "http://localhost:5000/app/".parse().unwrap();
        let cookie = Cookie::parse(&line, &url).unwrap();
        check(&cookie, false, max_life).err().map(|it| it.actual)
    }

    #[test]
    fn a_life_is_bounded_by_an_age_or_by_a_date() {
        for (attributes, max_life, is_fine) in [
            ("Path=/; Max-Age=2592000", MAX_LIFE, true),
            ("Path=/; Max-Age=2592000", MAX_LOGIN_LIFE, false),
            ("Path=/; Max-Age=600", MAX_LOGIN_LIFE, true),
            // The folder of an app is as good.
            ("Path=/app; Max-Age=60", MAX_LIFE, true),
            ("Path=/", MAX_LIFE, false),
            (
                "Path=/; Expires=Thu, 31 Dec 2099 23:59:59 GMT",
                MAX_LIFE,
                false,
            ),
        ] {
            assert_eq!(
                seen(attributes, max_life).is_none(),
                is_fine,
                "{attributes}"
            );
        }
    }
}
