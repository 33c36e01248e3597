//! A user: a person with a browser of their own, and the steps that both take through a login.

use contract::{Provider, Subject};
use url::Url;

use crate::app::SignInWay;
use crate::browser::{Arrival, Browser, Clickable, Page, Visit};
use crate::random;
use crate::trial::{Trial, take};
use crate::verdict::{Outcome, Stop, Verdict};

/// A person with a browser.
#[derive(Clone)]
pub(crate) struct User<'t> {
    pub(crate) trial: &'t Trial<'t>,
    pub(crate) browser: Browser,
    pub(crate) person: Person,
}

impl Trial<'_> {
    /// A person whose name begins with `first`, with a fresh profile of the browser `name`.
    pub(crate) fn user(&self, name: &str, first: &str) -> User<'_> {
        self.user_as(name, Person::new(first))
    }

    /// The same, who has signed in.
    pub(crate) async fn signed_in(&self, name: &str, first: &str) -> Outcome<User<'_>> {
        let mut user = self.user(name, first);
        user.sign_in().await?;
        Ok(user)
    }

    /// As [`user`](Self::user), for this very person.
    pub(crate) fn user_as(&self, name: &str, person: Person) -> User<'_> {
        User {
            trial: self,
            browser: self.browser(name),
            person,
        }
    }

    /// A new user who has signed in at the provider, and the callback, which is not asked for yet.
    pub(crate) async fn user_at_callback(
        &self,
        name: &str,
        first: &str,
    ) -> Outcome<(User<'_>, Visit)> {
        let mut user = self.user(name, first);
        let callback = user.up_to_callback().await?;
        Ok((user, callback))
    }
}

impl User<'_> {
    /// Opens a typed address.
    pub(crate) async fn open(&mut self, url: &Url) -> Outcome<Page> {
        self.browser.open(url).await
    }

    /// Navigates, and follows redirects to the page at the end.
    pub(crate) async fn visit(&mut self, visit: Visit) -> Outcome<Page> {
        self.browser.visit(visit).await
    }

    /// Presses the sign-in control, and stops before the browser asks the broker.
    pub(crate) async fn begin(&mut self) -> Outcome<Visit> {
        self.begin_by(self.trial.way()?).await
    }

    /// As [`begin`](Self::begin), by a given way.
    pub(crate) async fn begin_by(&mut self, way: &SignInWay) -> Outcome<Visit> {
        let page = self.open(&self.trial.testbed.start).await?;
        self.begin_on(way, page).await
    }

    /// As [`begin_by`](Self::begin_by), on a start page that the browser has opened.
    pub(crate) async fn begin_on(&mut self, way: &SignInWay, page: Page) -> Outcome<Visit> {
        match take(self.trial.testbed, &way.steps, &mut self.browser, page).await? {
            Arrival::Stopped(visit) => Ok(visit),
            Arrival::Page(page) => Err(Stop::not_testable(format!(
                "the sign-in button led to {} (status {}) and not to the broker",
                page.url.path(),
                page.status
            ))),
        }
    }

    /// As [`begin`](Self::begin), where a user is signed in; by `old_tab`, a start page
    /// from before, if the page of a signed-in user has no sign-in. `None` if the app then
    /// refuses it: its form may need a token that such a user does not have.
    pub(crate) async fn begin_again(&mut self, old_tab: Option<Page>) -> Outcome<Option<Visit>> {
        let page = self.open(&self.trial.testbed.start).await?;
        let way = self.trial.way()?;
        let first = way.steps.first();
        let is_offered = first.is_some_and(|it| it.on_page(&page).is_some());
        let start = old_tab.filter(|_| !is_offered).unwrap_or(page);
        let begun = self.begin_on(way, start).await;
        let status = self.browser.seen.last().map_or(0, |page| page.status);
        match begun {
            Err(stop) if !is_offered && stop.verdict == Verdict::NotTestable && status < 500 => {
                let note = "the app offers no sign-in to a user who is signed in";
                self.trial.transcript.add("examiner", "app", note);
                Ok(None)
            }
            begun => begun.map(Some),
        }
    }

    /// The request that starts a login, which is not made: every step but the last is taken.
    pub(crate) async fn last_press(&mut self) -> Outcome<Visit> {
        let steps = self.trial.way()?.steps.split_last();
        let (last, before) = steps.ok_or_else(|| Stop::harness("a way to sign in has no step"))?;
        let page = self.open(&self.trial.testbed.start).await?;
        match take(self.trial.testbed, before, &mut self.browser, page).await? {
            Arrival::Stopped(visit) => Ok(visit),
            Arrival::Page(page) => last.required_on(&page, "sign_in"),
        }
    }

    /// Everything up to the callback, which is not asked for yet.
    pub(crate) async fn up_to_callback(&mut self) -> Outcome<Visit> {
        let begun = self.begin().await?;
        self.come_back(begun).await
    }

    /// Goes on with a login that was begun, up to the callback, which is not asked for yet.
    pub(crate) async fn come_back(&mut self, begun: Visit) -> Outcome<Visit> {
        let page = self.trial.to_provider(&mut self.browser, begun).await?;
        self.choose(&page).await
    }

    /// Signs in on the provider's page, and stops before the browser asks the app for its
    /// callback.
    pub(crate) async fn choose(&mut self, page: &Page) -> Outcome<Visit> {
        let mut forms = page.forms().into_iter();
        let form = forms.find(|form| form.text_fields.iter().any(|it| it == "id"));
        let mut form = form
            .ok_or_else(|| Stop::harness("the provider's page has no form for another account"))?;
        for (name, value) in self.person.form_fields() {
            form.fill(name, &value);
        }
        form.buttons.clear();
        let visit = Visit::press(page, &Clickable::Button(form.into(), 0));
        self.leave_provider(visit).await
    }

    /// Leaves the provider's page by `visit`, and stops before the browser asks the app for its
    /// callback.
    pub(crate) async fn leave_provider(&mut self, visit: Visit) -> Outcome<Visit> {
        let is_app = |url: &Url| self.trial.testbed.is_app(url);
        match self.browser.visit_until(visit, is_app).await? {
            Arrival::Stopped(visit) if self.trial.app.has_strict_cookie => Ok(visit.as_typed()),
            Arrival::Stopped(visit) => Ok(visit),
            Arrival::Page(page) => Err(Stop::not_testable(format!(
                "the browser ended at {} (status {}) and did not come back to the app",
                page.url.path(),
                page.status
            ))),
        }
    }

    /// Goes on with a login that was begun, to the page at its end.
    pub(crate) async fn finish(&mut self, begun: Visit) -> Outcome<Page> {
        let callback = self.come_back(begun).await?;
        self.visit(callback).await
    }

    /// A whole sign-in, and the page at its end; it is not checked who is signed in.
    pub(crate) async fn try_sign_in(&mut self) -> Outcome<Page> {
        let begun = self.begin().await?;
        self.finish(begun).await
    }

    /// A good sign-in: without one the check says nothing about the app.
    pub(crate) async fn sign_in(&mut self) -> Outcome<Page> {
        let page = self.try_sign_in().await?;
        if self.is_signed_in().await? {
            return Ok(page);
        }
        Err(Stop::not_testable(format!(
            "a plain sign-in did not work: afterwards {} does not show the person who signed in (the callback ended at {} with status {})",
            self.trial.app.whoami,
            page.url.path(),
            page.status
        )))
    }

    /// NOT TESTABLE unless the app shows this person to the browser.
    pub(crate) async fn require_signed_in(&mut self) -> Outcome {
        match self.is_signed_in().await? {
            true => Ok(()),
            false => Err(Stop::not_testable("a plain sign-in did not work")),
        }
    }

    /// Whether the app shows this person to the browser.
    pub(crate) async fn is_signed_in(&mut self) -> Outcome<bool> {
        let page = self.whoami().await?;
        Ok(self.person.is_shown_in(&page.body))
    }

    /// Whether the app shows `person`, who may be another, to the browser.
    pub(crate) async fn sees(&mut self, person: &Person) -> Outcome<bool> {
        Ok(person.is_shown_in(&self.whoami().await?.body))
    }

    /// The page that shows who is signed in.
    pub(crate) async fn whoami(&mut self) -> Outcome<Page> {
        let whoami = self.trial.testbed.at(&self.trial.app.whoami)?;
        self.open(&whoami).await
    }

    /// The request that signs out. Not tested in an app without a way to do so.
    pub(crate) async fn sign_out_visit(&mut self) -> Outcome<Visit> {
        let step = self.trial.sign_out_step()?;
        let page = self.trial.testbed.at(&self.trial.app.sign_out_page)?;
        step.required_on(&self.open(&page).await?, "sign_out")
    }

    /// Signs out, as a person does.
    pub(crate) async fn sign_out(&mut self) -> Outcome<Page> {
        let visit = self.sign_out_visit().await?;
        self.visit(visit).await
    }
}

