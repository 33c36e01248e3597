//! `GET /authorize`, the start of the legacy flow: a URL that the consumer builds.

use contract::{Rule, State};
use rocket::http::uri::Origin;
use rocket::{get, head};

use super::context::RequestContext;
use super::request::new_login::NewLogin;
use super::request::query_params::{destination, parameter, query_of, required};
use super::request::upstream_login_cookies::UpstreamLoginCookies;
use super::request::visitor::Visitor;
use super::response::client_redirect::{self, Fragment};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::query::Query;
use crate::sign_in::legacy::{self, AuthorizeParams, AuthorizeRequest, AuthorizeResponse};

#[get("/authorize")]
pub(super) async fn authorize(
    _new: NewLogin,
    uri: &Origin<'_>,
    visitor: Visitor,
    cookies: UpstreamLoginCookies<'_>,
    broker: &rocket::State<Broker>,
    context: &RequestContext,
) -> Result<SeeOther, Refusal> {
    let request = read(&query_of(uri), broker)?;
    let observe = context.call_observer(broker);
    let report = legacy::authorize(&broker.core, request, &visitor, &observe).await;
    Ok(match context.log(report)? {
        AuthorizeResponse::ToProvider(to) => cookies.redirect_to_provider(&to),
        AuthorizeResponse::Back(to) => client_redirect::legacy(&to, Fragment::Inherited),
    })
}

/// HEAD would run the route above and set a cookie.
#[head("/authorize")]
pub(super) fn head() {}

fn read(query: &Query<'_>, broker: &Broker) -> Result<AuthorizeRequest, Rule> {
    let (project, redirect_uri) = destination(&broker.core.projects, query)?;
    Ok(AuthorizeRequest {
        project,
        redirect_uri,
        state: state(query).ok(),
        params: params(query),
    })
}

fn params(query: &Query<'_>) -> Result<AuthorizeParams, Rule> {
    let params = AuthorizeParams {
        state: state(query)?,
        provider: required(query, "provider", Rule::ProviderKnown)?,
        challenge: required(query, "code_challenge", Rule::CodeChallengePattern)?,
    };
    match parameter(query, "code_challenge_method")?.as_deref() {
        Some("S256") => {}
        _ => return Err(Rule::AuthorizeChallengeMethod),
    }
    match parameter(query, "response_type")?.as_deref() {
        None | Some("code") => Ok(params),
        Some(_) => Err(Rule::AuthorizeResponseType),
    }
}

fn state(query: &Query<'_>) -> Result<State, Rule> {
    required(query, "state", Rule::StatePattern)
}
