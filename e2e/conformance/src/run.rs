//! The plan of a run, and the state of one: it sends, checks responses and collects the
//! verdicts.

use std::collections::BTreeMap;

use agent::control::Control;
use serde_json::Value;

use super::browser::{Aim, BrowserDriver, Navigation, NavigationEnd};
use super::expect::{self, Check};
use super::http::{Exchange, Http, MAX_REQUESTS, RawRequest};
use super::mask::Mask;
use super::project::TestProject;
use super::race::{MAX_RACE_REQUESTS, RacePlan, Races};
use super::report::ConformanceReport;
use super::requirement::Requirement;
use super::verdict::{Evidence, NotTestable, Results, Stop};

/// The plan of one run.
#[derive(Debug)]
pub struct TestPlan {
    /// The broker, without a trailing slash.
    pub base_url: String,
    /// The project whose backend the run plays.
    pub project: TestProject,
    /// Another project, for the borders between projects.
    pub other: Option<TestProject>,
    /// The browser.
    pub browser: BrowserDriver,
    /// The control address of the stack around the broker, if there is one.
    pub control: Option<Control>,
    /// The way to see something expire.
    pub expiry: Expiry,
    /// The races that follow the scenarios, if any.
    pub races: Option<RacePlan>,
}

/// The way to see something expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The control address moves the clock.
    ByControl,
    /// The run waits: a quarter of an hour.
    InRealTime,
    /// Expiry is not tested.
    LeftOut,
}

impl TestPlan {
    /// A callback that the other project has registered and the first one has not.
    pub(crate) fn callback_of_other_alone(&self) -> Option<&str> {
        let mut theirs = self.other.as_ref()?.callbacks();
        theirs.find(|it| self.project.callbacks().all(|own| own != *it))
    }

    fn max_requests(&self) -> usize {
        MAX_REQUESTS + self.races.as_ref().map_or(0, |_| MAX_RACE_REQUESTS)
    }

    /// A browser's way from `url` to the consumer.
    pub(crate) fn navigation<'a>(&'a self, url: &'a str) -> Navigation<'a> {
        Navigation {
            url,
            callback: &self.project.backend.callback,
            base_url: &self.base_url,
        }
    }
}

