//! Accounts: by the subject alone, and not by an e-mail address.

use url::Url;

use crate::app::SignInWay;
use crate::browser::{Browser, Control, Form, Page, Visit};
use crate::person::Person;
use crate::random;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// `account-by-subject`: the same address with another subject, and the reverse.
pub(super) async fn account_by_subject(trial: &Trial<'_>) -> Outcome {
    let owner = Person::new("Vera");
    let owned = Belongings::make(trial, &owner).await?;
    let other = Person {
        email: owner.email.clone(),
        username: owner.username.clone(),
        ..Person::new("Mallory")
    };
    let by = "another user with the same e-mail address and user name";
    owned
        .require_hidden_from(trial, trial.way()?, &other, by)
        .await?;
    let ways = trial.app.ways.iter();
    let mut elsewhere =
        ways.filter(|way| way.flow == trial.flow && Some(way.provider) != provider(trial));
    if let Some(way) = elsewhere.next() {
        let same_id = Person {
            id: owner.id.clone(),
            email: owner.email.clone(),
            ..Person::new("Mallory")
        };
        let by = "a user of the other provider with the same id and e-mail address";
        owned.require_hidden_from(trial, way, &same_id, by).await?;
    }
    owned.require_known()?;
    let renamed = Person {
        id: owner.id.clone(),
        ..Person::new("Maria")
    };
    owned.require_kept(trial, &renamed).await
}

/// `unverified-email`: one address of two users, verified for one of them, who comes first
/// and then second.
pub(super) async fn unverified_email(trial: &Trial<'_>) -> Outcome {
    let owner = Person::new("Vera");
    let owned = Belongings::make(trial, &owner).await?;
    let other = Person {
        email: owner.email.clone(),
        is_email_verified: false,
        ..Person::new("Mallory")
    };
    let by = "another user with the same e-mail address, which is not verified,";
    owned
        .require_hidden_from(trial, trial.way()?, &other, by)
        .await?;
    plant_address(trial).await?;
    owned.require_known()
}

/// An attacker who claims an address, and waits for its owner.
async fn plant_address(trial: &Trial<'_>) -> Outcome {
    let attacker = Person {
        is_email_verified: false,
        ..Person::new("Mallory")
    };
    let mut browser = trial.browser("the attacker's browser");
    trial.try_sign_in(&mut browser, &attacker).await?;
    // An address that is not verified may be refused.
    if !trial.is_signed_in(&mut browser, &attacker).await? {
        return Ok(());
    }
    let planted = Belongings::make(trial, &attacker).await?;
    let owner = Person {
        email: attacker.email.clone(),
        ..Person::new("Vera")
    };
    let by = "a user who owns the e-mail address that the first user only claimed";
    planted
        .require_hidden_from(trial, trial.way()?, &owner, by)
        .await
}

fn provider(trial: &Trial<'_>) -> Option<&'static str> {
    trial.app.way(trial.flow).map(|way| way.provider)
}

/// The texts that belong to the owner's account and show there.
struct Belongings {
    owner: Person,
    /// The browser in which the owner is signed in.
    session: Browser,
    /// A text that the owner saved, and the pages on which it shows.
    saved: Option<(String, Vec<Url>)>,
}

impl Belongings {
    /// Signs the owner in, and saves a text in the first form that keeps one.
    async fn make(trial: &Trial<'_>, owner: &Person) -> Outcome<Self> {
        let mut browser = trial.browser("the victim's browser");
        let landing = trial.sign_in(&mut browser, owner).await?;
        let mut pages = vec![landing.url.clone(), trial.testbed.at(&trial.app.whoami)?];
        pages.push(trial.testbed.start.clone());
        pages.dedup();
        let mut saved = None;
        for page in pages.clone() {
            let shown = browser.open(&page).await?;
            for form in shown
                .forms()
                .into_iter()
                .filter(|form| takes_text(trial, form))
            {
                let text = random::letters();
                if save(&mut browser, &shown, form, &text).await.is_err() {
                    continue;
                }
                // In another browser: what only this session keeps belongs to no account.
                let mut again = trial.browser("the victim's browser");
                trial.sign_in(&mut again, owner).await?;
                let shows = showing(&mut again, &pages, &text).await?;
                if !shows.is_empty() {
                    saved = Some((text, shows));
                    break;
                }
            }
            if saved.is_some() {
                break;
            }
        }
        Ok(Self {
            owner: owner.clone(),
            session: browser,
            saved,
        })
    }

    async fn require_hidden_from(
        &self,
        trial: &Trial<'_>,
        way: &SignInWay,
        other: &Person,
        by: &str,
    ) -> Outcome {
        let mut browser = trial.browser("the attacker's browser");
        let visit = trial.begin_by(&mut browser, way).await?;
        let page = trial.to_provider(&mut browser, visit).await?;
        let callback = trial.choose(&mut browser, &page, other).await?;
        let landing = browser.visit(callback).await?;
        if let Some((text, pages)) = &self.saved
            && !showing(&mut browser, pages, text).await?.is_empty()
        {
            return Err(Stop::takeover(format!(
                "{by} sees a text that the first user saved"
            )));
        }
        let owners_page = trial.whoami(&mut self.session.clone()).await?.body;
        let second = without_address(other, &self.owner);
        if second.is_shown_in(&owners_page) {
            return Err(Stop::takeover(format!(
                "after {by} has signed in, the first user's page shows the second user"
            )));
        }
        let body = trial.whoami(&mut browser).await?.body;
        let first = without_address(&self.owner, other);
        if first.is_shown_in(&body) {
            return Err(Stop::takeover(format!(
                "{by} is signed in as the first user"
            )));
        }
        // An address that is not verified may be refused.
        let is_in = other.is_shown_in(&body) || !other.is_email_verified;
        require(is_in, || {
            format!(
                "{by} cannot sign in: the callback ended at {} with status {}",
                landing.url.path(),
                landing.status
            )
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

    async fn require_kept(&self, trial: &Trial<'_>, renamed: &Person) -> Outcome {
        let Some((text, pages)) = &self.saved else {
            return Ok(());
        };
        let mut browser = trial.browser("the victim's browser");
        trial.sign_in(&mut browser, renamed).await?;
        let is_shown = !showing(&mut browser, pages, text).await?.is_empty();
        require(is_shown, || {
            "a user whose name and e-mail address have changed at the provider gets a new account and loses what they saved"
                .to_owned()
        })
    }
}

/// The person without the values that both may share: the address, the user name, and the id
/// if it is the same.
fn without_address(person: &Person, other: &Person) -> Person {
    let has_own_id = person.id != other.id;
    Person {
        email: None,
        username: None,
        id: if has_own_id {
            person.id.clone()
        } else {
            random::digits()
        },
        ..person.clone()
    }
}

/// Whether a form takes a text, and is neither a way in nor the way out.
fn takes_text(trial: &Trial<'_>, form: &Form) -> bool {
    let path = form.action.path();
    let ways = trial.app.ways.iter().flat_map(|way| &way.steps);
    let mut known = ways
        .chain(&trial.app.sign_out)
        .filter_map(|step| step.path());
    !form.text_fields.is_empty()
        && !form.has_password
        && trial.testbed.is_app(&form.action)
        && !known.any(|its| its == path)
}

async fn save(browser: &mut Browser, page: &Page, mut form: Form, text: &str) -> Outcome {
    for field in form.text_fields.clone() {
        form.fill(&field, text);
    }
    let visit = Visit::press(page, &Control::Button(form.into(), 0));
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
