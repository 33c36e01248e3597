//! The truth about a login, whatever its client heard: the store is asked, not
//! the answers.

use broker::audit::Step;
use broker::model::login_session::{LoginSession, SessionStatus};
use broker::store::Store;
use contract::Rule;
use serde::Serialize;

use crate::logbook::{Event, Secret, Source};
use crate::world::World;

/// One login, as it is.
#[derive(Debug, Clone, Serialize)]
pub struct Login {
    /// The fingerprint that its events bear.
    pub login: String,
    /// Which flow it is in, once that is known.
    pub flow: Option<Flow>,
    /// The project's `client_id`, once that is known.
    pub project: Option<String>,
    /// `google` or `github`, once that is known.
    pub provider: Option<&'static str>,
    /// Where it stands.
    pub state: State,
    /// Every call about it, oldest first.
    pub calls: Vec<Call>,
}

/// One of the two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// The clean callback flow.
    Clean,
    /// The legacy browser authorization.
    Legacy,
}

/// Where a login stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing of it is stored: every call so far was refused or never arrived.
    None,
    /// The person has not come back from the provider.
    Pending,
    /// Clean flow: a result waits to be read, and has a profile.
    Succeeded,
    /// Clean flow: a result waits to be read, and has an error. Legacy flow: the
    /// browser took an error home.
    Failed,
    /// Clean flow: the result was read.
    Consumed,
    /// Legacy flow: a code waits to be redeemed.
    CodeIssued,
    /// Legacy flow: the code was redeemed, and the token is good.
    Redeemed,
    /// Legacy flow: the token was revoked, or its code redeemed a second time.
    Ended,
    /// Its time is over.
    Expired,
}

/// A call of a browser or a backend.
#[derive(Debug, Clone, Serialize)]
pub struct Call {
    /// The place of its event in the sequence.
    pub seq: u64,
    /// When it was answered, in Unix milliseconds.
    pub at: i64,
    /// The `X-Request-Id` of the exchange.
    pub request_id: String,
    /// `POST /v1/login/result`.
    pub operation: String,
    /// What the broker answered; null if it never saw the call.
    pub status: Option<u16>,
    /// The rule that refused it.
    pub rule: Option<&'static str>,
    /// Whether the broker committed anything.
    pub committed: bool,
    /// What it committed.
    pub steps: Vec<&'static str>,
    /// What the wire did to it.
    pub fault: Option<&'static str>,
    /// Whether the client got the broker's answer.
    pub heard: bool,
}

/// The login that is called `fingerprint`; none if no event tells of it.
pub(crate) async fn login(world: &World, fingerprint: &str) -> Option<Login> {
    let events = world.watch.logbook.events(0, Some(fingerprint));
    if events.is_empty() {
        return None;
    }
    let events: Vec<_> = events.iter().map(|event| &**event).collect();
    let flow = flow(&events);
    let (state, provider) = match flow {
        Some(Flow::Clean) => clean(world, fingerprint, &events).await,
        _ => (legacy(world, fingerprint, &events).await, None),
    };
    Some(Login {
        login: fingerprint.to_owned(),
        flow,
        project: events.iter().find_map(|event| event.project.clone()),
        provider: provider.or_else(|| asked_provider(&events)),
        state,
        calls: calls(&events),
    })
}

fn flow(events: &[&Event]) -> Option<Flow> {
    events
        .iter()
        .find_map(|event| match event.operation.as_str() {
            "POST /v1/login/session" | "GET /login/{handle}" | "POST /v1/login/result" => {
                Some(Flow::Clean)
            }
            "GET /authorize" | "POST /v1/token" | "GET /v1/profile" | "POST /v1/revoke" => {
                Some(Flow::Legacy)
            }
            _ => None,
        })
}

fn asked_provider(events: &[&Event]) -> Option<&'static str> {
    let is_provider = |party: &&'static str| *party == "google" || *party == "github";
    events.iter().map(|event| event.to).find(is_provider)
}

async fn clean(
    world: &World,
    fingerprint: &str,
    events: &[&Event],
) -> (State, Option<&'static str>) {
    let Some(session) = session(world, fingerprint).await else {
        let was_opened = has(events, Step::Opened);
        return (
            if was_opened {
                State::Expired
            } else {
                State::None
            },
            None,
        );
    };
    let provider = Some(session.provider.as_str());
    let is_over = !session.ends.is_after(world.clock.world().now());
    let state = match session.status {
        SessionStatus::Consumed => State::Consumed,
        SessionStatus::Erased => State::Expired,
        _ if is_over => State::Expired,
        SessionStatus::Unbound | SessionStatus::Bound(_) => State::Pending,
        SessionStatus::Completed if has_failed(events) => State::Failed,
        SessionStatus::Completed => State::Succeeded,
    };
    (state, provider)
}

async fn session(world: &World, fingerprint: &str) -> Option<LoginSession> {
    let ties = world.watch.logbook.ties();
    let handle = ties.digest_of(Secret::Handle, fingerprint)?;
    let now = world.clock.world().now();
    world.store().find(handle, now).await.ok()?
}

/// Nobody but its redeemer can ask the store for a code, so what was committed
/// tells of it, and the store of the token.
async fn legacy(world: &World, fingerprint: &str, events: &[&Event]) -> State {
    if let Some(token) = world
        .watch
        .logbook
        .ties()
        .digest_of(Secret::Token, fingerprint)
    {
        return token_state(&*world.store(), token, world).await;
    }
    let now_ms = world.clock.now_ms();
    let issued = events
        .iter()
        .find(|event| event.steps.contains(&Step::CodeIssued.name()));
    match issued {
        Some(issued) if now_ms < issued.at + broker::model::grant::CODE_LIFETIME_MS => {
            State::CodeIssued
        }
        Some(_) => State::Expired,
        None if has_failed(events) => State::Failed,
        None if events.iter().any(|event| event.status == Some(303)) => State::Pending,
        None => State::None,
    }
}

async fn token_state(store: &dyn Store, token: contract::Digest, world: &World) -> State {
    let now = world.clock.world().now();
    match store.token(token, now).await {
        Ok(Some(token)) => match token.open(now) {
            Ok(_) => State::Redeemed,
            Err(Rule::BearerEnded) => State::Ended,
            Err(_) => State::Expired,
        },
        _ => State::Expired,
    }
}

fn has(events: &[&Event], step: Step) -> bool {
    events
        .iter()
        .any(|event| event.steps.contains(&step.name()))
}

/// Whether what ended the way to the provider was a failure.
fn has_failed(events: &[&Event]) -> bool {
    let is_upstream =
        |event: &&&Event| event.rule.is_some_and(|rule| rule.starts_with("upstream."));
    events
        .iter()
        .filter(|event| event.from == "browser")
        .any(|event| is_upstream(&event))
}

/// Every call, with what the wire did to it.
fn calls(events: &[&Event]) -> Vec<Call> {
    let is_call = |event: &&&Event| event.to == "broker" && !event.resend;
    let mut calls: Vec<Call> = Vec::new();
    for event in events.iter().filter(is_call) {
        match calls
            .iter_mut()
            .find(|call| call.request_id == event.request_id)
        {
            Some(call) => {
                call.fault = event.fault;
                call.heard = event.fault == Some("delay");
            }
            None => calls.push(Call {
                seq: event.seq,
                at: event.at,
                request_id: event.request_id.clone(),
                operation: event.operation.clone(),
                status: event.status,
                rule: event.rule,
                committed: event.committed,
                steps: event.steps.clone(),
                fault: event.fault,
                heard: event.source == Source::AuditLog,
            }),
        }
    }
    calls
}
