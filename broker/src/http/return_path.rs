//! `GET /return`.

use rocket::http::uri::Origin;
use rocket::{get, head};

use super::context::Trace;
use super::request::query_params::{destination, query_of};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;

/// Leads an address that ends in an empty fragment to the clean callback, byte
/// for byte. It knows registered callbacks only, and nothing of any login.
#[get("/return")]
pub(super) fn end_fragment(
    uri: &Origin<'_>,
    broker: &rocket::State<Broker>,
    trace: &Trace,
) -> Result<SeeOther, Refusal> {
    let query = query_of(uri);
    let (project, redirect_uri) = destination(broker, &query)?;
    trace.project(&project.client_id);
    Ok(SeeOther(redirect_uri.into()))
}

/// HEAD is answered here as at every address of a browser's.
#[head("/return")]
pub(super) fn look() {}
