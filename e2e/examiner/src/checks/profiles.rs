//! Profiles that are empty, hostile, or of another provider; and refusals with hostile words.

use contract::{Provider, Subject};
use scraper::Selector;
use serde_json::{Value, json};

use super::answers::arm_right;
use super::corpora::{CORPORA, fill};
use super::demands::{SignedInLook, no_server_error, page_in_words};
use super::failures::{answer, calls_of, login_before, not_called, was_met_by_another};
use crate::app::Flow;
use crate::browser::{Arrival, Page};
use crate::calls::operation::PROFILE;
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, Verdict, no_takeover, require};

/// The words that a programming language shows for nothing.
const NOTHING: [&str; 5] = ["null", "None", "undefined", "nil", "NaN"];

/// The length of the longest name that providers have.
const LONG: usize = 256;

/// The attempts at one answer: an app that reads results in the background may take it with the
/// call of another login.
const ATTEMPTS: usize = 3;

/// `profile-null`: a user of whom only the id is known, and one whose e-mail address is
/// not verified.
pub(super) async fn profile_null(trial: &Trial<'_>) -> Outcome {
    let looks = SignedInLook::learn(trial).await?;
    // The page's own text is what a visitor reads, and a user who has a name.
    let mut usual = trial.user("browser A", "Ada");
    let mut usual_words = words_of(&usual.whoami().await?);
    usual_words.extend(words_of(&usual.sign_in().await?));
    usual_words.extend(words_of(&usual.whoami().await?));

    let mut nameless = trial.user_as("browser B", Person::with_id_alone());
    let landing = nameless.try_sign_in().await?;
    let is_in = nameless.is_signed_in().await? || looks.seems_shown_to(&mut nameless).await?;
    require(is_in, || {
        cannot_sign_in(
            "without name, user name, e-mail address and picture",
            &landing,
        )
    })?;
    for page in [landing, nameless.whoami().await?] {
        let words = words_of(&page);
        let mut shown = words.iter().filter(|word| !usual_words.contains(word));
        if let Some(word) = shown.find(|word| NOTHING.contains(&word.as_str())) {
            let path = page.url.path();
            return Err(Stop::fail(format!(
                "the page {path} shows \u{201C}{word}\u{201D} to a user without a name"
            )));
        }
    }

    let mut unverified = trial.user("browser C", "Ada");
    unverified.person.is_email_verified = false;
    unverified.try_sign_in().await?;
    require(
        unverified.is_signed_in().await?,
        || "a user whose e-mail address is not verified cannot sign in",
    )?;
    // A visitor has no e-mail address, either.
    let mut visitor = trial.user_as("browser D", nameless.person);
    let is_in = visitor.is_signed_in().await? || looks.is_shown_to(&mut visitor).await?;
    no_takeover(
        is_in,
        || "after a user without an e-mail address has signed in, a browser without any cookie is signed in",
    )
}

fn cannot_sign_in(what: &str, landing: &Page) -> String {
    let (path, status) = (landing.url.path(), landing.status);
    format!("a user {what} cannot sign in: the callback ends at {path} with status {status}")
}

/// The words of a page; the null of a JSON document is none.
fn words_of(page: &Page) -> Vec<String> {
    if !page.is_html() {
        return Vec::new();
    }
    let text = page.text();
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.map(str::to_owned).collect()
}

/// `provider-as-asked`: a profile of the provider that was asked for, of the other one, and of
/// one that the service does not have.
pub(super) async fn provider_as_asked(trial: &Trial<'_>) -> Outcome {
    let looks = SignedInLook::learn(trial).await?;
    let asked = trial.way()?.provider;
    let (other, by) = match asked {
        "google" => ("github", Provider::GitHub),
        _ => ("google", Provider::Google),
    };
    for named in [asked, other, "gitlab"] {
        let person = Person::new("Ada");
        let subject = json!(Subject::of(by, &person.id));
        let change = |profile: &mut Value| {
            if named != asked {
                profile["provider"] = json!(named);
                profile["subject"] = subject.clone();
            }
        };
        let (mut user, landing) = answered(trial, "browser A", person, change).await?;
        let is_in = user.is_signed_in().await? || looks.is_shown_to(&mut user).await?;
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

/// The call whose answer has the profile.
fn profile_call(flow: Flow) -> &'static str {
    match flow {
        Flow::Clean => flow.one_time_call(),
        Flow::Legacy => PROFILE,
    }
}

/// A login of `person` with a change of the profile in the broker's answer, and the page at its
/// end.
pub(super) async fn answered<'t>(
    trial: &'t Trial<'_>,
    browser: &str,
    person: Person,
    change: impl Fn(&mut Value),
) -> Outcome<(User<'t>, Page)> {
    let operation = profile_call(trial.flow);
    for _ in 0..ATTEMPTS {
        let mut user = trial.user_as(browser, person.clone());
        let callback = user.up_to_callback().await?;
        let mark = trial.mark().await?;
        arm_right(&user, operation, &change).await?;
        let landing = user.visit(callback).await?;
        trial.testbed.control.disarm().await?;
        let calls = trial.testbed.calls(mark).await?;
        if !calls
            .iter()
            .any(|call| call.operation == operation && call.fault.is_some())
        {
            return Err(not_called(operation));
        }
        if !was_met_by_another(trial, operation, mark).await? {
            return Ok((user, landing));
        }
    }
    Err(Stop::not_testable(format!(
        "the app calls {operation} for other logins in the background"
    )))
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
        require(pages[1].body.contains(&needle), || {
            cannot_sign_in(&format!("with {what}"), &pages[0])
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
        let person = Person::new("Ada");
        let (mut user, landing) = answered(trial, "browser A", person, change).await?;
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
            let mut login = login_before(trial, operation).await?;
            let json = json!({ "Content-Type": "application/json" });
            let more = answer(*status, &json, &body.to_string());
            let mark = trial.mark().await?;
            trial.arm_with(operation, "answer", &more).await?;
            let arrival = login.meet_fault(operation, mark).await;
            trial.testbed.control.disarm().await?;
            let landing = match arrival {
                Ok(Arrival::Page(landing)) => landing,
                Err(stop) if stop.verdict == Verdict::Harness => return Err(stop),
                // An app that breaks down shows nothing.
                _ => continue,
            };
            let members = members.join(" and ");
            let what = format!("the {members} of a refusal of {operation}");
            check_pages(&mut login.user, landing, &needle, &what).await?;
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
    for element in html.select(&all) {
        let name = element.value().name();
        if name.contains(needle) {
            return Some("becomes an element of the page".to_owned());
        }
        if element
            .value()
            .attrs()
            .any(|(name, _)| name.contains(needle))
        {
            return Some(format!("becomes an attribute of the element {name}"));
        }
        let has_needle = || {
            let text: String = element.text().collect();
            text.contains(&format!("{needle}\""))
        };
        if name == "script" && has_needle() {
            return Some("ends a text in a script of the page".to_owned());
        }
        let source = element.attr("src").unwrap_or_default();
        if source.contains(needle) && !source.starts_with("https://") && !source.starts_with('/') {
            return Some(format!(
                "is loaded by the element {name} from an address that is not https"
            ));
        }
    }
    None
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
