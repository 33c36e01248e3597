//! A login in which one call of the app meets trouble: the steps that several checks share.

use serde_json::{Value, json};
use url::Url;

use super::failure::offers_restart;
use crate::app::{Flow, Way};
use crate::browser::{Arrival, Browser, Page, Visit};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The call that starts a login of the clean flow.
pub(super) const SESSION: &str = "POST /v1/login/session";
pub(super) const TOKEN: &str = "POST /v1/token";
pub(super) const PROFILE: &str = "GET /v1/profile";

/// The calls that an app makes for one login.
pub(super) fn calls_of(flow: Flow) -> [&'static str; 2] {
    match flow {
        Flow::Clean => [SESSION, Flow::Clean.one_time_call()],
        Flow::Legacy => [TOKEN, PROFILE],
    }
}

/// A login on its way, in a browser of its own.
pub(super) struct Login {
    pub(super) browser: Browser,
    pub(super) person: Person,
    /// The request that makes the app do the call.
    pub(super) next: Visit,
}

/// A login up to the request that makes the app do `operation`.
pub(super) async fn login_before(trial: &Trial<'_>, operation: &str) -> Outcome<Login> {
    let mut browser = trial.browser("browser A");
    let person = Person::new("Ada");
    let next = if operation == SESSION {
        before_start(trial, &mut browser, trial.way()?).await?
    } else {
        trial.up_to_callback(&mut browser, &person).await?
    };
    Ok(Login {
        browser,
        person,
        next,
    })
}

/// The press that starts a login.
async fn before_start(trial: &Trial<'_>, browser: &mut Browser, way: &Way) -> Outcome<Visit> {
    let mut page = browser.open(&trial.world.start).await?;
    let (last, first) = way
        .steps
        .split_last()
        .ok_or_else(|| Stop::harness("a way to sign in has no step"))?;
    for step in first {
        let visit = step.on_page(&page);
        let visit = visit.ok_or_else(|| step.missing_on(&page, "sign_in"))?;
        page = browser.visit(visit).await?;
    }
    last.on_page(&page)
        .ok_or_else(|| last.missing_on(&page, "sign_in"))
}

impl Login {
    /// Makes the request; the browser stops before it leaves the app.
    pub(super) async fn go_on(&mut self, trial: &Trial<'_>) -> Outcome<Arrival> {
        let leaves = |url: &Url| !trial.world.is_app(url);
        self.browser.visit_until(self.next.clone(), leaves).await
    }
}

/// Ends the check as not testable unless the app has met the fault.
pub(super) async fn expect_met(trial: &Trial<'_>, mark: u64, operation: &str) -> Outcome {
    let calls = trial.world.calls(mark).await?;
    let mut met = calls
        .iter()
        .filter(|call| call.operation == operation && call.fault.is_some());
    if met.next().is_some() {
        return Ok(());
    }
    Err(Stop::not_testable(format!(
        "a login did not make the app call {operation}"
    )))
}

/// Requires a page in words, from which the person can go on; `trouble` is its cause.
pub(super) fn require_page(trial: &Trial<'_>, page: &Page, trouble: &str) -> Outcome {
    let path = page.url.path();
    require(trial.has_words(page), || {
        format!("{trouble}, the user sees a page without words, {path}")
    })?;
    // Another 5xx is a word about the broker; 500 is an exception without a handler.
    require(page.status != 500 || offers_restart(trial, page), || {
        format!(
            "{trouble}, the user sees an error page with status {} at {path}, without a way to start again",
            page.status
        )
    })
}

/// The members of the fault `answer`.
pub(super) fn answer(status: u16, headers: &Value, body: &str) -> Value {
    json!({ "answer": { "status": status, "headers": headers, "body": body } })
}
