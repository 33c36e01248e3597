//! The session's cookie: its attributes, and its name, exactly and once.

use std::time::Duration;

use super::corpora::{CORPORA, fill};
use super::demands::{session_cookies, some_cookies};
use crate::browser::{Browser, Cookie, Page, SameSite, Visit};
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The longest life of a session's cookie: 30 days.
const MAX_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The longest life of the cookie of one login.
const MAX_LOGIN_LIFE: Duration = Duration::from_secs(600);

/// `cookie-attributes`: of the cookies before sign-in and of those after it, each time that
/// the app sets one.
pub(super) async fn cookie_attributes(trial: &Trial<'_>) -> Outcome {
    let is_https = trial.testbed.start.scheme() == "https";
    let of_login = login_cookies(trial).await?;
    let mut ada = trial.signed_in("browser B", "Ada").await?;
    ada.open(&trial.testbed.start).await?;
    some_cookies(session_cookies(trial, &ada.browser))?;
    for cookie in set_in(trial, &ada.browser) {
        if trial.app.session_cookies.contains(&cookie.name) {
            check(&cookie, is_https, MAX_LIFE)?;
        } else if of_login.contains(&cookie.name) {
            check(&cookie, is_https, MAX_LOGIN_LIFE)?;
        }
    }
    Ok(())
}

/// The names of the cookies that carry a login: those without which its callback does not end
/// well, or with which alone it does.
async fn login_cookies(trial: &Trial<'_>) -> Outcome<Vec<String>> {
    let mut ada = trial.user("browser A", "Ada");
    ada.begin().await?;
    let mut needed = Vec::new();
    for own in ada.browser.jar.of(&trial.callback()?) {
        let without = ends_well(trial, |name| name != own.name).await?;
        if !without || ends_well(trial, |name| name == own.name).await? {
            needed.push(own.name);
        }
    }
    Ok(needed)
}

/// Whether a login ends well in a browser that has kept these of its cookies.
async fn ends_well(trial: &Trial<'_>, keeps: impl Fn(&str) -> bool) -> Outcome<bool> {
    let (mut ada, visit) = trial.user_at_callback("browser A", "Ada").await?;
    ada.browser.jar = ada.browser.jar.only(keeps);
    ada.visit(visit).await?;
    ada.is_signed_in().await
}

/// The cookies that the app set in what the browser saw, without those that it deleted.
fn set_in(trial: &Trial<'_>, browser: &Browser) -> Vec<Cookie> {
    let is_own = |page: &&Page| trial.testbed.is_app(&page.url);
    let set = browser.seen.iter().filter(is_own).flat_map(|page| {
        let lines = page.headers.get_all("set-cookie").iter();
        lines.filter_map(|line| Cookie::parse(&String::from_utf8_lossy(line.as_bytes()), &page.url))
    });
    set.filter(|it| it.life != Some(Duration::ZERO)).collect()
}

fn check(cookie: &Cookie, is_https: bool, max_life: Duration) -> Outcome {
    let name = &cookie.name;
    let life = cookie.life.map_or(0, |it| it.as_secs());
    let too_long = format!("lives {life} s");
    // Of another path, a cookie reaches less; on https the prefix asks for `/`.
    let fault = if !cookie.is_http_only {
        "lacks HttpOnly"
    } else if cookie.same_site != Some(SameSite::Lax) {
        "lacks SameSite=Lax"
    } else if is_https && !cookie.is_secure {
        "lacks Secure"
    } else if is_https && !name.starts_with("__Host-") {
        "lacks the prefix __Host-"
    } else if cookie.has_domain {
        "has a Domain, so that every host below it receives and sets it, too"
    } else if cookie.life.is_none() {
        "has neither Max-Age nor a date in Expires: browsers restore it for months"
    } else if cookie.life > Some(max_life) {
        &too_long
    } else {
        return Ok(());
    };
    Err(Stop::fail(format!("the cookie {name} {fault}")))
}

