//! A trial: one check, in one flow, in a testbed that it has to itself. Its methods are the
//! steps that a browser takes on the pages of the app, the broker and the providers.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::app::{App, Flow, SignInWay, Step};
use crate::browser::{Arrival, Browser, Page, Visit};
use crate::calls::{self, Call};
use crate::testbed::Testbed;
use crate::transcript::Transcript;
use crate::verdict::{Outcome, Stop};

/// The length of the shortest text that says something to a user.
const MIN_TEXT: usize = 10;

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
}

impl<'w> Trial<'w> {
    pub(crate) fn new(testbed: &'w Testbed, app: &'w App, flow: Flow) -> Self {
        Self {
            testbed,
            app,
            flow,
            transcript: Transcript::start(),
            left_open: OnceLock::new(),
        }
    }

    /// The same trial in another testbed.
    pub(crate) fn moved_to<'t>(&'t self, testbed: &'t Testbed) -> Trial<'t> {
        Trial {
            transcript: self.transcript.clone(),
            ..Trial::new(testbed, self.app, self.flow)
        }
    }

    /// A browser with a fresh profile; `name` is `browser A`, `the attacker's browser`.
    pub(crate) fn browser(&self, name: &str) -> Browser {
        let name = self.transcript.name_of_browser(name);
        self.testbed.browser(&name, &self.transcript)
    }

    /// The way to sign in by this trial's flow.
    pub(crate) fn way(&self) -> Outcome<&'w SignInWay> {
        let way = self.app.way(self.flow);
        way.ok_or_else(|| Stop::not_applicable(format!("no {} flow was found", self.flow)))
    }

    /// The address of the callback.
    pub(crate) fn callback(&self) -> Outcome<Url> {
        self.testbed.at(&self.way()?.callback)
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
        let mut calls = self.testbed.calls_when_idle(mark, IDLE).await?;
        calls.retain(calls::is_by_app);
        let advanced = self.testbed.control.advanced_ms().await?;
        for call in &calls {
            self.transcript.add_call(call, advanced);
        }
        Ok(calls)
    }

    /// Arms a fault at the next call of `operation`.
    pub(crate) async fn arm(&self, operation: &str, fault: &str) -> Outcome {
        self.arm_with(operation, fault, &Value::Null).await
    }

    /// Arms a fault with further members.
    pub(crate) async fn arm_with(&self, operation: &str, fault: &str, more: &Value) -> Outcome {
        let note = format!("the next {operation} meets: {fault}");
        self.transcript.add("examiner", "broker", note);
        self.testbed.arm(operation, fault, more).await
    }

    /// Moves the clock ahead.
    pub(crate) async fn advance(&self, seconds: u64) -> Outcome {
        self.transcript.pass(seconds);
        Ok(self.testbed.control.advance(seconds).await?)
    }

    /// Follows the way from the app to the provider's sign-in page. The broker's
    /// question, should it ask one, is answered with Continue.
    pub(crate) async fn to_provider(&self, browser: &mut Browser, visit: Visit) -> Outcome<Page> {
        let mut page = browser.visit(visit).await?;
        let go_on = Step::Css("form[action$='/continue']".to_owned());
        if self.testbed.is_broker(&page.url)
            && page.status == 200
            && let Some(visit) = go_on.on_page(&page)
        {
            page = browser.visit(visit).await?;
        }
        if self.testbed.provider_at(&page.url).is_none() {
            let (path, status) = (page.url.path(), page.status);
            return Err(Stop::not_testable(format!(
                "the browser ended at {path} (status {status}) and not at the provider's page"
            )));
        }
        Ok(page)
    }

    /// Whether the user sees words; left open for a page that a script fills.
    pub(crate) fn has_words(&self, page: &Page) -> bool {
        page.text().len() >= MIN_TEXT || self.leave_to_script(page)
    }

    /// Whether a script may show what the page itself lacks. The check is then not tested.
    pub(crate) fn leave_to_script(&self, page: &Page) -> bool {
        let is_open = page.status < 500 && page.is_html() && page.has_script();
        if is_open {
            let path = page.url.path();
            let reason = format!("the page {path} is shown by its script, which was not run");
            let _ = self.left_open.set(reason);
        }
        is_open
    }

    /// The outcome of a check whose steps have ended well.
    pub(crate) fn end(&self) -> Outcome {
        match self.left_open.get() {
            Some(reason) => Err(Stop::not_tested(reason.as_str())),
            None => Ok(()),
        }
    }
}

/// Takes these steps from `page` on, up to the broker, whose address the browser does not ask for.
pub(crate) async fn take(
    testbed: &Testbed,
    steps: &[Step],
    browser: &mut Browser,
    mut page: Page,
) -> Outcome<Arrival> {
    for step in steps {
        let visit = step.required_on(&page, "sign_in");
        let visit = visit.or_else(|missing| step.in_another_tab(&page).ok_or(missing))?;
        if testbed.is_broker(&visit.url) {
            return Ok(Arrival::Stopped(visit));
        }
        let is_broker = |url: &Url| testbed.is_broker(url);
        match browser.visit_until(visit, is_broker).await? {
            Arrival::Page(next) => page = next,
            stopped @ Arrival::Stopped(_) => return Ok(stopped),
        }
    }
    Ok(Arrival::Page(page))
}
