//! A login in which one call of the app meets a fault: the steps that several checks share.

use serde_json::{Value, json};
use url::Url;

use crate::app::Flow;
use crate::browser::{Arrival, Visit};
use crate::calls::Call;
use crate::calls::operation::{PROFILE, SESSION, TOKEN};
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop};

/// The calls that an app makes for one login.
pub(super) fn calls_of(flow: Flow) -> [&'static str; 2] {
    match flow {
        Flow::Clean => [SESSION, Flow::Clean.one_time_call()],
        Flow::Legacy => [TOKEN, PROFILE],
    }
}

/// A login on its way.
pub(super) struct Login<'t> {
    pub(super) user: User<'t>,
    /// The request that makes the app do the call.
    pub(super) next: Visit,
}

/// A login up to the request that makes the app do `operation`.
pub(super) async fn login_before<'t>(trial: &'t Trial<'_>, operation: &str) -> Outcome<Login<'t>> {
    let mut user = trial.user("browser A", "Ada");
    let next = if operation == SESSION {
        trial.last_press(&mut user.browser).await?
    } else {
        user.up_to_callback().await?
    };
    Ok(Login { user, next })
}

impl Login<'_> {
    /// Makes the request; the browser stops before it leaves the app.
    pub(super) async fn go_on(&mut self) -> Outcome<Arrival> {
        let leaves = |url: &Url| !self.user.trial.testbed.is_app(url);
        let browser = &mut self.user.browser;
        browser.visit_until(self.next.clone(), leaves).await
    }

    /// The same while a fault is armed, which `operation` must meet.
    pub(super) async fn meet_fault(&mut self, operation: &str, mark: u64) -> Outcome<Arrival> {
        let arrival = self.go_on().await?;
        self.user.trial.testbed.control.disarm().await?;
        let calls = self.user.trial.testbed.calls(mark).await?;
        let is_met = |call: &Call| call.operation == operation && call.fault.is_some();
        match calls.iter().any(is_met) {
            true => Ok(arrival),
            false => Err(not_called(operation)),
        }
    }
}

/// The end of a check whose login did not make the app do the call.
pub(super) fn not_called(operation: &str) -> Stop {
    Stop::not_testable(format!("a login did not make the app call {operation}"))
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

/// The members of the fault `answer`.
pub(super) fn answer(status: u16, headers: &Value, body: &str) -> Value {
    json!({ "answer": { "status": status, "headers": headers, "body": body } })
}
