//! A trial: one check, in one flow, in a testbed that it has to itself. Its methods are the
//! steps of people and attackers.

mod pages;
mod provider;
mod signed_in;

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::app::{App, Flow, SignInWay, Step};
use crate::browser::{Arrival, Browser, Page, Visit};
use crate::calls::Call;
use crate::person::Person;
use crate::testbed::Testbed;
use crate::transcript::Transcript;
use crate::verdict::{Outcome, Stop};

/// The time without a call after which an app is done with one answer. Apps that call
/// later, from a timer of their own, are not seen; the report says so.
pub(crate) const IDLE: Duration = Duration::from_millis(150);

/// One check in one flow.
pub(crate) struct Trial<'w> {
    pub(crate) testbed: &'w Testbed,
    pub(crate) app: &'w App,
    pub(crate) flow: Flow,
    pub(crate) transcript: Transcript,
    /// The reason for which a page could not be looked at.
    left_open: OnceLock<String>,
    /// The app's calls that are in the transcript, by their request ids.
    recorded: Mutex<HashSet<String>>,
}

impl<'w> Trial<'w> {
    pub(crate) fn new(testbed: &'w Testbed, app: &'w App, flow: Flow) -> Self {
        Self {
            testbed,
            app,
            flow,
            transcript: Transcript::start(),
            left_open: OnceLock::new(),
            recorded: Mutex::default(),
        }
    }

    /// A browser with a fresh profile; `name` is `browser A`, `the attacker's browser`.
    pub(crate) fn browser(&self, name: &str) -> Browser {
        self.testbed.browser(name, &self.transcript)
    }