/// A person's account at a provider, as its sign-in page takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Person {
    /// Digits, as GitHub requires.
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) username: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) is_email_verified: bool,
    pub(crate) picture: Option<String>,
    /// The subject that the broker's answer has, if a check replaces the broker's own.
    pub(crate) subject: Option<String>,
}

impl Person {
    /// A person with everything, whose every field occurs nowhere else. The name begins
    /// with `first`.
    pub(crate) fn new(first: &str) -> Self {
        let letters = random::letters();
        let word = letters[..1].to_uppercase() + &letters[1..];
        let handle = format!("{}-{letters}", first.to_lowercase());
        Self {
            id: random::digits(),
            name: Some(format!("{first} {word}")),
            email: Some(format!("{handle}@people.example")),
            username: Some(handle),
            is_email_verified: true,
            picture: Some(format!("https://people.example/{letters}.png")),
            subject: None,
        }
    }

    /// A person of whom the provider knows the id alone.
    pub(crate) fn with_id_alone() -> Self {
        Self {
            id: random::digits(),
            ..Self::default()
        }
    }

    /// Whether `text`, a page or its JSON, shows this person: by a name, an address, the id, or
    /// the subject that the broker makes of it.
    pub(crate) fn is_shown_in(&self, text: &str) -> bool {
        let mut providers = [Provider::Google, Provider::GitHub].into_iter();
        self.marks().any(|mark| text.contains(mark))
            || providers.any(|it| text.contains(Subject::of(it, &self.id).as_str()))
    }

    /// The values that a page may show, but for the subject.
    pub(crate) fn marks(&self) -> impl Iterator<Item = &str> {
        let named = [&self.name, &self.username, &self.email].into_iter();
        let all = named.flatten().chain([&self.id]);
        all.map(String::as_str)
    }

    /// The fields of the provider's form, by name.
    pub(crate) fn form_fields(&self) -> Vec<(&'static str, String)> {
        let verified = self.is_email_verified.then(|| "true".to_owned());
        let optional = [
            ("name", &self.name),
            ("username", &self.username),
            ("email", &self.email),
            ("picture", &self.picture),
            ("email_verified", &verified),
        ];
        let given = optional.into_iter();
        let given = given.filter_map(|(name, value)| Some((name, value.clone()?)));
        let fields = [("person", "other".to_owned()), ("id", self.id.clone())];
        fields.into_iter().chain(given).collect()
    }
}
