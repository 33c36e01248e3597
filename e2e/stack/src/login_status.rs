//! The status of a login, read from the broker's store. It does not depend on which
//! answers the client received.

use broker::audit::Step;
use broker::model::grant::CODE_LIFETIME_MS;
use broker::model::login_session::{LoginSession, SessionStatus};
use contract::{LoginLifetime, Rule};
use serde::Serialize;

use crate::event_log::{LoggedEvent, SecretKind};
use crate::facts::{begun_at, flow};
use crate::runtime::StackRuntime;

pub use crate::facts::LoginFlow;

/// The status of one login. The fields are the members of its JSON.
#[derive(Debug, Clone, Serialize)]
pub struct LoginStatus {
    /// The id of the login, the `login` of its events.
    pub login: String,
    /// The flow, once it is known.
    pub flow: Option<LoginFlow>,
    /// The project's `client_id`, once it is known.
    pub project: Option<String>,
    /// `google` or `github`, once it is known.
    pub provider: Option<&'static str>,
    /// The state in the store.
    pub state: LoginState,
    /// The time at which a pending login expires, in Unix milliseconds; null otherwise.
    pub expires_at: Option<i64>,
    /// Every call about the login, oldest first.
    pub calls: Vec<LoginCall>,
}

/// The state of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginState {
    /// Nothing is stored: every call so far was refused or never arrived.
    None,
    /// The user has not come back from the provider.
    Pending,
    /// Clean flow: an unread result with a profile.
    Succeeded,
    /// Clean flow: an unread result with an error. Legacy flow: the browser was redirected
    /// to the callback with an error.
    Failed,
    /// Clean flow: the result was read.
    Consumed,
    /// Legacy flow: a handoff code waits to be redeemed.
    CodeIssued,
    /// Legacy flow: the code was redeemed, and the token is valid.
    Redeemed,
    /// Legacy flow: the token was revoked, or its code redeemed a second time.
    Ended,
    /// The lifetime of the session, code or token is over.
    Expired,
}

/// The status of the login with this id; `None` if no event mentions it.
pub(crate) async fn of(runtime: &StackRuntime, login: &str) -> Option<LoginStatus> {
    let events = runtime.event_log().events(0, Some(login));
    if events.is_empty() {
        return None;
    }
    let events: Vec<_> = events.iter().map(|event| &**event).collect();
    let flow = flow(events.iter().copied());
    let state = match flow {
        Some(LoginFlow::Clean) => clean_state(runtime, login, &events).await,
        _ => legacy_state(runtime, login, &events).await,
    };
    Some(LoginStatus {
        login: login.to_owned(),
        flow,
        project: events.iter().find_map(|event| event.project.clone()),
        provider: events.iter().find_map(|event| event.provider),
        state,
        expires_at: (state == LoginState::Pending)
            .then(|| begun_at(events.iter().copied()))
            .flatten()
            .map(|begun_at| begun_at + LoginLifetime::MS),
        calls: calls(&events),
    })
}

async fn clean_state(runtime: &StackRuntime, login: &str, events: &[&LoggedEvent]) -> LoginState {
    let Some(session) = find_session(runtime, login).await else {
        return match events.iter().any(|event| event.has_step(Step::Opened)) {
            true => LoginState::Expired,
            false => LoginState::None,
        };
    };
    let is_over = !session.ends.is_after(runtime.clock.current().now());
    match session.status {
        SessionStatus::Consumed => LoginState::Consumed,
        SessionStatus::Erased => LoginState::Expired,
        _ if is_over => LoginState::Expired,
        SessionStatus::Unbound | SessionStatus::Bound(_) => LoginState::Pending,
        SessionStatus::Completed if has_failed(events) => LoginState::Failed,
        SessionStatus::Completed => LoginState::Succeeded,
    }
}