/// The state that the scenarios share.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a TestPlan,
    pub(crate) http: Http,
    /// The providers that are available.
    pub(crate) providers: Vec<&'static str>,
    /// The prefix of the first access token.
    pub(crate) token_prefix: Option<String>,
    /// The subjects of the accounts that signed in.
    pub(crate) subjects: BTreeMap<(String, String), String>,
    /// The requirements whose scenarios are played.
    requirements: &'a [Requirement],
    /// The error after which the browser is not used any more.
    browser_error: Option<String>,
    races: Option<Races>,
    /// The secrets that are masked in every report.
    pub(crate) mask: Mask,
    results: Results,
    progress: &'a mut dyn FnMut(&str),
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        plan: &'a TestPlan,
        requirements: &'a [Requirement],
        progress: &'a mut dyn FnMut(&str),
    ) -> Result<Self, NotTestable> {
        let mut mask = Mask::default();
        for project in [&plan.project].into_iter().chain(&plan.other) {
            mask.add("client_secret", &project.backend.client_secret);
        }
        Ok(Self {
            plan,
            http: Http::new(&plan.base_url, plan.max_requests()).map_err(NotTestable)?,
            providers: Vec::new(),
            token_prefix: None,
            subjects: BTreeMap::new(),
            requirements,
            browser_error: None,
            races: None,
            mask,
            results: Results::default(),
            progress,
        })
    }

    /// Opens the connections of the races, if there are any. Returns whether there are.
    pub(crate) async fn open_races(&mut self) -> Result<bool, NotTestable> {
        if let Some(plan) = &self.plan.races {
            self.races = Some(Races::open(self, plan).await?);
        }
        Ok(self.races.is_some())
    }

    /// The races, whose scenarios are played once their connections are open.
    pub(crate) fn races(&mut self) -> &mut Races {
        self.races.as_mut().expect("the connections are open")
    }

    /// Reports the step that begins.
    pub(crate) fn report_progress(&mut self, step: &str) {
        (self.progress)(step);
    }

    /// Whether a scenario that covers these requirements is played.
    pub(crate) fn asks_for(&self, covers: &[Requirement]) -> bool {
        covers.iter().any(|it| self.requirements.contains(it))
    }

    /// Sends `request` to the broker, and checks what is required of every response.
    pub(crate) async fn send(&mut self, request: impl Into<RawRequest>) -> Result<Exchange, Stop> {
        let request = request.into();
        let exchange = self.http.exchange(&self.plan.base_url, &request).await;
        let exchange = exchange.map_err(|error| Stop::Harness(self.mask.apply(&error)))?;
        if let Some(busy) = Stop::if_busy(exchange.status, &exchange.headers) {
            return Err(busy);
        }
        let body = &exchange.body;
        self.mask_secrets_of(body);
        if body.is_object() || body.is_array() {
            let is_json = expect::json_media_type(&exchange);
            self.check(Requirement::AnswerMediaType, &exchange, is_json);
            let at_token = request.path.split('?').next() == Some("/v1/token");
            let none = expect::no_upstream_token(body, at_token);
            self.check(Requirement::AnswerNoUpstreamToken, &exchange, none);
        }
        Ok(exchange)
    }

    /// Sends the browser to `url` and waits until it is back at the consumer. After an
    /// error it is not sent again: each attempt could take minutes.
    pub(crate) async fn navigate(&mut self, url: &str, aim: Aim) -> Result<NavigationEnd, Stop> {
        if let Some(error) = &self.browser_error {
            return Err(Stop::Harness(error.clone()));
        }
        let navigation = self.plan.navigation(url);
        let end = self
            .plan
            .browser
            .navigate(&self.http, navigation, aim)
            .await;
        if let Err(Stop::Harness(error)) = &end {
            self.browser_error = Some(error.clone());
        }
        end
    }

    pub(crate) fn mask_secrets_of(&mut self, body: &Value) {
        if let Some(token) = body["access_token"].as_str() {
            self.mask.add("access_token", token);
        }
        let url = body["authorization_url"].as_str().unwrap_or_default();
        if let Some((_, handle)) = url.rsplit_once('/') {
            self.mask.add("handle", handle);
        }
    }

    /// A new secret of 43 characters, masked in every report.
    pub(crate) fn new_secret(&mut self, name: &'static str) -> String {
        let secret = agent::random::secret();
        self.mask.add(name, &secret);
        secret
    }

    /// Records a check of an exchange.
    pub(crate) fn check(&mut self, requirement: Requirement, exchange: &Exchange, check: Check) {
        self.check_by(requirement, exchange.evidence.clone(), check);
    }

    /// Records a check by any evidence.
    pub(crate) fn check_by(&mut self, requirement: Requirement, evidence: Evidence, check: Check) {
        self.results.record(requirement, evidence, check);
    }

    /// Checks that an object has the `members` of its table. Further members are the
    /// broker's choice: the specification closes requests alone.
    pub(crate) fn check_members(
        &mut self,
        requirement: Requirement,
        exchange: &Exchange,
        object: &Value,
        members: &[&str],
    ) {
        self.check(requirement, exchange, expect::has(object, members));
        self.check_no_members_but(exchange, object, members);
    }

    /// Checks that an object has no further members, as this kit's objects have none.
    pub(crate) fn check_no_members_but(
        &mut self,
        exchange: &Exchange,
        object: &Value,
        members: &[&str],
    ) {
        let no_others = expect::no_members_but(object, members);
        self.check(Requirement::AnswerMembers, exchange, no_others);
    }

    /// Checks that the broker refused a request because of `requirement`, and that it
    /// did so with this kit's status. Returns whether it refused.
    pub(crate) fn check_refusal(
        &mut self,
        requirement: Requirement,
        exchange: &Exchange,
        kit_status: u16,
    ) -> bool {
        let is_refused = self.check_refusal_of_any_status(requirement, exchange);
        if is_refused {
            let status = expect::status(exchange, kit_status);
            self.check(Requirement::RefusalStatus, exchange, status);
        }
        is_refused
    }

    /// Checks that the broker refused a request, with any status.
    pub(crate) fn check_refusal_of_any_status(
        &mut self,
        requirement: Requirement,
        exchange: &Exchange,
    ) -> bool {
        let refusal = expect::refusal(exchange);
        let is_refused = refusal.is_ok();
        self.check(requirement, exchange, refusal);
        // Other statuses may come from infrastructure, which need not send JSON.
        if matches!(exchange.status, 400..=403 | 409 | 410 | 422) {
            let body = &exchange.body;
            self.check(Requirement::ErrorShape, exchange, expect::api_error(body));
            self.check_no_members_but(exchange, body, &["error", "message"]);
            if body["error"].is_string() {
                let code = expect::member(body, "error", "request_failed");
                self.check(Requirement::ErrorCode, exchange, code);
            }
        }
        is_refused
    }

    /// Checks that a response is a success. Returns whether it is.
    pub(crate) fn check_success(&mut self, requirement: Requirement, exchange: &Exchange) -> bool {
        self.check(requirement, exchange, expect::success(exchange));
        self.check_success_status(exchange);
        exchange.is_success()
    }

    /// Checks that a success has this kit's status.
    pub(crate) fn check_success_status(&mut self, exchange: &Exchange) {
        if exchange.is_success() {
            let status = expect::status(exchange, 200);
            self.check(Requirement::SuccessStatus, exchange, status);
        }
    }

    /// Records why requirements are not tested here. A test elsewhere counts more.
    pub(crate) fn skip(&mut self, requirements: &[Requirement], reason: &str) {
        self.results.skip(requirements, reason);
    }

    /// Returns the value that a test of `requirement` needs, or skips it for this
    /// `reason`.
    pub(crate) fn or_skip<T>(
        &mut self,
        requirement: Requirement,
        needed: Option<T>,
        reason: &str,
    ) -> Option<T> {
        if needed.is_none() {
            self.skip(&[requirement], reason);
        }
        needed
    }

    /// Records the end of a scenario that covers these requirements.
    pub(crate) fn end_scenario(&mut self, covers: &[Requirement], end: Result<(), Stop>) {
        match end {
            Ok(()) => {}
            Err(Stop::Blocked(reason)) => self.results.skip(covers, &reason),
            Err(stop) => self.results.fail_harness(covers, stop.into_reason()),
        }
    }

    /// The verdicts, without secrets.
    pub(crate) fn into_report(self) -> ConformanceReport {
        let (results, harness_errors) = self.results.into_parts(&self.mask);
        ConformanceReport {
            broker: self.plan.base_url.clone(),
            requests: self.http.sent(),
            results,
            harness_errors,
            races: self.races.map(|it| it.records).unwrap_or_default(),
        }
    }
}
