//! Accounts: one for each subject, exactly as it is, and by no other value of a profile.

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use url::Url;

use super::corpora::{CORPORA, fill};
use super::demands::no_server_error;
use super::profiles::answered;
use crate::app::SignInWay;
use crate::browser::{Clickable, Form, Page, Visit};
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, no_takeover, require};

/// The number of browsers in which one person comes back at once.
const BROWSERS: usize = 4;

/// `account-by-subject`: by each provider, the same values with another subject, and the reverse.
pub(super) async fn account_by_subject(trial: &Trial<'_>) -> Outcome {
    let ways = trial.app.ways.iter().filter(|it| it.flow == trial.flow);
    for way in ways.clone() {
        let owned = Belongings::make(trial, way, Person::new("Vera")).await?;
        let owner = &owned.owner.person;
        let other = same_address(owner, "Mallory");
        let by = "another user with the same e-mail address and user name";
        owned.require_hidden_from(way, other, by).await?;
        for elsewhere in ways.clone().filter(|it| it.provider != way.provider) {
            let same_id = Person {
                id: owner.id.clone(),
                ..same_address(owner, "Mallory")
            };
            let by = "a user of the other provider with the same id and e-mail address";
            owned.require_hidden_from(elsewhere, same_id, by).await?;
        }
        owned.require_known()?;
        let namesake = Person {
            id: random::digits(),
            ..owner.clone()
        };
        let by = "another user with the same name, user name, e-mail address and picture";
        owned.require_hidden_from(way, namesake, by).await?;
        let renamed = Person {
            id: owner.id.clone(),
            ..Person::new("Maria")
        };
        let (mut again, _) = signed_in(trial, "the victim's browser", way, renamed).await?;
        let shows = showing(&mut again, &owned.pages, &owned.text).await?;
        require(
            !shows.is_empty(),
            || "a user whose name and e-mail address have changed at the provider gets a new account and loses what they saved",
        )?;
    }
    let [owner, other] = ["Vera", "Mallory"].map(|first| Person {
        email: None,
        username: None,
        is_email_verified: false,
        ..Person::new(first)
    });
    // Whether such a user can sign in is another check's concern.
    if let Some(owned) = Belongings::made(trial, trial.way()?, owner).await? {
        let by = "another user without an e-mail address";
        owned.require_hidden_from(trial.way()?, other, by).await?;
    }
    at_once(trial).await
}

/// Two users with one e-mail address and one user name, who come back for the first time at
/// the same moment.
async fn at_once(trial: &Trial<'_>) -> Outcome {
    let mut vera = trial.user("the victim's browser", "Vera");
    let other = same_address(&vera.person, "Mallory");
    let mut mallory = trial.user_as("the attacker's browser", other);
    let (own, others) = (
        vera.up_to_callback().await?,
        mallory.up_to_callback().await?,
    );
    let (landing, page) = tokio::try_join!(vera.visit(own), mallory.visit(others))?;
    vera.require_signed_in().await?;
    let owned = Belongings::of(vera, trial.way()?, &landing).await?;
    let by = "another user with the same e-mail address, who came back at the same moment,";
    owned.require_hidden(mallory, &page, by).await
}

/// `one-account`: one person comes back in several browsers at once, for the first time.
pub(super) async fn one_account(trial: &Trial<'_>) -> Outcome {
    let way = trial.way()?;
    let known = Belongings::make(trial, way, Person::new("Ada")).await?;
    known.require_known()?;
    let mut browsers = vec![trial.user("browser A", "Ada"); BROWSERS];
    let mut callbacks = Vec::new();
    for browser in &mut browsers {
        callbacks.push(browser.up_to_callback().await?);
    }
    let arrivals = browsers.iter_mut().zip(callbacks);
    let arrivals = arrivals.map(|(browser, callback)| browser.visit(callback));
    let landings = try_join_all(arrivals).await?;
    for (mut browser, landing) in browsers.into_iter().zip(&landings) {
        let what = format!("one user came back in {BROWSERS} browsers at once, and one ends with");
        no_server_error(landing, &what)?;
        let pages = pages_of(trial, landing)?;
        // An app may keep one session of a user, and a text once.
        let saved = save(&mut browser, &pages, |path| path == known.form).await?;
        let Some((_, text)) = saved else { continue };
        let again = signed_in(trial, "browser B", way, browser.person);
        let (mut again, _) = again.await?;
        require(
            !showing(&mut again, &pages, &text).await?.is_empty(),
            || {
                format!(
                    "a user who came back in {BROWSERS} browsers at once for the first time has several accounts: what one browser saves, the next sign-in does not show"
                )
            },
        )?;
    }
    Ok(())
}

