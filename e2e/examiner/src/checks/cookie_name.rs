//! The cookie's name: exactly the session's, and once.

use super::cookie::session_cookies;
use crate::browser::{Browser, Cookie, Page, Visit};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// `cookie-name-exact`: an attacker's session under a name that is only like the
/// session's, and beside the victim's under the same name.
pub(super) async fn cookie_name_exact(trial: &Trial<'_>) -> Outcome {
    let (attacker, victim) = (Person::new("Otto"), Person::new("Vera"));
    let mut foreign = trial.browser("the attacker's browser");
    trial.sign_in(&mut foreign, &attacker).await?;
    let planted = session_cookies(trial, &foreign);
    let page = show(trial, &header(&planted, str::to_owned)).await?;
    if !attacker.is_shown_in(&page.body) {
        return Err(Stop::not_testable(
            "the app does not know a session by its cookies alone",
        ));
    }

    for (how, change) in LIKE {
        let page = show(trial, &header(&planted, change)).await?;
        require(!attacker.is_shown_in(&page.body), || {
            format!(
                "a cookie whose name {how}, which any sister host may set, opens the session: {}",
                escaped(&header_names(&planted, change))
            )
        })?;
    }

    if planted.iter().any(|cookie| is_unique(&cookie.name)) {
        return Ok(());
    }
    let mut own = trial.browser("the victim's browser");
    trial.sign_in(&mut own, &victim).await?;
    let own = header(&session_cookies(trial, &own), str::to_owned);
    let planted = header(&planted, str::to_owned);
    let orders = [("first", [&planted, &own]), ("second", [&own, &planted])];
    for (which, [one, other]) in orders {
        let page = show(trial, &format!("{one}; {other}")).await?;
        require(!attacker.is_shown_in(&page.body), || {
            format!(
                "of two cookies with the session's name the app takes the {which}, an attacker's: the victim is signed in as the attacker"
            )
        })?;
    }
    Ok(())
}

/// Whether no browser has two cookies of this name: it takes them from the host itself
/// and for the path `/` alone.
fn is_unique(name: &str) -> bool {
    name.starts_with("__Host-")
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

fn header_names(cookies: &[Cookie], change: impl Fn(&str) -> String) -> String {
    let names = cookies.iter().map(|cookie| change(&cookie.name));
    names.collect::<Vec<_>>().join(", ")
}

fn escaped(text: &str) -> String {
    text.escape_default().to_string()
}

/// The page about the user, in a browser that sends exactly this header.
async fn show(trial: &Trial<'_>, cookies: &str) -> Outcome<Page> {
    let mut browser: Browser = trial.browser("the victim's browser");
    let visit = Visit::typed(&trial.testbed.at(&trial.app.whoami)?);
    browser.visit(visit.with_header("cookie", cookies)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_escaped_at_one_place_and_is_unique_with_the_prefix_of_hosts() {
        assert_eq!(escape("__Host-s", 0), "%5F_Host-s");
        assert_eq!(escape("sid", 1), "s%69d");
        assert_eq!(escape("sid", 2), "si%64");
        assert_eq!(escape("s", 1), "s");
        let of_none = LIKE.map(|(_, change)| change(""));
        assert_eq!(of_none[..3], ["", "", ""]);
        assert!(is_unique("__Host-session"));
        assert!(!is_unique("__Secure-session"));
    }
}