async fn find_session(runtime: &StackRuntime, login: &str) -> Option<LoginSession> {
    let secrets = runtime.event_log().secrets();
    let handle = secrets.digest_of(SecretKind::Handle, login)?;
    let now = runtime.clock.current().now();
    runtime.store().find(handle, now).await.ok()?
}

/// Only the redeemer of a code can look it up in the store, so the state of a code comes
/// from the committed steps; the state of a token comes from the store.
async fn legacy_state(runtime: &StackRuntime, login: &str, events: &[&LoggedEvent]) -> LoginState {
    let secrets = runtime.event_log().secrets();
    if let Some(token) = secrets.digest_of(SecretKind::Token, login) {
        return token_state(runtime, token).await;
    }
    let issued = events.iter().find(|event| event.has_step(Step::CodeIssued));
    match issued {
        Some(issued) if runtime.clock.now_ms() < issued.at + CODE_LIFETIME_MS => {
            LoginState::CodeIssued
        }
        Some(_) => LoginState::Expired,
        None if has_failed(events) => LoginState::Failed,
        None => match begun_at(events.iter().copied()) {
            Some(begun_at) if runtime.clock.now_ms() < begun_at + LoginLifetime::MS => {
                LoginState::Pending
            }
            Some(_) => LoginState::Expired,
            None => LoginState::None,
        },
    }
}

async fn token_state(runtime: &StackRuntime, token: contract::Digest) -> LoginState {
    let now = runtime.clock.current().now();
    match runtime.store().token(token, now).await {
        Ok(Some(token)) => match token.open(now) {
            Ok(_) => LoginState::Redeemed,
            Err(Rule::BearerEnded) => LoginState::Ended,
            Err(_) => LoginState::Expired,
        },
        _ => LoginState::Expired,
    }
}

/// Whether the login at the provider failed.
fn has_failed(events: &[&LoggedEvent]) -> bool {
    let is_upstream_rule =
        |event: &LoggedEvent| event.rule.is_some_and(|rule| rule.starts_with("upstream."));
    events
        .iter()
        .any(|event| event.from == "browser" && is_upstream_rule(event))
}

/// A call of a browser or a backend. The fields are the members of its JSON.
#[derive(Debug, Clone, Serialize)]
pub struct LoginCall {
    /// The sequence number of the call's first event.
    pub seq: u64,
    /// The time of that event, in Unix milliseconds.
    pub at: i64,
    /// The `X-Request-Id` of the exchange.
    pub request_id: String,
    /// The operation: `POST /v1/login/result`.
    pub operation: String,
    /// The broker's status; null if it never saw the call.
    pub status: Option<u16>,
    /// The rule that refused the call.
    pub rule: Option<&'static str>,
    /// Whether the broker committed anything.
    pub committed: bool,
    /// The steps that it committed.
    pub steps: Vec<&'static str>,
    /// The fault that the proxy injected.
    pub fault: Option<&'static str>,
    /// Whether the last byte of the broker's answer went to a client that was still there.
    #[serde(rename = "heard")]
    pub is_received: bool,
}

/// The calls in `events`, each with its fault.
fn calls(events: &[&LoggedEvent]) -> Vec<LoginCall> {
    let mut calls: Vec<LoginCall> = Vec::new();
    let is_call = |event: &&&LoggedEvent| event.to == "broker" && !event.resend;
    for event in events.iter().filter(is_call) {
        let known = calls
            .iter_mut()
            .find(|call| call.request_id == event.request_id);
        match known {
            Some(call) => call.fault = event.fault,
            None => calls.push(LoginCall::new(event)),
        }
    }
    calls
}

impl LoginCall {
    fn new(event: &LoggedEvent) -> Self {
        Self {
            seq: event.seq,
            at: event.at,
            request_id: event.request_id.clone(),
            operation: event.operation.clone(),
            status: event.status,
            rule: event.rule,
            committed: event.committed,
            steps: event.steps.clone(),
            fault: event.fault,
            is_received: event.receipt.is_received(),
        }
    }
}