/// `subject-exact`: subjects that are alike, each with another one's belongings.
pub(super) async fn subject_exact(trial: &Trial<'_>) -> Outcome {
    let way = trial.way()?;
    for row in &CORPORA.subjects {
        let words = [
            ("a", random::letters()),
            ("b", random::letters()),
            ("n", random::digits()),
        ];
        let owner = Person {
            subject: Some(fill(&row.owner, &words)),
            ..Person::new("Vera")
        };
        let Some(owned) = Belongings::made(trial, way, owner).await? else {
            // A subject of this form is refused, and with it its likes.
            continue;
        };
        owned.require_known()?;
        for (what, other) in &row.others {
            let other = Person {
                subject: Some(fill(other, &words)),
                ..Person::new("Mallory")
            };
            let by = format!("a user whose subject {what}");
            let hidden = owned.require_hidden_from(way, other, &by).await;
            // No user chooses their subject.
            hidden.map_err(|stop| Stop {
                is_takeover: false,
                ..stop
            })?;
        }
    }
    Ok(())
}

/// `unverified-email`: one address of two users, verified for one of them, who comes first
/// and then second.
pub(super) async fn unverified_email(trial: &Trial<'_>) -> Outcome {
    let way = trial.way()?;
    let owned = Belongings::make(trial, way, Person::new("Vera")).await?;
    let other = Person {
        email: owned.owner.person.email.clone(),
        is_email_verified: false,
        ..Person::new("Mallory")
    };
    let by = "another user with the same e-mail address, which is not verified,";
    owned.require_hidden_from(way, other, by).await?;
    // An attacker claims an address, and waits for its owner.
    let attacker = Person {
        is_email_verified: false,
        ..Person::new("Mallory")
    };
    let owner = Person {
        email: attacker.email.clone(),
        ..Person::new("Vera")
    };
    // An address that is not verified may be refused.
    if let Some(planted) = Belongings::made(trial, way, attacker).await? {
        let by = "a user who owns the e-mail address that the first user only claimed";
        planted.require_hidden_from(way, owner, by).await?;
    }
    owned.require_known()
}

/// Another person with the same e-mail address and user name.
fn same_address(person: &Person, first: &str) -> Person {
    Person {
        email: person.email.clone(),
        username: person.username.clone(),
        ..Person::new(first)
    }
}

/// A text that belongs to the owner's account and shows there.
struct Belongings<'t> {
    /// The owner, who is signed in.
    owner: User<'t>,
    /// The path of the form that keeps the text.
    form: String,
    text: String,
    /// The pages that show the text; none if there is no such form.
    pages: Vec<Url>,
}

impl<'t> Belongings<'t> {
    /// Signs the owner in, and saves a text in the first form that keeps one.
    async fn make(trial: &'t Trial<'_>, way: &'t SignInWay, owner: Person) -> Outcome<Self> {
        let made = Self::made(trial, way, owner).await?;
        made.ok_or_else(|| Stop::not_testable("a plain sign-in did not work"))
    }

    /// As [`make`](Self::make); none if the app refuses the owner.
    async fn made(
        trial: &'t Trial<'_>,
        way: &'t SignInWay,
        owner: Person,
    ) -> Outcome<Option<Self>> {
        let (mut owner, landing) = signed_in(trial, "the victim's browser", way, owner).await?;
        match owner.is_signed_in().await? {
            true => Self::of(owner, way, &landing).await.map(Some),
            false => Ok(None),
        }
    }

    /// The same for an owner who is signed in already.
    async fn of(mut owner: User<'t>, way: &'t SignInWay, landing: &Page) -> Outcome<Self> {
        let trial = owner.trial;
        let pages = pages_of(trial, landing)?;
        let mut tried = Vec::new();
        while let Some((form, text)) = save(&mut owner, &pages, |path| {
            !tried.iter().any(|it| it == path)
        })
        .await?
        {
            // What only this session keeps belongs to no account; nor does what everybody sees.
            let (mut again, _) = signed_in(trial, "browser B", way, owner.person.clone()).await?;
            let shows = showing(&mut again, &pages, &text).await?;
            let (mut otto, _) = signed_in(trial, "browser C", way, Person::new("Otto")).await?;
            if !shows.is_empty() && showing(&mut otto, &pages, &text).await?.is_empty() {
                return Ok(Self {
                    owner,
                    form,
                    text,
                    pages: shows,
                });
            }
            tried.push(form);
        }
        let (form, text) = (String::new(), String::new());
        Ok(Self {
            owner,
            form,
            text,
            pages: Vec::new(),
        })
    }

    async fn require_hidden_from(&self, way: &SignInWay, other: Person, by: &str) -> Outcome {
        let trial = self.owner.trial;
        let (second, landing) = signed_in(trial, "the attacker's browser", way, other).await?;
        self.require_hidden(second, &landing, by).await
    }

