//! A user in Chromium: from the app's page through the broker's question and the provider's
//! page back to the app.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use thirtyfour::By;
use thirtyfour::extensions::query::ElementQueryable as _;
use url::Url;

use crate::app::Step;
use crate::chromium::{ARRIVAL_TIMEOUT, LOOK_EVERY, Tab};
use crate::trial::Trial;
use crate::user::Person;
use crate::verdict::{Outcome, Stop};

/// The time in which a press has to lead to the broker.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(4);

/// A person with a Chromium, which has a fresh profile.
pub(crate) struct ChromiumUser<'t> {
    pub(crate) trial: &'t Trial<'t>,
    pub(crate) tab: Tab,
    pub(crate) person: Person,
}

/// The page at which a press of the sign-in control ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Led {
    /// The provider's page.
    ToProvider,
    /// The broker's confirmation page.
    ToQuestion,
    /// No page of the broker or the provider.
    Nowhere,
}

impl Trial<'_> {
    /// A person whose name begins with `first`, in a real browser. NOT TESTED if there is none
    /// here.
    pub(crate) async fn chromium(&self, name: &str, first: &str) -> Outcome<ChromiumUser<'_>> {
        let mut tab = self.testbed.chromium.open().await?;
        let name = self.transcript.name_of_browser(name);
        tab.record = Some((name, self.transcript.clone(), self.testbed.parties()));
        Ok(ChromiumUser {
            trial: self,
            tab,
            person: Person::new(first),
        })
    }
}