    /// The way to sign in by this trial's flow.
    pub(crate) fn way(&self) -> Outcome<&'w SignInWay> {
        let way = self.app.way(self.flow);
        way.ok_or_else(|| Stop::not_applicable(format!("no {} flow was found", self.flow.as_str())))
    }

    /// The address of the callback.
    pub(crate) fn callback(&self) -> Outcome<Url> {
        self.testbed.at(&self.way()?.callback)
    }

    /// Presses the sign-in control, and stops before the browser asks the broker.
    pub(crate) async fn begin(&self, browser: &mut Browser) -> Outcome<Visit> {
        self.begin_by(browser, self.way()?).await
    }

    /// As [`begin`](Self::begin), by a given way.
    pub(crate) async fn begin_by(&self, browser: &mut Browser, way: &SignInWay) -> Outcome<Visit> {
        let page = browser.open(&self.testbed.start).await?;
        self.begin_on(browser, way, page).await
    }

    /// As [`begin_by`](Self::begin_by), on a start page that the browser has opened.
    pub(crate) async fn begin_on(
        &self,
        browser: &mut Browser,
        way: &SignInWay,
        mut page: Page,
    ) -> Outcome<Visit> {
        for step in &way.steps {
            let visit = step
                .on_page(&page)
                .or_else(|| step.in_another_tab(&page))
                .ok_or_else(|| step.missing_on(&page, "sign_in"))?;
            let is_broker = |url: &Url| self.testbed.is_broker(url);
            match browser.visit_until(visit, is_broker).await? {
                Arrival::Stopped(visit) => return Ok(visit),
                Arrival::Page(next) => page = next,
            }
        }
        Err(Stop::not_testable(format!(
            "the sign-in button led to {} (status {}) and not to the broker",
            page.url.path(),
            page.status
        )))
    }

    /// The request that starts a login, which is not made: every step but the last is taken.
    pub(crate) async fn last_press(&self, browser: &mut Browser) -> Outcome<Visit> {
        let steps = self.way()?.steps.split_last();
        let (last, before) = steps.ok_or_else(|| Stop::harness("a way to sign in has no step"))?;
        let mut page = browser.open(&self.testbed.start).await?;
        for step in before {
            let visit = step.on_page(&page);
            let visit = visit.ok_or_else(|| step.missing_on(&page, "sign_in"))?;
            page = browser.visit(visit).await?;
        }
        let visit = last.on_page(&page);
        visit.ok_or_else(|| last.missing_on(&page, "sign_in"))
    }

    /// Everything up to the callback, which is not asked for yet.
    pub(crate) async fn up_to_callback(
        &self,
        browser: &mut Browser,
        person: &Person,
    ) -> Outcome<Visit> {
        let visit = self.begin(browser).await?;
        let page = self.to_provider(browser, visit).await?;
        self.choose(browser, &page, person).await
    }

    /// A whole sign-in, and the page at its end; it is not checked who is signed in.
    pub(crate) async fn try_sign_in(
        &self,
        browser: &mut Browser,
        person: &Person,
    ) -> Outcome<Page> {
        let callback = self.up_to_callback(browser, person).await?;
        browser.visit(callback).await
    }

    /// A good sign-in: without one the check says nothing about the app.
    pub(crate) async fn sign_in(&self, browser: &mut Browser, person: &Person) -> Outcome<Page> {
        let page = self.try_sign_in(browser, person).await?;
        if self.is_signed_in(browser, person).await? {
            return Ok(page);
        }
        Err(Stop::not_testable(format!(
            "a plain sign-in did not work: afterwards {} does not show the person who signed in (the callback ended at {} with status {})",
            self.app.whoami,
            page.url.path(),
            page.status
        )))
    }

    /// Whether the app shows `person` to this browser.
    pub(crate) async fn is_signed_in(
        &self,
        browser: &mut Browser,
        person: &Person,
    ) -> Outcome<bool> {
        Ok(person.is_shown_in(&self.whoami(browser).await?.body))
    }

    /// The page that shows who is signed in.
    pub(crate) async fn whoami(&self, browser: &mut Browser) -> Outcome<Page> {
        browser.open(&self.testbed.at(&self.app.whoami)?).await
    }

    /// Signs out, as a person does. Not applicable to an app without a way to do so.
    pub(crate) async fn sign_out(&self, browser: &mut Browser) -> Outcome<Page> {
        let visit = self.sign_out_visit(browser).await?;
        browser.visit(visit).await
    }

    /// The request that signs out.
    pub(crate) async fn sign_out_visit(&self, browser: &mut Browser) -> Outcome<Visit> {
        let step = self.sign_out_step()?;
        let page = browser
            .open(&self.testbed.at(&self.app.sign_out_page)?)
            .await?;
        step.on_page(&page)
            .ok_or_else(|| step.missing_on(&page, "sign_out"))
    }

    /// The step that signs out.
    pub(crate) fn sign_out_step(&self) -> Outcome<&'w Step> {
        self.app.sign_out.as_ref().ok_or_else(|| {
            Stop::not_tested("no way to sign out was found: name it with sign_out in examine.toml")
        })
    }

    /// The point in the log from which [`calls`](Self::calls) counts.
    pub(crate) async fn mark(&self) -> Outcome<u64> {
        self.testbed.mark().await
    }

    /// The app's own calls at the broker since `mark`, once it is idle.
    pub(crate) async fn calls(&self, mark: u64) -> Outcome<Vec<Call>> {
        let calls = self.testbed.calls_when_idle(mark, IDLE).await?;
        let own: Vec<_> = calls.into_iter().filter(Call::is_by_app).collect();
        let advanced = self.testbed.control.advanced_ms().await?;
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        for call in &own {
            if !recorded.insert(call.request_id.clone()) {
                continue;
            }
            let at = self.transcript.at_stack_time(call.at, advanced);
            self.transcript.add_at(at, "app", "broker", call.describe());
        }
        Ok(own)
    }

    /// Arms a fault at the next call of `operation`.
    pub(crate) async fn arm(&self, operation: &str, fault: &str) -> Outcome {
        self.arm_with(operation, fault, &Value::Null).await
    }

    /// Arms a fault with further members.
    pub(crate) async fn arm_with(&self, operation: &str, fault: &str, more: &Value) -> Outcome {
        self.transcript.add(
            "examiner",
            "broker",
            format!("the next {operation} meets: {fault}"),
        );
        self.testbed.arm(operation, fault, more).await
    }

    /// Moves the clock ahead.
    pub(crate) async fn advance(&self, seconds: u64) -> Outcome {
        self.transcript
            .add("examiner", "clock", format!("{seconds} s pass"));
        self.transcript
            .step(i64::try_from(seconds).unwrap_or_default() * 1000);
        let moved = self.testbed.control.advance(seconds).await;
        moved.map_err(Stop::from)
    }
}
