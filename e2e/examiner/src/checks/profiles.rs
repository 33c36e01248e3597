//! Profiles that are empty, or hostile.

use scraper::Selector;
use serde_json::{Value, json};

use super::answers::arm_right;
use super::corpora::{CORPORA, fill};
use super::demands::SignedInLook;
use super::failures::login_before;
use crate::app::Flow;
use crate::browser::Page;
use crate::calls::operation::PROFILE;
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
    users_without_address_stay_apart(trial).await
}

fn cannot_sign_in(what: &str, landing: &Page) -> String {
    let (path, status) = (landing.url.path(), landing.status);
    format!("a user {what} cannot sign in: the callback ends at {path} with status {status}")
}

/// Two users without an e-mail address, and a visitor, who has none either.
async fn users_without_address_stay_apart(trial: &Trial<'_>) -> Outcome {
    let [mut first, mut second] =
        [("browser D", "Ada"), ("browser E", "Ben")].map(|(name, first)| {
            let person = Person {
                email: None,
                username: None,
                is_email_verified: false,
                ..Person::new(first)
            };
            trial.user_as(name, person)
        });
    first.try_sign_in().await?;
    second.try_sign_in().await?;
    no_takeover(
        first.sees(&second.person).await?,
        || "of two users without an e-mail address, the first one's own page shows the second",
    )?;
    let visitor = trial.whoami(&mut trial.browser("browser F")).await?.body;
    no_takeover(
        first.person.is_shown_in(&visitor) || second.person.is_shown_in(&visitor),
        || "after a user without an e-mail address has signed in, a browser without any cookie sees that user's page",
    )
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

/// `profile-hostile`: values that a provider lets its users choose, and ones that only a
/// broker without its own checks would let pass.
pub(super) async fn profile_hostile(trial: &Trial<'_>) -> Outcome {
    for (what, name) in &CORPORA.hostile_names {
        let needle = random::letters();
        let long = "\u{E4}".repeat(LONG - needle.len());
        let mut user = trial.user("browser A", &needle);
        user.person.name = Some(fill(name, &[("needle", &needle), ("long", &long)]));
        user.person.email = Some(format!("{needle}@people.example"));
        let landing = user.try_sign_in().await?;
        check_pages(&mut user, landing, &needle, what, Must::SignIn).await?;
    }
    for (what, member, value) in &CORPORA.hostile_members {
        smuggle(trial, what, member, value).await?;
    }
    Ok(())
}

/// Whether the app must accept a profile, or may refuse it as none of the specification's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    SignIn,
    DoNoHarm,
}

/// Signs in by a profile with one member that the broker would not let pass.
async fn smuggle(trial: &Trial<'_>, what: &str, member: &str, value: &str) -> Outcome {
    let needle = random::letters();
    let operation = match trial.flow {
        Flow::Clean => trial.flow.one_time_call(),
        Flow::Legacy => PROFILE,
    };
    let mut login = login_before(trial, operation).await?;
    let value = json!(fill(value, &[("needle", &needle)]));
    let change = |profile: &mut Value| profile[member] = value;
    arm_right(&login.user, operation, change).await?;
    let landing = login.user.visit(login.next).await?;
    trial.testbed.control.disarm().await?;
    check_pages(&mut login.user, landing, &needle, what, Must::DoNoHarm).await
}

async fn check_pages(
    user: &mut User<'_>,
    landing: Page,
    needle: &str,
    what: &str,
    must: Must,
) -> Outcome {
    let whoami = user.whoami().await?;
    let start = user.open(&user.trial.testbed.start).await?;
    let is_shown = whoami.body.contains(needle);
    require(is_shown || must == Must::DoNoHarm, || {
        cannot_sign_in(&format!("with {what}"), &landing)
    })?;
    for page in [landing, whoami, start] {
        let (path, status) = (page.url.path(), page.status);
        require(status < 500, || {
            format!("with {what}, the page {path} answers with status {status}")
        })?;
        if let Some(harm) = harm_of(&page, needle) {
            return Err(Stop::fail(format!("{what} {harm}, on {path}")));
        }
    }
    Ok(())
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
    let text = page.text();
    text.contains(&format!("{needle}&lt;"))
        .then(|| "is escaped twice and shown with &lt;".to_owned())
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
            ("<p>needle&amp;lt;b&amp;gt;", true),
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
