//! Profiles that are empty, hostile, or of another provider; and refusals with hostile words.

use scraper::{ElementRef, Selector};
use serde_json::{Value, json};

use super::answers::{answered, json_answer};
use super::corpora::{CORPORA, fill};
use super::demands::{SignedInLook, no_server_error, page_in_words, signed_in};
use super::failures::{calls_of, login_before, meet_fault};
use crate::browser::{Arrival, Page};
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, no_takeover, require};

/// The words that a programming language shows for nothing.
const NOTHING: [&str; 5] = ["null", "None", "undefined", "nil", "NaN"];

/// The length of the longest name that providers have.
const LONG: usize = 256;

/// `profile-null`: a user of whom only the id is known, and one whose e-mail address is
/// not verified.
pub(super) async fn profile_null(trial: &Trial<'_>) -> Outcome {
    let looks = SignedInLook::learn(trial).await?;
    // The page's own text is what a visitor reads, and a user who has a name.
    let mut usual = trial.user("browser A", "Ada");
    let mut usual_words = nothing_in(&usual.whoami().await?);
    usual_words.extend(nothing_in(&usual.sign_in().await?));
    usual_words.extend(nothing_in(&usual.whoami().await?));

    let mut nameless = trial.user_as("browser B", Person::with_id_alone());
    let landing = nameless.try_sign_in().await?;
    let is_in = nameless.is_signed_in().await? || looks.seems_shown_to(&mut nameless).await?;
    let who = "a user without name, user name, e-mail address and picture";
    require(is_in, || cannot_sign_in(who, &landing))?;
    for page in [landing, nameless.whoami().await?] {
        let mut shown = nothing_in(&page).into_iter();
        if let Some(word) = shown.find(|word| !usual_words.contains(word)) {
            let path = page.url.path();
            return Err(Stop::fail(format!(
                "the page {path} shows \u{201C}{word}\u{201D} to a user without a name"
            )));
        }
    }

    let mut unverified = trial.user("browser C", "Ada");
    unverified.person.is_email_verified = false;
    unverified.try_sign_in().await?;
    let failed = "a user whose e-mail address is not verified cannot sign in";
    signed_in(&mut unverified, failed).await?;
    // A visitor has no e-mail address, either.
    let mut visitor = trial.user_as("browser D", nameless.person);
    no_takeover(
        looks.is_shown_to(&mut visitor).await?,
        || "after a user without an e-mail address has signed in, a browser without any cookie is signed in",
    )
}

/// The failure of a user, such as "a user with a name of emoji", whose login ended on this page.
pub(super) fn cannot_sign_in(user: &str, landing: &Page) -> String {
    let (path, status) = (landing.url.path(), landing.status);
    format!("{user} cannot sign in: the callback ended at {path} with status {status}")
}

/// The words for nothing on a page; the null of a JSON document is none.
fn nothing_in(page: &Page) -> Vec<&'static str> {
    let text = if page.is_html() {
        page.text()
    } else {
        String::new()
    };
    let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let shown = NOTHING.into_iter().filter(|it| words.contains(it));
    shown.collect()
}

/// `provider-as-asked`: a profile of the provider that was asked for, of the other one, and of
/// one that the service does not have.
pub(super) async fn provider_as_asked(trial: &Trial<'_>) -> Outcome {
    let looks = SignedInLook::learn(trial).await?;
    let asked = trial.way()?.provider;
    for named in ["google", "github", "gitlab"] {
        let ada = trial.user("browser A", "Ada");
        let change = |profile: &mut Value| profile["provider"] = json!(named);
        let (mut user, landing) = given_profile(&ada, change).await?;
        let is_in = looks.is_shown_to(&mut user).await?;
        let cause = format!("asked for a user of {asked} and given a profile of {named}");
        if named != asked {
            require(!is_in, || format!("{cause}, the app signs the user in"))?;
            page_in_words(trial, &landing, &cause)?;
        } else if !is_in {
            return Err(Stop::not_testable("the app refuses a right profile"));
        }
    }
    Ok(())
}

/// A login of `user` with a change of the profile in the broker's answer, and the page at its end.
pub(super) async fn given_profile<'t>(
    user: &User<'t>,
    change: impl Fn(&mut Value),
) -> Outcome<(User<'t>, Page)> {
    let [_, operation] = calls_of(user.trial.flow);
    let by_hand = |mut right: Value| {
        match right.get_mut("profile") {
            Some(profile) => change(profile),
            None => change(&mut right),
        }
        json_answer(200, &right)
    };
    let (user, Arrival::Page(page)) = answered(user, operation, by_hand).await? else {
        unreachable!("an answer with a profile starts no login");
    };
    Ok((user, page))
}

