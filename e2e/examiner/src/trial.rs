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
use crate::verdict::{Outcome, Stop, Verdict};

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
        page: Page,
    ) -> Outcome<Visit> {
        match take(self.testbed, &way.steps, browser, page).await? {
            Arrival::Stopped(visit) => Ok(visit),
            Arrival::Page(page) => Err(Stop::not_testable(format!(
                "the sign-in button led to {} (status {}) and not to the broker",
                page.url.path(),
                page.status
            ))),
        }
    }

    /// The request that starts a login, which is not made: every step but the last is taken.
    pub(crate) async fn last_press(&self, browser: &mut Browser) -> Outcome<Visit> {
        let steps = self.way()?.steps.split_last();
        let (last, before) = steps.ok_or_else(|| Stop::harness("a way to sign in has no step"))?;
        let page = browser.open(&self.testbed.start).await?;
        match take(self.testbed, before, browser, page).await? {
            Arrival::Stopped(visit) => Ok(visit),
            Arrival::Page(page) => last.required_on(&page, "sign_in"),
        }
    }

    /// The request that signs out. Not tested in an app without a way to do so.
    pub(crate) async fn sign_out_visit(&self, browser: &mut Browser) -> Outcome<Visit> {
        let step = self.sign_out_step()?;
        let page = self.testbed.at(&self.app.sign_out_page)?;
        step.required_on(&browser.open(&page).await?, "sign_out")
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

    /// Lets the provider fail or the person cancel (`deny`), and stops before the browser
    /// asks the app for its callback.
    pub(crate) async fn misbehave(
        &self,
        browser: &mut Browser,
        page: &Page,
        name: &str,
    ) -> Outcome<Visit> {
        let button = Step::Css(format!("[name=misbehave][value='{name}']"));
        let cannot = || Stop::harness(format!("the provider's page cannot {name}"));
        let visit = button.on_page(page).ok_or_else(cannot)?;
        self.leave_provider(browser, visit).await
    }

    /// Leaves the provider's page by `visit`, and stops before the browser asks the app for its
    /// callback.
    pub(crate) async fn leave_provider(
        &self,
        browser: &mut Browser,
        visit: Visit,
    ) -> Outcome<Visit> {
        let is_app = |url: &Url| self.testbed.is_app(url);
        match browser.visit_until(visit, is_app).await? {
            Arrival::Stopped(visit) if self.app.has_strict_cookie => Ok(visit.as_typed()),
            Arrival::Stopped(visit) => Ok(visit),
            Arrival::Page(page) => Err(Stop::not_testable(format!(
                "the browser ended at {} (status {}) and did not come back to the app",
                page.url.path(),
                page.status
            ))),
        }
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

    /// As [`begin`](Self::begin), in a browser that is signed in; by `old_tab`, a start page
    /// from before, if the page of a signed-in user has no sign-in. `None` if the app then
    /// refuses it: its form may need a token that such a user does not have.
    pub(crate) async fn begin_signed_in(
        &self,
        browser: &mut Browser,
        old_tab: Option<Page>,
    ) -> Outcome<Option<Visit>> {
        let page = browser.open(&self.testbed.start).await?;
        let way = self.way()?;
        let first = way.steps.first();
        let is_offered = first.is_some_and(|it| it.on_page(&page).is_some());
        let start = old_tab.filter(|_| !is_offered).unwrap_or(page);
        let begun = self.begin_on(browser, way, start).await;
        let status = browser.seen.last().map_or(0, |page| page.status);
        match begun {
            Err(stop) if !is_offered && stop.verdict == Verdict::NotTestable && status < 500 => {
                let note = "the app offers no sign-in to a user who is signed in";
                self.transcript.add("examiner", "app", note);
                Ok(None)
            }
            begun => begun.map(Some),
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