/// `cookie-name-exact`: an attacker's session under a name that is only like the
/// session's, and beside the victim's under the same name.
pub(super) async fn cookie_name_exact(trial: &Trial<'_>) -> Outcome {
    let attacker = trial.signed_in("the attacker's browser", "Otto").await?;
    let planted = session_cookies(trial, &attacker.browser);
    let is_taken = |page: Page| attacker.person.is_shown_in(&page.body);
    if !is_taken(show(trial, &header(&planted, "{name}")).await?) {
        return Err(Stop::not_testable(
            "the app does not know a session by its cookies alone",
        ));
    }

    let like_names = CORPORA.like_names.iter();
    let mut cases: Vec<_> = like_names
        .map(|(how, row)| (format!("name {how}"), header(&planted, row)))
        .collect();
    // No browser has two cookies of such a name: it takes them from the host itself and for the
    // path `/` alone.
    if !planted.iter().any(|it| it.name.starts_with("__Host-")) {
        let victim = trial.signed_in("the victim's browser", "Vera").await?;
        let own = header(&session_cookies(trial, &victim.browser), "{name}");
        let planted = header(&planted, "{name}");
        for (place, cookies) in [
            ("before", format!("{planted}; {own}")),
            ("after", format!("{own}; {planted}")),
        ] {
            cases.push((format!("place is {place} the victim's own"), cookies));
        }
    }
    for (whose, cookies) in cases {
        let page = show(trial, &cookies).await?;
        require(!is_taken(page), || {
            format!(
                "a cookie whose {whose}, and which any sister host may set, signs the victim in as the attacker"
            )
        })?;
    }
    Ok(())
}

/// The name that a row makes of another; `{all}` is its letters, each escaped.
pub(super) fn like(name: &str, row: &str) -> String {
    let escaped: Vec<_> = name.bytes().map(|it| format!("%{it:02X}")).collect();
    let all = escaped.concat();
    let words = [
        ("name", name),
        ("all", &all),
        ("first", all.get(..3).unwrap_or_default()),
        ("rest", name.get(1..).unwrap_or_default()),
    ];
    fill(row, &words)
}

/// The value of a `Cookie` header, with the names that a row makes of those of the cookies.
fn header(cookies: &[Cookie], row: &str) -> String {
    let pairs = cookies.iter();
    let pairs = pairs.map(|cookie| format!("{}={}", like(&cookie.name, row), cookie.value));
    pairs.collect::<Vec<_>>().join("; ")
}

/// The page about the user, in a browser that sends exactly this header.
async fn show(trial: &Trial<'_>, cookies: &str) -> Outcome<Page> {
    let mut browser = trial.browser("the victim's browser");
    let visit = Visit::typed(&trial.testbed.at(&trial.app.whoami)?);
    browser.visit(visit.with_header("cookie", cookies)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_bounded_by_an_age_or_by_a_date() {
        let url = "http://localhost:5000/app/".parse().unwrap();
        for (attributes, max_life, is_fine) in [
            ("Path=/; Max-Age=2592000", MAX_LIFE, true),
            ("Path=/; Max-Age=2592000", MAX_LOGIN_LIFE, false),
            ("Path=/; Max-Age=600", MAX_LOGIN_LIFE, true),
            // The folder of an app is as good.
            ("Path=/app; Max-Age=60", MAX_LIFE, true),
            ("Path=/", MAX_LIFE, false),
            ("Expires=Thu, 31 Dec 2099 23:59:59 GMT", MAX_LIFE, false),
            ("Path=/; Max-Age=60; Domain=localhost", MAX_LIFE, false),
        ] {
            let line = format!("sid=1; HttpOnly; SameSite=Lax; {attributes}");
            let cookie = Cookie::parse(&line, &url).unwrap();
            let checked = check(&cookie, false, max_life);
            assert_eq!(checked.is_ok(), is_fine, "{attributes}");
        }
    }

    #[test]
    fn a_name_is_escaped_as_a_whole_or_at_one_place() {
        assert_eq!(like("s\u{E9}", "{all}"), "%73%C3%A9");
        assert_eq!(like("sid", "{first}{rest}"), "%73id");
        assert_eq!(like("", "{first}{rest}"), "");
    }
}
