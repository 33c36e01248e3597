//! A browser on its way back from its provider.

use contract::{LoginError, Profile, RedirectUri, Rule};

use super::CallbackStep;
use super::broker_core::{BrokerCore, CallObserver};
use super::confirmation::{Confirmation, Question};
use super::report::{LogFields, Refused};
use crate::audit::Step;
use crate::model::upstream_login::{Purpose, UpstreamLogin};
use crate::query::Query;
use crate::relay::RelayGuard;
use crate::store::{Consumed, StoreError};
use crate::upstream::Failure;

/// A browser that is back from its provider.
pub(super) struct Returned<'a> {
    pub(super) core: &'a BrokerCore,
    pub(super) upstream_login: UpstreamLogin,
    pub(super) step: CallbackStep,
    pub(super) query: &'a Query<'a>,
    pub(super) observe: CallObserver<'a>,
}

impl Returned<'_> {
    /// The callback that the upstream login was started for, if it is still
    /// registered.
    pub(super) fn redirect_uri(&self) -> Option<RedirectUri> {
        self.core
            .projects
            .find(&self.upstream_login.project)?
            .callback(&self.upstream_login.callback)
            .cloned()
    }

    /// Consumes the upstream login. Only after that is the provider asked, once.
    pub(super) async fn consume(&self, log: &mut LogFields) -> Result<(), ConsumeError> {
        let now = self.core.now();
        self.upstream_login.check_time(now)?;
        let store = &self.core.store;
        match store.consume_upstream_login(&self.upstream_login).await? {
            Consumed::Now => {
                log.steps.push(Step::UpstreamLoginConsumed);
                Ok(())
            }
            Consumed::Before => Err(Rule::UpstreamLoginOnce.into()),
        }
    }

    /// The question for a browser that only holds the cookie of the one that was
    /// redirected to the provider, and otherwise looks different. Its login is still under
    /// way. In the legacy flow the consumer's state answers that question.
    pub(super) fn confirmation(&self, redirect_uri: &RedirectUri) -> Option<Confirmation> {
        let UpstreamLogin {
            purpose: Purpose::Clean { .. },
            project,
            provider,
            ..
        } = &self.upstream_login
        else {
            return None;
        };
        let project = self.core.projects.find(project)?;
        let is_asked = matches!(self.step, CallbackStep::FromProvider(same) if !same.all())
            && project.relay_guard != RelayGuard::Off
            && self.upstream_login.check_time(self.core.now()).is_ok();
        is_asked.then(|| Confirmation {
            project,
            origin: redirect_uri.origin().clone(),
            provider: *provider,
            question: Question::OtherTraits,
        })
    }

    /// The user who signed in; or the error of a login that failed or was cancelled.
    pub(super) async fn outcome(&self, log: &mut LogFields) -> Result<Profile, LoginError> {
        if self.step == CallbackStep::Cancelled {
            log.rule = Some(Rule::RelayCancelled);
            return Err(LoginError::AccessDenied);
        }
        self.authenticate().await.map_err(|failure| {
            log.set_failure(failure);
            failure.error()
        })
    }

    /// Asks the provider for the user who signed in.
    async fn authenticate(&self) -> Result<Profile, Failure> {
        let observer = |call| (self.observe)(&self.upstream_login, call);
        let upstreams = &self.core.upstreams;
        upstreams
            .authenticate(&self.upstream_login, self.query, self.core.now(), &observer)
            .await
    }
}

/// The reason why an upstream login was not consumed.
pub(super) enum ConsumeError {
    /// It has expired, or was consumed before.
    Over(Rule),
    Store(StoreError),
}

impl From<Rule> for ConsumeError {
    fn from(rule: Rule) -> Self {
        Self::Over(rule)
    }
}

impl From<StoreError> for ConsumeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ConsumeError> for Refused {
    fn from(error: ConsumeError) -> Self {
        match error {
            ConsumeError::Over(rule) => rule.into(),
            ConsumeError::Store(error) => error.into(),
        }
    }
}
