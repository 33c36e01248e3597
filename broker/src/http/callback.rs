//! `GET /callback/{provider}`, the address that a provider sends browsers back to.
//!
//! The browser goes on to the consumer's callback, whatever became of the sign-in. The
//! exceptions are in the README's "The way back to the app".

use contract::{Provider, Rule};
use rocket::http::uri::Origin;
use rocket::{State, get, head};

use super::context::RequestContext;
use super::request::client_addr::ClientAddr;
use super::request::query_params::query_of;
use super::request::upstream_login_cookies::UpstreamLoginCookies;
use super::response::client_redirect::{self, Fragment};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::sign_in::{self, CallbackResponse};

#[get("/callback/<provider>")]
pub(super) async fn complete(
    provider: &str,
    uri: &Origin<'_>,
    cookies: UpstreamLoginCookies<'_>,
    client_addr: ClientAddr,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<SeeOther, Refusal> {
    let (core, provider, query) = (&broker.core, known(provider)?, query_of(uri));
    let upstream_login = cookies
        .take(provider, &query)
        .ok_or(Rule::UpstreamLoginOwnBrowser)?;
    let observe = context.call_observer(broker);
    let report = sign_in::complete(core, upstream_login, &query, client_addr.0, &observe).await;
    // The redirect to the provider has ended any fragment that the browser came with.
    let fragment = Fragment::Ended;
    Ok(match context.log(report)? {
        CallbackResponse::Clean(to) => client_redirect::clean(&core.base_url, to, fragment),
        CallbackResponse::Legacy(to) => client_redirect::legacy(&to, fragment),
    })
}

/// HEAD would run the route above and consume the upstream login.
#[head("/callback/<provider>")]
pub(super) fn head(provider: &str) -> Result<(), Refusal> {
    known(provider).map(drop)
}

fn known(provider: &str) -> Result<Provider, Refusal> {
    provider.parse().map_err(|_| Rule::RequestPath.into())
}