/// `profile-hostile`: values that a provider lets its users choose, and ones that only a
/// broker without its own checks would let pass.
pub(super) async fn profile_hostile(trial: &Trial<'_>) -> Outcome {
    for (what, name) in &CORPORA.hostile_names {
        let needle = random::letters();
        let mut user = trial.user("browser A", &needle);
        user.person.name = Some(fill_name(name, &needle));
        user.person.email = Some(format!("{needle}@people.example"));
        let landing = user.try_sign_in().await?;
        let pages = check_pages(&mut user, landing, &needle, what).await?;
        // An app may show the subject alone.
        let shown = &pages[1].body;
        let is_in = shown.contains(&needle) || user.person.is_shown_in(shown);
        require(is_in, || {
            cannot_sign_in(&format!("a user with {what}"), &pages[0])
        })?;
        let twice = format!("{needle}&lt;");
        for page in pages {
            let path = page.url.path();
            no_server_error(&page, &format!("with {what}, the page {path} answers with"))?;
            require(!page.text().contains(&twice), || {
                format!("{what} is escaped twice and shown with &lt;, on {path}")
            })?;
        }
    }
    for (what, member, value) in &CORPORA.hostile_members {
        let needle = random::letters();
        let value = json!(fill(value, &[("needle", &needle)]));
        let change = |profile: &mut Value| profile[member] = value.clone();
        let ada = trial.user("browser A", "Ada");
        let (mut user, landing) = given_profile(&ada, change).await?;
        check_pages(&mut user, landing, &needle, what).await?;
    }
    Ok(())
}

fn fill_name(row: &str, needle: &str) -> String {
    let long = "\u{E4}".repeat(LONG - needle.len());
    fill(row, &[("needle", needle), ("long", &long)])
}

/// `message-escaped`: each call of a login, refused by the broker with markup in its words.
pub(super) async fn message_escaped(trial: &Trial<'_>) -> Outcome {
    for operation in calls_of(trial.flow) {
        for (status, members) in MESSAGES {
            let needle = random::letters();
            let markup = fill_name(&CORPORA.hostile_names[0].1, &needle);
            let mut body = json!({ "error": "request_failed", "status": "failed" });
            for member in *members {
                body[member] = json!(markup);
            }
            let (mut user, next) = login_before(trial, operation).await?;
            let answer = json_answer(*status, &body);
            let arrival = meet_fault(&mut user, next, operation, "answer", &answer).await;
            // An app that breaks down shows nothing.
            let Ok(Arrival::Page(landing)) = arrival else {
                continue;
            };
            let members = members.join(" and ");
            let what = format!("the {members} of a refusal of {operation}");
            check_pages(&mut user, landing, &needle, &what).await?;
        }
    }
    Ok(())
}

/// The answers of `message-escaped`: their status, and the members with markup.
const MESSAGES: &[(u16, &[&str])] = &[
    (400, &["message"]),
    (503, &["error", "message"]),
    (200, &["error"]),
];

/// The page after a hostile value, and the next ones: it becomes markup in none.
async fn check_pages(
    user: &mut User<'_>,
    landing: Page,
    needle: &str,
    what: &str,
) -> Outcome<[Page; 3]> {
    let whoami = user.whoami().await?;
    let start = user.open(&user.trial.testbed.start).await?;
    let pages = [landing, whoami, start];
    for page in &pages {
        if let Some(harm) = harm_of(page, needle) {
            let path = page.url.path();
            return Err(Stop::fail(format!("{what} {harm}, on {path}")));
        }
    }
    Ok(pages)
}

/// The harm that a value does in a page, in words; `needle` names its elements and begins
/// its text. None if it is shown as text.
pub(super) fn harm_of(page: &Page, needle: &str) -> Option<String> {
    if !page.is_html() || !page.body.contains(needle) {
        return None;
    }
    let html = page.document();
    let all = Selector::parse("*").expect("this selector is valid");
    let mut elements = html.select(&all);
    elements.find_map(|it| harm_of_element(it, needle))
}

fn harm_of_element(element: ElementRef<'_>, needle: &str) -> Option<String> {
    let name = element.value().name();
    let mut attributes = element.value().attrs();
    let source = element.attr("src").unwrap_or_default();
    let text: String = element.text().collect();
    if name.contains(needle) {
        Some("becomes an element of the page".to_owned())
    } else if attributes.any(|(its, _)| its.contains(needle)) {
        Some(format!("becomes an attribute of the element {name}"))
    } else if name == "script" && text.contains(&format!("{needle}\"")) {
        Some("ends a text in a script of the page".to_owned())
    } else if source.contains(needle) && !source.starts_with("https://") && !source.starts_with('/')
    {
        Some(format!(
            "is loaded by the element {name} from an address that is not https"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::html;

    #[test]
    fn a_value_that_becomes_markup_is_harm_and_an_escaped_one_is_not() {
        for (body, is_harm) in [
            ("<p>Hello <needle x=1>", true),
            ("<input value=x needle=1>", true),
            ("<script>let name = \"needle\"; alert(1)</script>", true),
            ("<img src='http://people.example/needle.png'>", true),
            ("<img src='javascript:needle'>", true),
            ("<p>needle&lt;needle x=1&gt;", false),
            ("<input value='needle&quot;needle=1'>", false),
            ("<script>let name = \"needle\\\"\"</script>", false),
            ("<img src='https://people.example/needle.png'>", false),
            ("<p>nothing", false),
        ] {
            assert_eq!(harm_of(&html(body), "needle").is_some(), is_harm, "{body}");
        }
    }
}