impl ChromiumUser<'_> {
    /// Opens the start page and takes the steps of the app's way to sign in.
    pub(crate) async fn begin(&mut self) -> Outcome<Led> {
        self.tab.open(&self.trial.testbed.start).await?;
        let steps = self.trial.way()?.steps.split_last();
        let (last, first) = steps.ok_or_else(|| Stop::harness("a way to sign in has no steps"))?;
        for step in first {
            let before = self.tab.address().await?;
            self.take(step).await?;
            self.tab.arrives(|url| *url != before).await?;
        }
        self.take(last).await?;
        self.where_led().await
    }

    /// The page of the broker or the provider that a press has led to.
    pub(crate) async fn where_led(&mut self) -> Outcome<Led> {
        let testbed = self.trial.testbed;
        let is_at_provider = |url: &Url| testbed.provider_at(url).is_some();
        let is_end = |url: &Url| is_at_provider(url) || testbed.is_broker(url);
        if !self.tab.arrives_within(LEAVE_TIMEOUT, is_end).await? {
            return Ok(Led::Nowhere);
        }
        if is_at_provider(&self.tab.address().await?) {
            return Ok(Led::ToProvider);
        }
        let script = "return Boolean(document.querySelector('main[data-question=relay]'))";
        match self.tab.run(script, Vec::new()).await? {
            Value::Bool(true) => Ok(Led::ToQuestion),
            _ => Ok(Led::Nowhere),
        }
    }

    /// Presses the control of a step, or makes its request.
    async fn take(&mut self, step: &Step) -> Outcome {
        if let Step::Request { .. } = step {
            let request = vec![json!(step), json!(self.trial.testbed.addresses.broker)];
            let script = include_str!("chromium/make_request.js");
            return match self.tab.run_async(script, request).await? {
                Value::Bool(true) => Ok(()),
                _ => Err(Stop::not_testable(format!(
                    "the answer to {} in Chromium does not lead to the broker",
                    step.describe()
                ))),
            };
        }
        let script = include_str!("chromium/find_control.js");
        let found = self.tab.session.execute(script, vec![json!(step)]).await?;
        if found.json().is_null() {
            return Err(Stop::not_testable(format!(
                "in Chromium the page {} has no {}",
                self.tab.address().await?.path(),
                step.describe()
            )));
        }
        self.tab.click(&found.element()?).await
    }

    /// Presses Continue on the broker's confirmation page, once that can be pressed.
    pub(crate) async fn go_on(&mut self) -> Outcome {
        let awake = "form[action$='/continue'] button.scripted:not([disabled], [aria-disabled])";
        let button = self.tab.session.query(By::Css(awake));
        let button = button.wait(ARRIVAL_TIMEOUT, LOOK_EVERY).first().await;
        let button =
            button.map_err(|_| Stop::harness("the broker's Continue cannot be pressed"))?;
        self.tab.click(&button).await?;
        let testbed = self.trial.testbed;
        let arrived = self.tab.arrives(|url| testbed.provider_at(url).is_some());
        arrived.await.map(drop)
    }

    /// Signs in on the provider's page, and waits for the app's page after it.
    pub(crate) async fn leave_provider(&mut self) -> Outcome<Url> {
        let fields = vec![json!(self.person.form_fields())];
        let script = include_str!("chromium/fill_form.js");
        self.tab.run(script, fields).await?;
        self.tab.press("#other").await?;
        let testbed = self.trial.testbed;
        if self.tab.arrives(|url| testbed.is_app(url)).await? {
            return self.tab.address().await;
        }
        Err(Stop::not_testable(format!(
            "in Chromium the browser ended at {} and did not come back to the app",
            self.tab.address().await?.path()
        )))
    }

    /// From the start page to the provider's page, through the broker's question if need be.
    /// A Content-Security-Policy of the app's that blocks that is ignored: `relay` finds it,
    /// and the other checks are about something else.
    pub(crate) async fn reach_provider(&mut self) -> Outcome {
        let is_blocked = &self.trial.testbed.chromium.has_blocking_policy;
        let mut led = Led::Nowhere;
        if !is_blocked.load(Ordering::Relaxed) {
            led = self.begin().await?;
        }
        if led == Led::Nowhere {
            let ignore = json!({ "enabled": true });
            self.tab.command("Page.setBypassCSP", ignore).await?;
            led = self.begin().await?;
            is_blocked.fetch_or(led != Led::Nowhere, Ordering::Relaxed);
        }
        match led {
            Led::ToProvider => Ok(()),
            Led::ToQuestion => self.go_on().await,
            Led::Nowhere => Err(self.is_nowhere().await?),
        }
    }

    /// The end of a check whose sign-in reaches neither the broker nor the provider.
    pub(crate) async fn is_nowhere(&self) -> Outcome<Stop> {
        let address = self.tab.address().await?;
        Ok(Stop::not_testable(format!(
            "in Chromium the sign-in button leads to {} and not to the broker",
            address.path()
        )))
    }

    /// A whole sign-in, and the address at its end; it is not checked who is signed in.
    pub(crate) async fn try_sign_in(&mut self) -> Outcome<Url> {
        self.reach_provider().await?;
        self.choose().await
    }

    /// Signs in on the provider's page, and comes back to the app with its cookies.
    pub(crate) async fn choose(&mut self) -> Outcome<Url> {
        let landing = self.leave_provider().await?;
        if !self.trial.app.has_strict_cookie {
            return Ok(landing);
        }
        let callback = self.callbacks()?.pop();
        let callback = callback.unwrap_or(self.trial.callback()?);
        self.tab.open(&callback).await?;
        self.tab.address().await
    }

    /// The addresses of the callback for which the browser asked, oldest first.
    pub(crate) fn callbacks(&self) -> Outcome<Vec<Url>> {
        let callback = self.trial.callback()?;
        let is_callback = |it: &&Url| self.trial.testbed.is_app(it) && it.path() == callback.path();
        let asked = self.tab.exchanges.iter().map(|it| &it.url);
        Ok(asked.filter(is_callback).cloned().collect())
    }

    /// A good sign-in: without one the check says nothing about the app.
    pub(crate) async fn sign_in(&mut self) -> Outcome {
        self.try_sign_in().await?;
        self.require_signed_in().await
    }

    /// NOT TESTABLE unless the app shows this person to the browser.
    pub(crate) async fn require_signed_in(&mut self) -> Outcome {
        if self.is_signed_in().await? {
            return Ok(());
        }
        Err(Stop::not_testable(format!(
            "a plain sign-in did not work in Chromium: afterwards {} does not show the person who signed in",
            self.trial.app.whoami
        )))
    }

    /// Whether the app shows this person to the browser.
    pub(crate) async fn is_signed_in(&mut self) -> Outcome<bool> {
        let page = self.whoami().await?;
        Ok(self.person.is_shown_in(&page))
    }

    /// The page that shows who is signed in, as the browser has it now.
    pub(crate) async fn whoami(&mut self) -> Outcome<String> {
        let whoami = self.trial.testbed.at(&self.trial.app.whoami)?;
        self.tab.open(&whoami).await?;
        Ok(self.tab.session.source().await?)
    }
}
