//! The session's cookie: its attributes, and its name, exactly and once.

use std::time::Duration;

use super::demands::{session_cookies, some_cookies};
use crate::browser::{Cookie, Page, SameSite, Visit};
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
    let mut ada = trial.user("browser B", "Ada");
    ada.sign_in().await?;
    let cookies = some_cookies(session_cookies(trial, &ada.browser))?;
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
        let mut ada = trial.user("browser A", "Ada");
        let visit = ada.up_to_callback().await?;
        ada.browser.jar = ada.browser.jar.only(|name| name != cookie.name);
        ada.visit(visit).await?;
        if !ada.is_signed_in().await? {
            needed.push(cookie);
        }
    }
    Ok(needed)
}

fn check(cookie: &Cookie, is_https: bool, max_life: Duration) -> Outcome {
    let name = &cookie.name;
    let has_prefix = name.starts_with("__Host-");
    // Of another path, a cookie reaches less; on https the prefix asks for `/`.
    let needs = [
        (cookie.is_http_only, "HttpOnly"),
        (cookie.same_site == Some(SameSite::Lax), "SameSite=Lax"),
        (cookie.is_secure || !is_https, "Secure"),
        (has_prefix || !is_https, "the prefix __Host-"),
    ];
    for (has, attribute) in needs {
        require(has, || format!("the cookie {name} lacks {attribute}"))?;
    }
    match cookie.life {
        None => Err(Stop::fail(format!(
            "the cookie {name} has neither Max-Age nor a date in Expires: browsers restore it for months"
        ))),
        Some(life) => require(life <= max_life, || {
            format!("the cookie {name} lives {}", in_words(life))
        }),
    }
}

fn in_words(life: Duration) -> String {
    match life.as_secs() {
        seconds @ ..172_800 => format!("{seconds} s"),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// `cookie-name-exact`: an attacker's session under a name that is only like the
/// session's, and beside the victim's under the same name.
pub(super) async fn cookie_name_exact(trial: &Trial<'_>) -> Outcome {
    let mut attacker = trial.user("the attacker's browser", "Otto");
    attacker.sign_in().await?;
    let planted = session_cookies(trial, &attacker.browser);
    let is_taken = |page: Page| attacker.person.is_shown_in(&page.body);
    if !is_taken(show(trial, &header(&planted, str::to_owned)).await?) {
        return Err(Stop::not_testable(
            "the app does not know a session by its cookies alone",
        ));
    }

    for (how, change) in LIKE {
        let page = show(trial, &header(&planted, change)).await?;
        require(!is_taken(page), || {
            let names: Vec<_> = planted.iter().map(|cookie| change(&cookie.name)).collect();
            format!(
                "a cookie whose name {how}, which any sister host may set, opens the session: {}",
                names.join(", ").escape_default()
            )
        })?;
    }

    // No browser has two cookies of such a name: it takes them from the host itself and for the
    // path `/` alone.
    if planted.iter().any(|it| it.name.starts_with("__Host-")) {
        return Ok(());
    }
    let mut victim = trial.user("the victim's browser", "Vera");
    victim.sign_in().await?;
    let own = header(&session_cookies(trial, &victim.browser), str::to_owned);
    let planted = header(&planted, str::to_owned);
    let orders = [("first", [&planted, &own]), ("second", [&own, &planted])];
    for (which, [one, other]) in orders {
        let page = show(trial, &format!("{one}; {other}")).await?;
        require(!is_taken(page), || {
            format!(
                "of two cookies with the session's name the app takes the {which}, an attacker's: the victim is signed in as the attacker"
            )
        })?;
    }
    Ok(())
}

/// Makes a name that is like another.
type Change = fn(&str) -> String;

const LIKE: [(&str, Change); 7] = [
    ("has an escaped first letter", |name| escape(name, 0)),
    ("has an escaped second letter", |name| escape(name, 1)),
    ("has an escaped last letter", |name| {
        escape(name, name.len().saturating_sub(1))
    }),
    ("begins with a no-break space", |name| {
        format!("\u{A0}{name}")
    }),
    ("ends with a no-break space", |name| format!("{name}\u{A0}")),
    ("begins with an em space", |name| format!("\u{2003}{name}")),
    ("ends with an em space", |name| format!("{name}\u{2003}")),
];

/// The name with one character as its percent code.
fn escape(name: &str, position: usize) -> String {
    let codes = name.char_indices().map(|(index, letter)| {
        if index == position && letter.is_ascii() {
            format!("%{:02X}", u32::from(letter))
        } else {
            letter.to_string()
        }
    });
    codes.collect()
}

/// The value of a `Cookie` header, with changed names.
fn header(cookies: &[Cookie], change: impl Fn(&str) -> String) -> String {
    let pairs = cookies
        .iter()
        .map(|cookie| format!("{}={}", change(&cookie.name), cookie.value));
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
        ] {
            let line = format!("sid=1; HttpOnly; SameSite=Lax; {attributes}");
            let cookie = Cookie::parse(&line, &url).unwrap();
            let checked = check(&cookie, false, max_life);
            assert_eq!(checked.is_ok(), is_fine, "{attributes}");
        }
    }

    #[test]
    fn a_name_is_escaped_at_one_place() {
        assert_eq!(escape("__Host-s", 0), "%5F_Host-s");
        assert_eq!(escape("sid", 2), "si%64");
        assert_eq!(escape("s", 1), "s");
        let of_none = LIKE.map(|(_, change)| change(""));
        assert_eq!(of_none[..3], ["", "", ""]);
    }
}
