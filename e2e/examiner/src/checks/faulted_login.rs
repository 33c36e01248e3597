//! A login in which one call of the app meets a fault: the steps that several checks share.

use serde_json::{Value, json};
use url::Url;

use super::failure::offers_restart;
use crate::app::Flow;
use crate::browser::{Arrival, Browser, Page, Visit};
use crate::calls::Call;
use crate::calls::operation::{PROFILE, SESSION, TOKEN};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

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
        trial.last_press(&mut browser).await?
    } else {
        trial.up_to_callback(&mut browser, &person).await?
    };
    Ok(Login {
        browser,
        person,
        next,
    })
}

impl Login {
    /// Makes the request; the browser stops before it leaves the app.
    pub(super) async fn go_on(&mut self, trial: &Trial<'_>) -> Outcome<Arrival> {
        let leaves = |url: &Url| !trial.testbed.is_app(url);
        self.browser.visit_until(self.next.clone(), leaves).await
    }
}

/// Ends the check as not testable unless the app has met the fault.
pub(super) async fn expect_met(trial: &Trial<'_>, mark: u64, operation: &str) -> Outcome {
    let calls = trial.testbed.calls(mark).await?;
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

/// Whether the fault met the call of another login than the one that went on after `mark`.
pub(super) async fn was_met_by_another(
    trial: &Trial<'_>,
    operation: &str,
    mark: u64,
) -> Outcome<bool> {
    let mut calls = trial.testbed.calls(mark).await?;
    calls.retain(|call| call.operation == operation);
    let met = calls.iter().find(|call| call.fault.is_some());
    let others = |met: &Call| {
        let mut spared = calls.iter().filter(|call| call.fault.is_none());
        spared.any(|call| call.login != met.login)
    };
    Ok(met.is_some_and(others))
}

/// Requires a page in words, from which the person can go on; `cause` begins the sentence of a failure.
pub(super) fn require_page(trial: &Trial<'_>, page: &Page, cause: &str) -> Outcome {
    let path = page.url.path();
    require(trial.has_words(page), || {
        format!("{cause}, the user sees a page without words, {path}")
    })?;
    // Another 5xx is a word about the broker; 500 is an exception without a handler.
    require(page.status != 500 || offers_restart(trial, page), || {
        format!(
            "{cause}, the user sees an error page with status {} at {path}, without a way to start again",
            page.status
        )
    })
}

/// The members of the fault `answer`.
pub(super) fn answer(status: u16, headers: &Value, body: &str) -> Value {
    json!({ "answer": { "status": status, "headers": headers, "body": body } })
}
