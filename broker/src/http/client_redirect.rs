//! The ways back to the consumer, none of which carries a fragment that the browser
//! came with.
//!
//! A browser inherits the fragment of an address over every redirect whose target
//! has none of its own, and no server ever sees it. The way to the provider ends it
//! by an explicit empty one. Where the browser may still have one, a clean callback
//! is reached over [`end_fragment`], whose address ends in an empty fragment; the
//! legacy callback, which has a query anyway, carries the empty fragment itself.

use std::sync::Arc;

use contract::{ClientId, HandoffCode, RedirectUri, Rule, State};
use rocket::http::uri::Origin;
use rocket::{get, head};

use super::error::Refusal;
use super::log::Trace;
use super::{SeeOther, query_of};
use crate::Broker;
use crate::projects::Project;
use crate::query::{Query, Repeated, encode};

/// Whether the browser's address may have a fragment that a redirect would pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fragment {
    /// It came from a page of ours, or over a redirect that ended it. (A fragment of
    /// the provider's own choosing would be passed on: neither has one.)
    Ended,
    /// Nothing has ended it yet.
    Inherited,
}

/// Sends the browser to the clean callback `redirect_uri` of `client_id`.
pub(super) fn clean(
    broker: &Broker,
    client_id: &ClientId,
    redirect_uri: RedirectUri,
    fragment: Fragment,
) -> SeeOther {
    match fragment {
        Fragment::Ended => SeeOther(redirect_uri.into()),
        Fragment::Inherited => {
            let query = encode([
                ("client_id", client_id.as_str()),
                ("redirect_uri", redirect_uri.as_str()),
            ]);
            SeeOther(format!("{}/return?{query}#", broker.base_url))
        }
    }
}

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

/// The project and callback that a query names. Without a known client and one of
/// its own callbacks there is nowhere safe to redirect to.
pub(super) fn destination(
    broker: &Broker,
    query: &Query<'_>,
) -> Result<(Arc<Project>, RedirectUri), Rule> {
    let client_id: ClientId = required(query, "client_id", Rule::AuthorizeClient)?;
    let project = broker
        .projects
        .find(&client_id)
        .ok_or(Rule::AuthorizeClient)?;
    let redirect_uri: RedirectUri = required(query, "redirect_uri", Rule::RedirectUriRegistered)?;
    project.check_callback(&redirect_uri)?;
    Ok((project, redirect_uri))
}

/// A required parameter, parsed; `rule` is broken when it is absent or malformed.
pub(super) fn required<T: std::str::FromStr>(
    query: &Query<'_>,
    name: &str,
    rule: Rule,
) -> Result<T, Rule> {
    parameter(query, name)?
        .and_then(|text| text.parse().ok())
        .ok_or(rule)
}

/// A parameter of an authorization request, which comes at most once.
pub(super) fn parameter(query: &Query<'_>, name: &str) -> Result<Option<String>, Rule> {
    query.once(name).map_err(|Repeated| Rule::AuthorizeOnce)
}

/// The callback of a legacy login, and what it is sent there with.
pub(super) struct LegacyCallback {
    pub(super) redirect_uri: RedirectUri,
    /// Echoed only when it came once and was well formed.
    pub(super) state: Option<State>,
    pub(super) fragment: Fragment,
}

impl LegacyCallback {
    /// Sends the browser there with a handoff code.
    pub(super) fn with_code(&self, code: &HandoffCode) -> SeeOther {
        self.with("code", code.expose())
    }

    /// Sends the browser there with an error.
    pub(super) fn with_error(&self, error: &str) -> SeeOther {
        self.with("error", error)
    }

    fn with(&self, name: &str, value: &str) -> SeeOther {
        let state = self.state.as_ref().map(|state| ("state", state.expose()));
        let query = encode([(name, value)].into_iter().chain(state));
        let end = match self.fragment {
            Fragment::Ended => "",
            Fragment::Inherited => "#",
        };
        SeeOther(format!("{}?{query}{end}", self.redirect_uri))
    }
}
