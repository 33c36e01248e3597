//! The use cases of both flows: everything between a parsed request and its answer.
//!
//! A use case takes parsed values, asks the [`store`](crate::store) for its steps and
//! a provider for the user, fills in the request's [`Event`](crate::audit::Event), and
//! returns an [`BrowserAnswer`] for a browser, a value for a backend, or the [`Refused`]
//! request. Statuses, headers, cookies and pages are the business of
//! [`http`](crate::http).
//!
//! | module | use cases |
//! |---|---|
//! | [`clean`] | a backend starts a login session, and reads its result; a browser opens its authorization URL, and answers its question |
//! | [`legacy`] | a browser asks for authorization; a backend redeems, reads, revokes |
//! | [`callback`] | a browser comes back from its provider, in either flow |
//!
//! This file has the parts that they share: what they need of a broker, and their answers.

pub(crate) mod clean;

pub(crate) mod legacy;

pub(crate) mod callback;

use std::sync::Arc;

use contract::{
    ClientId, Digest, HandoffCode, LoginError, Origin, Provider, RedirectUri, Rule, State,
};

use crate::audit::{Event, Step};
use crate::clock::Clock;
use crate::limits::{Limits, RetryAfter};
use crate::model::UnixMs;
use crate::model::login_session::LoginOutcome;
use crate::model::upstream_login::UpstreamLogin;
use crate::projects::{Project, Projects};
use crate::store::{Completed, Store, StoreError};
use crate::upstream::{AccountPicker, Call, Failure, Upstreams};

/// The parts of a broker that the use cases need.
pub(crate) struct BrokerCore {
    pub(crate) base_url: Origin,
    pub(crate) clock: Clock,
    pub(crate) projects: Projects,
    pub(crate) limits: Limits,
    pub(crate) store: Store,
    pub(crate) upstreams: Upstreams,
}

/// The observer of every call that is made to a provider for an upstream login.
pub(crate) type CallObserver<'a> = &'a (dyn Fn(&UpstreamLogin, Call) + Send + Sync);

impl BrokerCore {
    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// The redirect that starts `upstream_login`.
    async fn redirect_to_provider(
        &self,
        upstream_login: UpstreamLogin,
        picker: AccountPicker,
        observe: CallObserver<'_>,
    ) -> Result<ProviderRedirect, Failure> {
        let observer = |call| observe(&upstream_login, call);
        let url = self
            .upstreams
            .authorization_url(&upstream_login, picker, &observer)
            .await?;
        Ok(ProviderRedirect {
            upstream_login,
            url,
        })
    }

    /// Gives the login session of `handle` its outcome, if it has none.
    async fn complete_session(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        event: &mut Event,
    ) -> Result<(), StoreError> {
        match self.store.complete(handle, outcome, self.now()).await? {
            Completed::Now => event.steps.push(Step::Completed),
            Completed::TooLate => {}
        }
        Ok(())
    }
}

/// The answer to a browser: it is redirected or asked.
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
        // Operators filter by it.
        tracing::error!(target: "broker::sign_in::answer", %error, "the store could not take a step");
        Rule::StoreReachable.into()
    }
}
