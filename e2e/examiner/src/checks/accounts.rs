//! Accounts: one for each subject, exactly as it is, and by no other value of a profile.

use futures_util::future::try_join_all;
use url::Url;

use super::corpora::{CORPORA, fill};
use super::demands::no_server_error;
use super::profiles::{cannot_sign_in, given_profile};
use crate::app::SignInWay;
use crate::browser::{Clickable, Form, Page, Visit};
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, no_takeover, require};

/// The browsers of the owner and of the other user.
const VICTIM: &str = "the victim's browser";
const ATTACKER: &str = "the attacker's browser";

/// The number of browsers in which one person comes back at once.
const BROWSERS: usize = 4;

/// `account-by-subject`: by each provider, the same values with another subject, and the reverse.
pub(super) async fn account_by_subject(trial: &Trial<'_>) -> Outcome {
    let ways = trial.app.ways.iter().filter(|it| it.flow == trial.flow);
    for way in ways.clone() {
        let owned = Belongings::make(trial.user(VICTIM, "Vera"), way).await?;
        let owner = &owned.owner.person;
        let by = "another user with the same e-mail address and user name";
        let other = same_address(owner);
        owned.require_hidden_from(way, other.clone(), by).await?;
        for elsewhere in ways.clone().filter(|it| it.provider != way.provider) {
            let mut same_id = other.clone();
            same_id.id.clone_from(&owner.id);
            let by = "a user of the other provider with the same id and e-mail address";
            owned.require_hidden_from(elsewhere, same_id, by).await?;
        }
        owned.require_known()?;
        let mut namesake = owner.clone();
        namesake.id = random::digits();
        let by = "another user with the same name, user name, e-mail address and picture";
        owned.require_hidden_from(way, namesake, by).await?;
        let mut renamed = Person::new("Maria");
        renamed.id.clone_from(&owner.id);
        let shows = owned.shown_to(VICTIM, renamed).await?;
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
    if let Some(owned) = Belongings::made(trial.user_as(VICTIM, owner), trial.way()?).await? {
        let by = "another user without an e-mail address";
        owned.require_hidden_from(trial.way()?, other, by).await?;
    }
    two_at_once(trial).await
}

/// Two users with one e-mail address and one user name, who come back for the first time at
/// the same moment.
async fn two_at_once(trial: &Trial<'_>) -> Outcome {
    let vera = trial.user(VICTIM, "Vera");
    let mallory = trial.user_as(ATTACKER, same_address(&vera.person));
    let mut both = [vera, mallory];
    let pages = come_back_at_once(&mut both).await?;
    let [mut vera, mallory] = both;
    vera.require_signed_in().await?;
    let owned = Belongings::of(vera, trial.way()?, &pages[0]).await?;
    let by = "another user with the same e-mail address, who came back at the same moment,";
    owned.require_hidden(mallory, &pages[1], by).await
}

/// `one-account`: one person comes back in several browsers at once, for the first time.
pub(super) async fn one_account(trial: &Trial<'_>) -> Outcome {
    let way = trial.way()?;
    let known = Belongings::make(trial.user(VICTIM, "Ada"), way).await?;
    known.require_known()?;
    let mut browsers = vec![trial.user("browser A", "Ada"); BROWSERS];
    let landings = come_back_at_once(&mut browsers).await?;
    for (browser, landing) in browsers.into_iter().zip(&landings) {
        let what = format!("one user came back in {BROWSERS} browsers at once, and one ends with");
        no_server_error(landing, &what)?;
        let mut owned = Belongings::unknown(browser, way, landing)?;
        // An app may keep one session of a user, and a text once.
        if owned.save(|path| *path == known.form).await? {
            let person = owned.owner.person.clone();
            let shows = owned.shown_to("browser B", person).await?;
            require(!shows.is_empty(), || {
                format!(
                    "a user who came back in {BROWSERS} browsers at once for the first time has several accounts: what one browser saves, the next sign-in does not show"
                )
            })?;
        }
    }
    Ok(())
}

/// The users go up to their callbacks, ask for them at the same moment, and get these pages.
async fn come_back_at_once(users: &mut [User<'_>]) -> Outcome<Vec<Page>> {
    let callbacks = try_join_all(users.iter_mut().map(User::up_to_callback)).await?;
    let arrivals = users.iter_mut().zip(callbacks);
    try_join_all(arrivals.map(|(user, callback)| user.visit(callback))).await
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
        let with_subject = |first: &str, row: &str| Person {
            subject: Some(fill(row, &words)),
            ..Person::new(first)
        };
        let owner = trial.user_as(VICTIM, with_subject("Vera", &row.owner));
        let Some(owned) = Belongings::made(owner, way).await? else {
            // A subject of this form is refused, and with it its likes.
            continue;
        };
        owned.require_known()?;
        for (what, other) in &row.others {
            let by = format!("a user whose subject {what}");
            let other = with_subject("Mallory", other);
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
    let owned = Belongings::make(trial.user(VICTIM, "Vera"), way).await?;
    let mut other = Person::new("Mallory");
    other.email.clone_from(&owned.owner.person.email);
    other.is_email_verified = false;
    let by = "another user with the same e-mail address, which is not verified,";
    owned.require_hidden_from(way, other, by).await?;
    // An attacker claims an address, and waits for its owner.
    let mut attacker = trial.user(VICTIM, "Mallory");
    attacker.person.is_email_verified = false;
    let mut owner = Person::new("Vera");
    owner.email.clone_from(&attacker.person.email);
    // An address that is not verified may be refused.
    if let Some(planted) = Belongings::made(attacker, way).await? {
        let by = "a user who owns the e-mail address that the first user only claimed";
        planted.require_hidden_from(way, owner, by).await?;
    }
    owned.require_known()
}

/// Another person with the same e-mail address and user name.
fn same_address(person: &Person) -> Person {
    Person {
        email: person.email.clone(),
        username: person.username.clone(),
        ..Person::new("Mallory")
    }
}

/// A text that belongs to the owner's account and shows there.
struct Belongings<'t> {
    /// The owner, who is signed in.
    owner: User<'t>,
    way: &'t SignInWay,
    /// The path of the form that keeps the text.
    form: String,
    text: String,
    /// The pages that show the text; none if there is no such form.
    pages: Vec<Url>,
}

impl<'t> Belongings<'t> {
    /// Signs the owner in, and saves a text in the first form that keeps one.
    async fn make(owner: User<'t>, way: &'t SignInWay) -> Outcome<Self> {
        let made = Self::made(owner, way).await?;
        made.ok_or_else(|| Stop::not_testable("a plain sign-in did not work"))
    }

    /// As [`make`](Self::make); none if the app refuses the owner.
    async fn made(owner: User<'t>, way: &'t SignInWay) -> Outcome<Option<Self>> {
        let (mut owner, landing) = signed_in(owner, way).await?;
        match owner.is_signed_in().await? {
            true => Self::of(owner, way, &landing).await.map(Some),
            false => Ok(None),
        }
    }

    /// The same for an owner who is signed in already.
    async fn of(owner: User<'t>, way: &'t SignInWay, landing: &Page) -> Outcome<Self> {
        let mut owned = Self::unknown(owner, way, landing)?;
        let mut tried = Vec::new();
        while owned.save(|path| !tried.contains(path)).await? {
            // What only this session keeps belongs to no account; nor does what everybody sees.
            let person = owned.owner.person.clone();
            let again = owned.shown_to("browser B", person).await?;
            let elsewhere = owned.shown_to("browser C", Person::new("Otto")).await?;
            if !again.is_empty() && elsewhere.is_empty() {
                owned.pages = again;
                return Ok(owned);
            }
            tried.push(owned.form.clone());
        }
        owned.pages.clear();
        Ok(owned)
    }

    /// No text yet, and the pages on which a user may find one: that after the sign-in, and
    /// those that every check opens.
    fn unknown(owner: User<'t>, way: &'t SignInWay, landing: &Page) -> Outcome<Self> {
        let testbed = owner.trial.testbed;
        let whoami = testbed.at(&owner.trial.app.whoami)?;
        let mut pages = vec![landing.url.clone(), whoami, testbed.start.clone()];
        pages.dedup();
        Ok(Self {
            owner,
            way,
            form: String::new(),
            text: String::new(),
            pages,
        })
    }

    /// Saves a text by the first form that may be tried, by its path, and after which a page of
    /// the owner's shows the text. Returns whether there is one.
    async fn save(&mut self, may_try: impl Fn(&String) -> bool) -> Outcome<bool> {
        let owner = &mut self.owner;
        for page in &self.pages {
            let shown = owner.open(page).await?;
            for mut form in shown.forms() {
                form.action.path().clone_into(&mut self.form);
                if !takes_text(owner.trial, &form) || !may_try(&self.form) {
                    continue;
                }
                self.text = random::letters();
                for field in form.text_fields.clone() {
                    form.fill(&field, &self.text);
                }
                let visit = Visit::press(&shown, &Clickable::Button(form.into(), 0));
                let is_sent = owner.visit(visit).await.is_ok();
                if is_sent && !showing(owner, &self.pages, &self.text).await?.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The pages that show the text to this person, signed in in a fresh browser.
    async fn shown_to(&self, browser: &str, person: Person) -> Outcome<Vec<Url>> {
        let user = self.owner.trial.user_as(browser, person);
        let (mut user, _) = signed_in(user, self.way).await?;
        showing(&mut user, &self.pages, &self.text).await
    }

    async fn require_hidden_from(&self, way: &SignInWay, other: Person, by: &str) -> Outcome {
        let second = self.owner.trial.user_as(ATTACKER, other);
        let (second, landing) = signed_in(second, way).await?;
        self.require_hidden(second, &landing, by).await
    }

    async fn require_hidden(&self, mut second: User<'_>, landing: &Page, by: &str) -> Outcome {
        let first = &self.owner.person;
        let shows = showing(&mut second, &self.pages, &self.text).await?;
        no_takeover(!shows.is_empty(), || {
            format!("{by} sees a text that the first user saved")
        })?;
        let owners_page = self.owner.clone().whoami().await?.body;
        let other = unshared(&second.person, first);
        no_takeover(self.betrays(&owners_page, &other).await?, || {
            format!("after {by} has signed in, the first user's page shows the second user")
        })?;
        let body = second.whoami().await?.body;
        let owner = unshared(first, &second.person);
        no_takeover(self.betrays(&body, &owner).await?, || {
            format!("{by} is signed in as the first user")
        })?;
        // An address that is not verified may be refused, and a subject of another form.
        let may_refuse = !second.person.is_email_verified || second.person.subject.is_some();
        let is_in = may_refuse || second.person.is_shown_in(&body);
        require(is_in, || cannot_sign_in(by, landing))
    }

    /// Whether the page shows this person, and does not show them to everybody, as the author of
    /// an entry.
    async fn betrays(&self, page: &str, person: &Person) -> Outcome<bool> {
        if !person.is_shown_in(page) {
            return Ok(false);
        }
        let otto = self.owner.trial.user("browser C", "Otto");
        let (mut otto, _) = signed_in(otto, self.way).await?;
        Ok(!otto.sees(person).await?)
    }

    /// Ends the check if nothing belongs to the account: then nothing is known.
    fn require_known(&self) -> Outcome {
        if !self.pages.is_empty() {
            return Ok(());
        }
        Err(Stop::not_tested(
            "nothing was found that belongs to an account: give the app's signed-in users a form whose text it keeps and shows to no other user, such as a nickname, while it is examined",
        ))
    }
}

/// A sign-in by `way`, and the page at its end; it is not checked who is signed in.
async fn signed_in<'t>(mut user: User<'t>, way: &SignInWay) -> Outcome<(User<'t>, Page)> {
    if user.person.subject.is_some() {
        return given_profile(&user, |_| ()).await;
    }
    let begun = user.begin_by(way).await?;
    let landing = user.finish(begun).await?;
    Ok((user, landing))
}

/// The person without the values that the other has as well.
fn unshared(person: &Person, other: &Person) -> Person {
    let mut own = person.clone();
    // An address begins with it.
    own.username = None;
    if own.id == other.id {
        own.id = random::digits();
    }
    own.name.take_if(|_| person.name == other.name);
    own.email.take_if(|_| person.email == other.email);
    own
}

/// Whether a form takes a text, and is neither a way in nor the way out.
fn takes_text(trial: &Trial<'_>, form: &Form) -> bool {
    let path = form.action.path();
    let ways = trial.app.ways.iter().flat_map(|way| &way.steps);
    let mut known = ways.chain(&trial.app.sign_out);
    !form.text_fields.is_empty()
        && !form.has_password
        && trial.testbed.is_app(&form.action)
        && !known.any(|step| step.path() == Some(path))
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
