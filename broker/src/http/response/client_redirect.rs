//! The redirects back to the consumer, none of which carries a fragment that the
//! browser came with.
//!
//! A browser inherits the fragment of an address over every redirect whose target has
//! none of its own, and no server ever sees it. The redirect to the provider ends it by
//! an explicit empty one. Where the browser may still have one, a clean callback is
//! reached over `/return`, under an address that ends in an empty fragment; the legacy
//! callback, which has a query anyway, carries the empty fragment itself.

use contract::Origin;

use super::see_other::SeeOther;
use crate::query::encode;
use crate::sign_in::clean::CleanCallback;
use crate::sign_in::legacy::{LegacyCallback, LegacyOutcome};

/// Whether the browser's address may have a fragment that a redirect would pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragment {
    /// The browser came from a page of the broker, or over a redirect that ended it. (A
    /// fragment of the provider's own choosing would be passed on: neither has one.)
    Ended,
    /// Nothing has ended it yet.
    Inherited,
}

/// Redirects to a clean callback.
pub(crate) fn clean(base_url: &Origin, callback: CleanCallback, fragment: Fragment) -> SeeOther {
    match fragment {
        Fragment::Ended => SeeOther(callback.redirect_uri.into()),
        Fragment::Inherited => {
            let query = encode([
                ("client_id", callback.project.as_str()),
                ("redirect_uri", callback.redirect_uri.as_str()),
            ]);
            SeeOther(format!("{base_url}/return?{query}#"))
        }
    }
}

/// Redirects to a legacy callback, with the code or the error, and the state.
pub(crate) fn legacy(callback: &LegacyCallback, fragment: Fragment) -> SeeOther {
    let outcome = match &callback.outcome {
        LegacyOutcome::Code(code) => ("code", code.expose()),
        LegacyOutcome::InvalidRequest => ("error", "invalid_request"),
        LegacyOutcome::Failed(error) => ("error", error.as_str()),
    };
    let state = callback.state.as_ref().map(|it| ("state", it.expose()));
    let query = encode([outcome].into_iter().chain(state));
    let end = match fragment {
        Fragment::Ended => "",
        Fragment::Inherited => "#",
    };
    SeeOther(format!("{}?{query}{end}", callback.redirect_uri))
}
