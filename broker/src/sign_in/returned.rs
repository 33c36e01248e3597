//! A browser on its way back from its provider.

use contract::{Profile, RedirectUri, Rule};

use super::broker_core::{BrokerCore, CallObserver};
use super::report::{LogFields, Refused};
use crate::audit::Step;
use crate::model::upstream_login::UpstreamLogin;
use crate::query::Query;
use crate::store::{Consumed, StoreError};
use crate::upstream::Failure;

/// A browser that is back from its provider.
pub(super) struct Returned<'a> {
    pub(super) core: &'a BrokerCore,
    pub(super) upstream_login: UpstreamLogin,
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

    /// Asks the provider for the user who signed in.
    pub(super) async fn authenticate(&self) -> Result<Profile, Failure> {
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
