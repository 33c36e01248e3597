//! The legacy flow's beginning: `GET /authorize`, a URL that the consumer builds.

use std::sync::Arc;

use contract::{ClientId, CodeChallenge, LoginError, Provider, RedirectUri, Rule, State};
use rocket::http::uri::Origin;
use rocket::{get, head};

use super::SeeOther;
use super::error::Refusal;
use super::log::Trace;
use super::trips::Trips;
use super::visit::to_provider;
use super::visitor::Visitor;
use crate::Broker;
use crate::flows::Fingerprint;
use crate::flows::trip::{Seed, Trip};
use crate::projects::Project;
use crate::query::{Query, Repeated, encode};
use crate::random;
use crate::upstream::AccountPicker;

#[get("/authorize")]
pub(super) async fn authorize(
    uri: &Origin<'_>,
    visitor: Visitor,
    trips: Trips<'_>,
    broker: &rocket::State<Broker>,
    trace: &Trace,
) -> Result<SeeOther, Refusal> {
    let query = Query::parse(uri.query().map_or("", |query| query.as_str()));
    let (project, redirect_uri) = destination(broker, &query)?;
    trace.project(&project.client_id);
    trace.began(visitor.provenance(&project.start_origins(&redirect_uri)));
    let home = Home {
        redirect_uri,
        state: state(&query).ok(),
    };
    if let Some(state) = &home.state {
        trace.login(&Fingerprint::of_state(state));
    }
    match Wish::read(&query) {
        Ok(wish) => Ok(depart(broker, &trips, trace, &project, &home, wish).await),
        Err(rule) => {
            trace.refused(rule);
            Ok(home.with_error("invalid_request"))
        }
    }
}

/// HEAD would run the route above and set a cookie.
#[head("/authorize")]
pub(super) fn look() {}

/// Whom an answer may be sent to. Without a known client and one of its own
/// callbacks there is nowhere safe to redirect to.
fn destination(broker: &Broker, query: &Query<'_>) -> Result<(Arc<Project>, RedirectUri), Rule> {
    let client_id: ClientId = once(query, "client_id", Rule::AuthorizeClient)?;
    let project = broker
        .projects
        .find(&client_id)
        .ok_or(Rule::AuthorizeClient)?;
    let redirect_uri: RedirectUri = once(query, "redirect_uri", Rule::RedirectUriRegistered)?;
    project.check_callback(&redirect_uri)?;
    Ok((project, redirect_uri))
}

/// What the rest of the query asks for.
struct Wish {
    provider: Provider,
    state: State,
    challenge: CodeChallenge,
}

impl Wish {
    fn read(query: &Query<'_>) -> Result<Self, Rule> {
        let wish = Self {
            state: state(query)?,
            provider: once(query, "provider", Rule::ProviderKnown)?,
            challenge: once(query, "code_challenge", Rule::CodeChallengePattern)?,
        };
        match parameter(query, "code_challenge_method")?.as_deref() {
            Some("S256") => {}
            _ => return Err(Rule::AuthorizeChallengeMethod),
        }
        match parameter(query, "response_type")?.as_deref() {
            None | Some("code") => Ok(wish),
            Some(_) => Err(Rule::AuthorizeResponseType),
        }
    }
}

fn state(query: &Query<'_>) -> Result<State, Rule> {
    once(query, "state", Rule::StatePattern)
}

fn parameter(query: &Query<'_>, name: &str) -> Result<Option<String>, Rule> {
    query.once(name).map_err(|Repeated| Rule::AuthorizeOnce)
}

/// A required parameter, parsed; `rule` is broken when it is absent or malformed.
fn once<T: std::str::FromStr>(query: &Query<'_>, name: &str, rule: Rule) -> Result<T, Rule> {
    parameter(query, name)?
        .and_then(|text| text.parse().ok())
        .ok_or(rule)
}

/// Sends the browser to the provider; or home, if the provider is off or cannot
/// even say where that is.
async fn depart(
    broker: &Broker,
    trips: &Trips<'_>,
    trace: &Trace,
    project: &Project,
    home: &Home,
    wish: Wish,
) -> SeeOther {
    if !broker.upstreams.offers(wish.provider) {
        trace.refused(Rule::ProviderOffered);
        return home.with_error(LoginError::ProviderUnavailable.as_str());
    }
    let seed = Seed::from_random(random::bytes32());
    let (client, tie, now) = (
        &project.client_id,
        (wish.state, wish.challenge),
        broker.now(),
    );
    trace.provider(wish.provider);
    let trip = Trip::for_authorization(seed, client, &home.redirect_uri, wish.provider, tie, now);
    let hear = trace.of_calls(broker, trip.provider);
    // The state comes back through the browser: no click of the person is needed.
    let picker = AccountPicker::LeftToThem;
    match broker.upstreams.departure(&trip, picker, now, &hear).await {
        Ok(url) => {
            trips.depart(&trip);
            to_provider(&url)
        }
        Err(failure) => {
            trace.failed(failure);
            home.with_error(failure.error().as_str())
        }
    }
}

/// Where a legacy login comes home to.
pub(super) struct Home {
    pub(super) redirect_uri: RedirectUri,
    /// Echoed only when it came once and was well formed.
    pub(super) state: Option<State>,
}

impl Home {
    /// Home, with a code.
    pub(super) fn with_code(&self, code: &contract::HandoffCode) -> SeeOther {
        self.with("code", code.expose())
    }

    /// Home, with an error.
    pub(super) fn with_error(&self, error: &str) -> SeeOther {
        self.with("error", error)
    }

    fn with(&self, name: &str, value: &str) -> SeeOther {
        let state = self.state.as_ref().map(|state| ("state", state.expose()));
        let query = encode([(name, value)].into_iter().chain(state));
        SeeOther(format!("{}?{query}", self.redirect_uri))
    }
}