    async fn require_hidden(&self, mut second: User<'_>, landing: &Page, by: &str) -> Outcome {
        let first = &self.owner.person;
        let shows = showing(&mut second, &self.pages, &self.text).await?;
        no_takeover(!shows.is_empty(), || {
            format!("{by} sees a text that the first user saved")
        })?;
        let owners_page = self.owner.clone().whoami().await?.body;
        no_takeover(
            unshared(&second.person, first).is_shown_in(&owners_page),
            || format!("after {by} has signed in, the first user's page shows the second user"),
        )?;
        let body = second.whoami().await?.body;
        no_takeover(unshared(first, &second.person).is_shown_in(&body), || {
            format!("{by} is signed in as the first user")
        })?;
        // An address that is not verified may be refused, and a subject of another form.
        let may_refuse = !second.person.is_email_verified || second.person.subject.is_some();
        require(may_refuse || second.person.is_shown_in(&body), || {
            let (path, status) = (landing.url.path(), landing.status);
            format!("{by} cannot sign in: the callback ended at {path} with status {status}")
        })
    }

    /// Ends the check if nothing belongs to the account: then nothing is known.
    fn require_known(&self) -> Outcome {
        if !self.pages.is_empty() {
            return Ok(());
        }
        Err(Stop::not_tested(
            "nothing was found that belongs to an account: give the app's signed-in users a form whose text it keeps, such as a nickname, while it is examined",
        ))
    }
}

/// The pages on which a user may find a text: the one after the sign-in, and those that every
/// check opens.
fn pages_of(trial: &Trial<'_>, landing: &Page) -> Outcome<Vec<Url>> {
    let whoami = trial.testbed.at(&trial.app.whoami)?;
    let mut pages = vec![landing.url.clone(), whoami, trial.testbed.start.clone()];
    pages.dedup();
    Ok(pages)
}

/// Saves a text by the first form that may be tried, by its path, and after which a page of
/// the user's shows the text. Returns the path and the text.
async fn save(
    user: &mut User<'_>,
    pages: &[Url],
    may_try: impl Fn(&str) -> bool,
) -> Outcome<Option<(String, String)>> {
    for page in pages {
        let shown = user.open(page).await?;
        for mut form in shown.forms() {
            let path = form.action.path().to_owned();
            if !takes_text(user.trial, &form) || !may_try(&path) {
                continue;
            }
            let text = random::letters();
            for field in form.text_fields.clone() {
                form.fill(&field, &text);
            }
            let visit = Visit::press(&shown, &Clickable::Button(form.into(), 0));
            if user.visit(visit).await.is_ok() && !showing(user, pages, &text).await?.is_empty() {
                return Ok(Some((path, text)));
            }
        }
    }
    Ok(None)
}

/// A sign-in by `way` in a fresh browser, and the page at its end; it is not checked who is
/// signed in.
async fn signed_in<'t>(
    trial: &'t Trial<'_>,
    browser: &str,
    way: &SignInWay,
    person: Person,
) -> Outcome<(User<'t>, Page)> {
    if let Some(subject) = person.subject.clone() {
        let change = |profile: &mut Value| profile["subject"] = json!(subject);
        return answered(trial, browser, person, change).await;
    }
    let mut user = trial.user_as(browser, person);
    let begun = trial.begin_by(&mut user.browser, way).await?;
    let landing = user.finish(begun).await?;
    Ok((user, landing))
}

/// The person without the values that the other has as well.
fn unshared(person: &Person, other: &Person) -> Person {
    let own = |own: &Option<String>, its: &Option<String>| own.clone().filter(|_| own != its);
    let id = match person.id == other.id {
        true => random::digits(),
        false => person.id.clone(),
    };
    Person {
        id,
        name: own(&person.name, &other.name),
        email: own(&person.email, &other.email),
        // An address begins with it.
        username: None,
        ..person.clone()
    }
}

/// Whether a form takes a text, and is neither a way in nor the way out.
fn takes_text(trial: &Trial<'_>, form: &Form) -> bool {
    let path = form.action.path();
    let ways = trial.app.ways.iter().flat_map(|way| &way.steps);
    let steps = ways.chain(&trial.app.sign_out);
    let mut known = steps.filter_map(|step| step.path());
    !form.text_fields.is_empty()
        && !form.has_password
        && trial.testbed.is_app(&form.action)
        && !known.any(|its| its == path)
}

/// The pages that show the text.
async fn showing(user: &mut User<'_>, pages: &[Url], text: &str) -> Outcome<Vec<Url>> {
    let mut found = Vec::new();
    for url in pages {
        if user.open(url).await?.body.contains(text) {
            found.push(url.clone());
        }
    }
    Ok(found)
}
