//! The ways back to the consumer, none of which carries a fragment that the browser
//! came with.
//!
//! A browser inherits the fragment of an address over every redirect whose target
//! has none of its own, and no server ever sees it. The way to the provider ends it
//! by an explicit empty one. Where the browser may still have one, a clean callback
//! is reached over [`end_fragment`], whose address ends in an empty fragment; the
//! legacy callback, which has a query anyway, carries the empty fragment itself.

use contract::{ClientId, HandoffCode, RedirectUri, State};

use super::see_other::SeeOther;
use crate::Broker;
use crate::query::encode;

/// Whether the browser's address may have a fragment that a redirect would pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragment {
    /// It came from a page of ours, or over a redirect that ended it. (A fragment of
    /// the provider's own choosing would be passed on: neither has one.)
    Ended,
    /// Nothing has ended it yet.
    Inherited,
}

/// Sends the browser to the clean callback `redirect_uri` of `client_id`.
pub(crate) fn clean(
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

/// The callback of a legacy login, and what it is sent there with.
pub(crate) struct LegacyCallback {
    pub(crate) redirect_uri: RedirectUri,
    /// Echoed only when it came once and was well formed.
    pub(crate) state: Option<State>,
    pub(crate) fragment: Fragment,
}

impl LegacyCallback {
    /// Sends the browser there with a handoff code.
    pub(crate) fn with_code(&self, code: &HandoffCode) -> SeeOther {
        self.with("code", code.expose())
    }

    /// Sends the browser there with an error.
    pub(crate) fn with_error(&self, error: &str) -> SeeOther {
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
