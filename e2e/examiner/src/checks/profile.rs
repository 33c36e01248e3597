//! Profiles that are empty, or hostile.

use serde_json::{Value, json};

use super::answers::arm_right;
use super::faulted_login::login_before;
use super::look::{SignedInLook, harm_of};
use crate::app::Flow;
use crate::browser::{Browser, Page};
use crate::calls::operation::PROFILE;
use crate::person::Person;
use crate::random;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The words that a programming language shows for nothing.
const NOTHING: [&str; 5] = ["null", "None", "undefined", "nil", "NaN"];

/// The length of the longest name that providers have.
const LONG: usize = 256;

/// `profile-null`: a user of whom only the id is known, and one whose e-mail address is
/// not verified.
pub(super) async fn profile_null(trial: &Trial<'_>) -> Outcome {
    let looks = SignedInLook::learn(trial).await?;
    // The page's own text is what a visitor reads, and a user who has a name.
    let mut visitor = trial.browser("browser A");
    let mut usual_words = words_of(&trial.whoami(&mut visitor).await?);
    usual_words.extend(words_of(
        &trial.sign_in(&mut visitor, &Person::new("Ada")).await?,
    ));
    usual_words.extend(words_of(&trial.whoami(&mut visitor).await?));

    let person = Person::with_id_alone();
    let mut browser = trial.browser("browser B");
    let landing = trial.try_sign_in(&mut browser, &person).await?;
    let is_in = trial.is_signed_in(&mut browser, &person).await?
        || looks.seems_shown_to(trial, &mut browser).await?;
    require(is_in, || {
        format!(
            "a user without name, user name, e-mail address and picture cannot sign in: the callback ends at {} with status {}",
            landing.url.path(),
            landing.status
        )
    })?;
    for page in [landing, trial.whoami(&mut browser).await?] {
        let path = page.url.path();
        let words = words_of(&page);
        let shown = words
            .iter()
            .find(|word| NOTHING.contains(&word.as_str()) && !usual_words.contains(word));
        require(shown.is_none(), || {
            let word = shown.map_or("", String::as_str);
            format!("the page {path} shows \u{201C}{word}\u{201D} to a user without a name")
        })?;
    }

    let unverified = Person {
        is_email_verified: false,
        ..Person::new("Ada")
    };
    let mut browser = trial.browser("browser C");
    trial.try_sign_in(&mut browser, &unverified).await?;
    require(trial.is_signed_in(&mut browser, &unverified).await?, || {
        "a user whose e-mail address is not verified cannot sign in".to_owned()
    })?;
    users_without_address_stay_apart(trial).await
}

/// Two users without an e-mail address, and a visitor, who has none either.
async fn users_without_address_stay_apart(trial: &Trial<'_>) -> Outcome {
    let [first, second] = ["Ada", "Ben"].map(|name| Person {
        email: None,
        username: None,
        is_email_verified: false,
        ..Person::new(name)
    });
    let mut browser = trial.browser("browser D");
    trial.try_sign_in(&mut browser, &first).await?;
    trial
        .try_sign_in(&mut trial.browser("browser E"), &second)
        .await?;
    if second.is_shown_in(&trial.whoami(&mut browser).await?.body) {
        return Err(Stop::takeover(
            "of two users without an e-mail address, the first one's own page shows the second",
        ));
    }
    let visitor = trial.whoami(&mut trial.browser("browser F")).await?.body;
    if first.is_shown_in(&visitor) || second.is_shown_in(&visitor) {
        return Err(Stop::takeover(
            "after a user without an e-mail address has signed in, a browser without any cookie sees that user's page",
        ));
    }
    Ok(())
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
    for (what, make) in VALUES {
        let needle = random::letters();
        let person = hostile_person(&needle, &make(&needle));
        let mut browser = trial.browser("browser A");
        let landing = trial.try_sign_in(&mut browser, &person).await?;
        check_pages(trial, &mut browser, landing, &needle, what, Must::SignIn).await?;
    }
    for (what, member, value) in SMUGGLED {
        smuggle(trial, what, member, value).await?;
    }
    Ok(())
}

type MakeValue = fn(&str) -> String;

/// Names, each beginning with the needle.
const VALUES: [(&str, MakeValue); 4] = [
    ("a name with markup", |needle| {
        format!("{needle}\"'><{needle} {needle}=1></script><{needle}>&lt;{{{{7*7}}}}")
    }),
    ("a name with a right-to-left override", |needle| {
        format!("{needle} \u{202E}gnp.\u{202C} \u{05D0}\u{05D1}")
    }),
    ("a name of 256 characters", |needle| {
        format!("{needle}{}", "\u{E4}".repeat(LONG - needle.len()))
    }),
    ("a name of emoji", |needle| {
        format!("{needle} \u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F467} \u{1F600}")
    }),
];

/// Values of other members, with the needle in place of `%`.
const SMUGGLED: [(&str, &str, &str); 4] = [
    ("a user name with markup", "username", "%\"'><% %=1>"),
    (
        "an e-mail address with markup",
        "email",
        "%\"'><%%=1>@people.example",
    ),
    (
        "a picture's address with a script",
        "avatarUrl",
        "javascript:%",
    ),
    (
        "a picture's address without https",
        "avatarUrl",
        "http://people.example/%.png",
    ),
];

fn hostile_person(needle: &str, name: &str) -> Person {
    Person {
        name: Some(name.to_owned()),
        email: Some(format!("{needle}@people.example")),
        ..Person::new(needle)
    }
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
    let change = |profile: &mut Value| profile[member] = json!(value.replace('%', &needle));
    arm_right(trial, operation, &login, change).await?;
    let landing = login.browser.visit(login.next.clone()).await?;
    trial.testbed.control.disarm().await?;
    check_pages(
        trial,
        &mut login.browser,
        landing,
        &needle,
        what,
        Must::DoNoHarm,
    )
    .await
}

async fn check_pages(
    trial: &Trial<'_>,
    browser: &mut Browser,
    landing: Page,
    needle: &str,
    what: &str,
    must: Must,
) -> Outcome {
    let whoami = trial.whoami(browser).await?;
    let start = browser.open(&trial.testbed.start).await?;
    let is_shown = whoami.body.contains(needle);
    require(is_shown || must == Must::DoNoHarm, || {
        format!(
            "a user with {what} cannot sign in: the callback ends at {} with status {}",
            landing.url.path(),
            landing.status
        )
    })?;
    for page in [landing, whoami, start] {
        let path = page.url.path();
        require(page.status < 500, || {
            format!(
                "with {what}, the page {path} answers with status {}",
                page.status
            )
        })?;
        let harm = harm_of(&page, needle);
        require(harm.is_none(), || {
            format!("{what} {} {path}", harm.unwrap_or_default() + ", on")
        })?;
    }
    Ok(())
}
