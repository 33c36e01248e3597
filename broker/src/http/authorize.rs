//! The legacy flow's beginning: `GET /authorize`, a URL that the consumer builds.

use contract::{CodeChallenge, LoginError, Provider, Rule, State};
use rocket::http::uri::Origin;
use rocket::{get, head};

use super::authorization_url::to_provider;
use super::context::Trace;
use super::request::query_params::query_of;
use super::request::query_params::{destination, parameter, required};
use super::request::upstream_login_cookies::UpstreamLogins;
use super::request::visitor::Visitor;
use super::response::client_redirect::{Fragment, LegacyCallback};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::model::LoginId;
use crate::model::upstream_login::{Seed, UpstreamLogin};
use crate::projects::Project;
use crate::query::Query;
use crate::random;
use crate::upstream::AccountPicker;

#[get("/authorize")]
pub(super) async fn authorize(
    uri: &Origin<'_>,
    visitor: Visitor,
    upstream_logins: UpstreamLogins<'_>,
    broker: &rocket::State<Broker>,
    trace: &Trace,
) -> Result<SeeOther, Refusal> {
    let query = query_of(uri);
    let (project, redirect_uri) = destination(broker, &query)?;
    trace.project(&project.client_id);
    trace.began(visitor.provenance(&project.start_origins(&redirect_uri)));
    let home = LegacyCallback {
        redirect_uri,
        state: state(&query).ok(),
        fragment: Fragment::Inherited,
    };
    if let Some(state) = &home.state {
        trace.login(&LoginId::of_state(state));
    }
    match Wish::read(&query) {
        Ok(wish) => Ok(depart(broker, &upstream_logins, trace, &project, &home, wish).await),
        Err(rule) => {
            trace.refused(rule);
            Ok(home.with_error("invalid_request"))
        }
    }
}

/// HEAD would run the route above and set a cookie.
#[head("/authorize")]
pub(super) fn look() {}

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
            provider: required(query, "provider", Rule::ProviderKnown)?,
            challenge: required(query, "code_challenge", Rule::CodeChallengePattern)?,
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
    required(query, "state", Rule::StatePattern)
}

/// Sends the browser to the provider; or home, if the provider is off or cannot
/// even say where that is.
async fn depart(
    broker: &Broker,
    upstream_logins: &UpstreamLogins<'_>,
    trace: &Trace,
    project: &Project,
    home: &LegacyCallback,
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
    let upstream_login =
        UpstreamLogin::for_authorization(seed, client, &home.redirect_uri, wish.provider, tie, now);
    let hear = trace.of_calls(broker, upstream_login.provider);
    // The state comes back through the browser: no click of the person is needed.
    let picker = AccountPicker::LeftToThem;
    match broker
        .upstreams
        .departure(&upstream_login, picker, &hear)
        .await
    {
        Ok(url) => {
            upstream_logins.depart(&upstream_login);
            to_provider(&url)
        }
        Err(failure) => {
            trace.failed(failure);
            home.with_error(failure.error().as_str())
        }
    }
}
