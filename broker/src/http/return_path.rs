//! `GET /return`, which ends the fragment that a browser may have come with.

use rocket::http::uri::Origin;
use rocket::{State, get, head};

use super::context::RequestContext;
use super::request::query_params::{destination, query_of};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::sign_in::report::{LogFields, Report};

/// Redirects from an address that ends in an empty fragment to the clean callback, byte
/// for byte. It knows registered callbacks only, and nothing of any login.
#[get("/return")]
pub(super) fn end_fragment(
    uri: &Origin<'_>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<SeeOther, Refusal> {
    let (project, redirect_uri) = destination(&broker.core.projects, &query_of(uri))?;
    let log = LogFields {
        project: Some(project.client_id.clone()),
        ..LogFields::default()
    };
    let redirect_uri = context.log(Report {
        log,
        result: Ok(redirect_uri),
    })?;
    Ok(SeeOther(redirect_uri.into()))
}

/// HEAD is answered here as at every address that browsers visit.
#[head("/return")]
pub(super) fn head() {}
