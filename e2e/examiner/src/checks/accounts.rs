//! Accounts: by the subject alone, and not by an e-mail address.

use url::Url;

use crate::app::SignInWay;
use crate::browser::{Browser, Clickable, Form, Page, Visit};
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, no_takeover, require};

/// `account-by-subject`: the same address with another subject, and the reverse.
pub(super) async fn account_by_subject(trial: &Trial<'_>) -> Outcome {
    let own_way = trial.way()?;
    let owned = Belongings::make(trial, Person::new("Vera")).await?;
    let owner = &owned.owner.person;
    let other = Person {
        email: owner.email.clone(),
        username: owner.username.clone(),
        ..Person::new("Mallory")
    };
    let by = "another user with the same e-mail address and user name";
    owned.require_hidden_from(own_way, other, by).await?;
    let mut ways = trial.app.ways.iter();
    let elsewhere = ways.find(|way| way.flow == trial.flow && way.provider != own_way.provider);
    if let Some(way) = elsewhere {
        let same_id = Person {
            id: owner.id.clone(),
            email: owner.email.clone(),
            ..Person::new("Mallory")
        };
        let by = "a user of the other provider with the same id and e-mail address";
        owned.require_hidden_from(way, same_id, by).await?;
    }
    owned.require_known()?;
    let renamed = Person {
        id: owner.id.clone(),
        ..Person::new("Maria")
    };
    owned.require_kept(renamed).await
}

/// `unverified-email`: one address of two users, verified for one of them, who comes first
/// and then second.
pub(super) async fn unverified_email(trial: &Trial<'_>) -> Outcome {
    let owned = Belongings::make(trial, Person::new("Vera")).await?;
    let other = Person {
        email: owned.owner.person.email.clone(),
        is_email_verified: false,
        ..Person::new("Mallory")
    };
    let by = "another user with the same e-mail address, which is not verified,";
    owned.require_hidden_from(trial.way()?, other, by).await?;
    plant_address(trial).await?;
    owned.require_known()
}

/// An attacker who claims an address, and waits for its owner.
async fn plant_address(trial: &Trial<'_>) -> Outcome {
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    attacker.person.is_email_verified = false;
    attacker.try_sign_in().await?;
    // An address that is not verified may be refused.
    if !attacker.is_signed_in().await? {
        return Ok(());
    }
    let owner = Person {
        email: attacker.person.email.clone(),
        ..Person::new("Vera")
    };
    let planted = Belongings::make(trial, attacker.person).await?;
    let by = "a user who owns the e-mail address that the first user only claimed";
    planted.require_hidden_from(trial.way()?, owner, by).await
}

/// The texts that belong to the owner's account and show there.
struct Belongings<'t> {
    /// The owner, who is signed in.
    owner: User<'t>,
    /// A text that the owner saved, and the pages on which it shows.
    saved: Option<(String, Vec<Url>)>,
}

impl<'t> Belongings<'t> {
    /// Signs the owner in, and saves a text in the first form that keeps one.
    async fn make(trial: &'t Trial<'_>, owner: Person) -> Outcome<Self> {
        let mut owner = trial.user_as("the victim's browser", owner);
        let landing = owner.sign_in().await?;
        let mut pages = vec![landing.url, trial.testbed.at(&trial.app.whoami)?];
        pages.push(trial.testbed.start.clone());
        pages.dedup();
        let saved = save_somewhere(&mut owner, &pages).await?;
        Ok(Self { owner, saved })
    }

    async fn require_hidden_from(&self, way: &SignInWay, other: Person, by: &str) -> Outcome {
        let trial = self.owner.trial;
        let first = &self.owner.person;
        let mut second = trial.user_as("the attacker's browser", other);
        let begun = trial.begin_by(&mut second.browser, way).await?;
        let landing = second.finish(begun).await?;
        if let Some((text, pages)) = &self.saved {
            let shows = showing(&mut second.browser, pages, text).await?;
            no_takeover(!shows.is_empty(), || {
                format!("{by} sees a text that the first user saved")
            })?;
        }
        let owners_page = self.owner.clone().whoami().await?.body;
        no_takeover(
            without_address(&second.person, first).is_shown_in(&owners_page),
            || format!("after {by} has signed in, the first user's page shows the second user"),
        )?;
        let body = second.whoami().await?.body;
        no_takeover(
            without_address(first, &second.person).is_shown_in(&body),
            || format!("{by} is signed in as the first user"),
        )?;
        // An address that is not verified may be refused.
        let is_in = second.person.is_shown_in(&body) || !second.person.is_email_verified;
        require(is_in, || {
            let (path, status) = (landing.url.path(), landing.status);
            format!("{by} cannot sign in: the callback ended at {path} with status {status}")
        })
    }

    /// Ends the check if nothing belongs to the account: then nothing is known.
    fn require_known(&self) -> Outcome {
        if self.saved.is_some() {
            return Ok(());
        }
        Err(Stop::not_tested(
            "nothing was found that belongs to an account: give the app's signed-in users a form whose text it keeps, such as a nickname, while it is examined",
        ))
    }

    async fn require_kept(&self, renamed: Person) -> Outcome {
        let Some((text, pages)) = &self.saved else {
            return Ok(());
        };
        let mut again = self.owner.trial.user_as("the victim's browser", renamed);
        again.sign_in().await?;
        let shows = showing(&mut again.browser, pages, text).await?;
        require(
            !shows.is_empty(),
            || "a user whose name and e-mail address have changed at the provider gets a new account and loses what they saved",
        )
    }
}

/// The text that a form on one of the pages keeps, and the pages on which it shows.
async fn save_somewhere(
    owner: &mut User<'_>,
    pages: &[Url],
) -> Outcome<Option<(String, Vec<Url>)>> {
    let trial = owner.trial;
    for page in pages {
        let shown = owner.open(page).await?;
        let forms = shown.forms().into_iter();
        for form in forms.filter(|form| takes_text(trial, form)) {
            let text = random::letters();
            if save(&mut owner.browser, &shown, form, &text).await.is_err() {
                continue;
            }
            // In another browser: what only this session keeps belongs to no account.
            let mut again = trial.user_as("the victim's browser", owner.person.clone());
            again.sign_in().await?;
            let shows = showing(&mut again.browser, pages, &text).await?;
            if !shows.is_empty() {
                return Ok(Some((text, shows)));
            }
        }
    }
    Ok(None)
}

/// The person without the values that both may share: the address, the user name, and the id
/// if it is the same.
fn without_address(person: &Person, other: &Person) -> Person {
    let mut person = Person {
        email: None,
        username: None,
        ..person.clone()
    };
    if person.id == other.id {
        person.id = random::digits();
    }
    person
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

async fn save(browser: &mut Browser, page: &Page, mut form: Form, text: &str) -> Outcome {
    for field in form.text_fields.clone() {
        form.fill(&field, text);
    }
    let visit = Visit::press(page, &Clickable::Button(form.into(), 0));
    browser.visit(visit).await.map(drop)
}

/// The pages that show the text.
async fn showing(browser: &mut Browser, pages: &[Url], text: &str) -> Outcome<Vec<Url>> {
    let mut found = Vec::new();
    for url in pages {
        if browser.open(url).await?.body.contains(text) {
            found.push(url.clone());
        }
    }
    Ok(found)
}
