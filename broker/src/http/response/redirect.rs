//! The redirects that browsers follow. Those back to the consumer carry no fragment that the
//! browser came with.
//!
//! A browser inherits the fragment of an address over every redirect whose target has
//! none of its own, and no server ever sees it. The redirect to the provider ends it by
//! an explicit empty one. Where the browser may still have one, a clean callback is
//! reached over `/return`, under an address that ends in an empty fragment; the legacy
//! callback, which has a query anyway, carries the empty fragment itself.

use contract::{ClientId, Origin, RedirectUri, State};
use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::{Request, Response};

use crate::sign_in::{ClientRedirect, LegacyOutcome};
use crate::untrusted::encode;

/// A redirect that a browser follows with GET, whatever it sent before.
///
/// The address is written as it is: a registered callback must leave byte for
/// byte as it was registered.
#[derive(Debug)]
pub(crate) struct SeeOther(pub(crate) String);

impl<'r> Responder<'r, 'static> for SeeOther {
    fn respond_to(self, _: &'r Request<'_>) -> response::Result<'static> {
        Response::build()
            .status(Status::SeeOther)
            .raw_header("Location", self.0)
            .ok()
    }
}

/// Whether the browser's address may have a fragment that a redirect would pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragment {
    /// The browser came from a page of the broker, or over a redirect that ended it. (A
    /// fragment of the provider's own choosing would be passed on: neither has one.)
    Ended,
    /// Nothing has ended it yet.
    Inherited,
}

/// Redirects to a callback: a clean one as it is, a legacy one with the code or the error, and
/// the state.
pub(crate) fn to_client(base_url: &Origin, to: ClientRedirect, fragment: Fragment) -> SeeOther {
    SeeOther(match to {
        ClientRedirect::Clean {
            project,
            redirect_uri,
        } => clean(base_url, &project, redirect_uri, fragment),
        ClientRedirect::Legacy {
            redirect_uri,
            state,
            outcome,
        } => legacy(&redirect_uri, state.as_ref(), &outcome, fragment),
    })
}

fn clean(
    base_url: &Origin,
    project: &ClientId,
    redirect_uri: RedirectUri,
    fragment: Fragment,
) -> String {
    match fragment {
        Fragment::Ended => redirect_uri.into(),
        Fragment::Inherited => {
            let query = encode([
                ("client_id", project.as_str()),
                ("redirect_uri", redirect_uri.as_str()),
            ]);
            format!("{base_url}/return?{query}#")
        }
    }
}

fn legacy(
    redirect_uri: &RedirectUri,
    state: Option<&State>,
    outcome: &LegacyOutcome,
    fragment: Fragment,
) -> String {
    let outcome = match outcome {
        LegacyOutcome::Code(code) => ("code", code.expose()),
        LegacyOutcome::InvalidRequest => ("error", "invalid_request"),
        LegacyOutcome::Failed(error) => ("error", error.as_str()),
    };
    let state = state.map(|it| ("state", it.expose()));
    let query = encode([outcome].into_iter().chain(state));
    let end = match fragment {
        Fragment::Ended => "",
        Fragment::Inherited => "#",
    };
    format!("{redirect_uri}?{query}{end}")
}
