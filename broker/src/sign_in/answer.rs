//! The answers of the use cases: a browser is redirected or asked, or a request refused.

use std::sync::Arc;

use contract::{ClientId, HandoffCode, LoginError, Origin, Provider, RedirectUri, Rule, State};

use crate::limits::RetryAfter;
use crate::model::upstream_login::UpstreamLogin;
use crate::projects::Project;
use crate::store::StoreError;

pub(crate) enum BrowserAnswer {
    ToProvider(ProviderRedirect),
    Back(ClientRedirect),
    /// The user is asked for confirmation, and nothing is consumed.
    Confirm(Confirmation),
}

/// A browser's redirect to its provider, with the upstream login it has to keep.
pub(crate) struct ProviderRedirect {
    pub(crate) upstream_login: UpstreamLogin,
    pub(crate) url: String,
}

/// A browser's redirect to a project's callback.
pub(crate) enum ClientRedirect {
    /// The clean callback carries nothing.
    Clean {
        project: ClientId,
        redirect_uri: RedirectUri,
    },
    Legacy {
        redirect_uri: RedirectUri,
        /// The consumer's state, if it came once and is well formed.
        state: Option<State>,
        outcome: LegacyOutcome,
    },
}

/// The outcome of a legacy login, which its browser carries to the callback.
pub(crate) enum LegacyOutcome {
    Code(HandoffCode),
    InvalidRequest,
    Failed(LoginError),
}

/// The contents of the confirmation page.
pub(crate) struct Confirmation {
    pub(crate) project: Arc<Project>,
    /// The origin of the login's callback.
    pub(crate) origin: Origin,
    pub(crate) provider: Provider,
    pub(crate) question: Question,
}

/// The reason for which the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The project asks at every sign-in.
    Always,
    /// The visit did not start on the project's pages.
    StartedElsewhere,
    /// The browser comes back with other traits than it left with.
    OtherTraits,
}

/// A refusal: the rule, and the time to wait if waiting helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) rule: Rule,
    pub(crate) retry_after_seconds: Option<u64>,
}

impl From<Rule> for Refused {
    fn from(rule: Rule) -> Self {
        Self {
            rule,
            retry_after_seconds: None,
        }
    }
}

impl From<RetryAfter> for Refused {
    fn from(RetryAfter { rule, seconds }: RetryAfter) -> Self {
        Self {
            rule,
            retry_after_seconds: Some(seconds),
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store could not take a step");
        Rule::StoreReachable.into()
    }
}
