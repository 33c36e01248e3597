//! The clean callback flow: `POST /v1/login/session`, the authorization URL, and
//! `POST /v1/login/result`.

use contract::{
    Digest, LoginLifetime, LoginResult, LoginResultRequest, LoginSessionRequest,
    LoginSessionResponse, Rule,
};
use rocket::serde::json::Json;
use rocket::{State, get, head, post};

use super::SeeOther;
use super::error::Refusal;
use super::guards::{Authenticated, Visitor};
use super::log::Trace;
use super::trips::Trips;
use crate::Broker;
use crate::flows::clean::{Ask, BrowserMark, LoginSession, Outcome, StillPending, open};
use crate::flows::trip::{Seed, Trip};
use crate::flows::{Fingerprint, UnixMs};
use crate::ledger::Step;
use crate::random;
use crate::store::{Claim, Opened, Settled, StoreError, Taken};

#[post("/v1/login/session", data = "<request>")]
pub(super) async fn start(
    request: Authenticated<LoginSessionRequest>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<LoginSessionResponse>, Refusal> {
    trace.login(&Fingerprint::of_key(&request.session_key));
    request.project.check_callback(&request.redirect_uri)?;
    if !broker.upstreams.offers(request.provider) {
        return Err(Rule::ProviderOffered.into());
    }
    let handle = Digest::from_bytes(random::bytes32()).to_text();
    let now = broker.now();
    match broker
        .store
        .open(open(&request, Digest::of(handle.as_bytes()), now), now)
        .await?
    {
        Opened::KeyTaken => Err(Rule::SessionKeyFresh.into()),
        Opened::Fresh => {
            trace.committed(Step::Opened);
            let url = format!("{}/login/{handle}", broker.base_url);
            Ok(Json(LoginSessionResponse {
                authorization_url: url.parse().expect("an origin and a handle make such a URL"),
                expires_in: LoginLifetime {},
            }))
        }
    }
}

#[post("/v1/login/result", data = "<request>")]
pub(super) async fn result(
    request: Authenticated<LoginResultRequest>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<LoginResult>, Refusal> {
    trace.login(&Fingerprint::of_key(&request.session_key));
    match broker.store.take(Ask::of(&request), broker.now()).await? {
        Taken::Pending(StillPending) => Ok(Json(LoginResult::Pending)),
        Taken::Refused(rule) => Err(rule.into()),
        Taken::Outcome(outcome) => {
            trace.committed(Step::Taken);
            Ok(Json(match outcome {
                Outcome::Succeeded(profile) => LoginResult::Succeeded { profile },
                Outcome::Failed(error) => LoginResult::Failed { error },
            }))
        }
    }
}

/// The authorization URL: the first browser gets the login and a trip.
#[get("/login/<handle>")]
pub(super) async fn visit(
    handle: &str,
    visitor: Visitor,
    trips: Trips<'_>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<SeeOther, Refusal> {
    let handle = Digest::of(handle.as_bytes());
    let browser = trips
        .browser_of(&handle)
        .unwrap_or_else(|| BrowserMark(Digest::from_bytes(random::bytes32())));
    let now = broker.now();
    match grant(broker, trace, &visitor, handle, browser, now).await? {
        Claim::Granted(session) => {
            note(trace, &session);
            depart(broker, &trips, trace, session, handle, browser).await
        }
        Claim::Refused(Some(session)) => {
            note(trace, &session);
            Ok(SeeOther(session.turn_away(now)?.into()))
        }
        Claim::Refused(None) => Err(Rule::HandleKnown.into()),
    }
}

/// HEAD would run the route above and claim; a link scanner must not.
#[head("/login/<_>")]
pub(super) fn look_at_visit() {}

fn note(trace: &Trace, session: &LoginSession) {
    trace.project(&session.project);
    trace.login(&session.login);
}

/// Grants the login to `browser`: by a claim, or, to a client that is no browser
/// on a machine where everything is local, without one.
async fn grant(
    broker: &Broker,
    trace: &Trace,
    visitor: &Visitor,
    handle: Digest,
    browser: BrowserMark,
    now: UnixMs,
) -> Result<Claim, StoreError> {
    if broker.base_url.is_loopback()
        && let Some(session) = broker.store.find(handle, now).await?
        && is_local_client(broker, visitor, &session)
    {
        return Ok(if session.admits(browser, now) {
            Claim::Granted(session)
        } else {
            Claim::Refused(Some(session))
        });
    }
    let claim = broker.store.claim(handle, browser, now).await?;
    if let Claim::Granted(_) = claim {
        trace.committed(Step::Claimed);
    }
    Ok(claim)
}

fn is_local_client(broker: &Broker, visitor: &Visitor, session: &LoginSession) -> bool {
    let home = session.redirect_uri.origin();
    home.is_loopback()
        && broker.upstreams.is_loopback(session.provider)
        && visitor.is_plain_client(&broker.base_url, &home)
}

/// Sends the browser to the provider; or home, if the provider cannot even say
/// where that is.
async fn depart(
    broker: &Broker,
    trips: &Trips<'_>,
    trace: &Trace,
    session: LoginSession,
    handle: Digest,
    browser: BrowserMark,
) -> Result<SeeOther, Refusal> {
    let trip = Trip::for_session(
        Seed::from_random(random::bytes32()),
        &session,
        handle,
        browser,
    );
    let hear = trace.of_calls(broker, trip.provider);
    match broker.upstreams.departure(&trip, broker.now(), &hear).await {
        Ok(url) => {
            trips.depart(&trip);
            Ok(to_provider(&url))
        }
        Err(failure) => {
            trace.failed(failure);
            let outcome = Outcome::Failed(failure.error());
            settle(broker, trace, handle, outcome).await?;
            Ok(SeeOther(session.redirect_uri.into()))
        }
    }
}

/// Gives the login of `handle` its outcome, if it has none.
pub(super) async fn settle(
    broker: &Broker,
    trace: &Trace,
    handle: Digest,
    outcome: Outcome,
) -> Result<(), StoreError> {
    if let Settled::Now = broker.store.settle(handle, outcome, broker.now()).await? {
        trace.committed(Step::Settled);
    }
    Ok(())
}

/// A redirect to a provider. The empty fragment ends whatever fragment the
/// browser came with, which would else reach the consumer's callback.
pub(super) fn to_provider(url: &str) -> SeeOther {
    SeeOther(format!("{url}#"))
}
