//! The parts of a broker that the use cases share, and the steps that several take.

use contract::{Digest, Origin};

use super::answer::ProviderRedirect;
use crate::audit::{Event, Step};
use crate::clock::Clock;
use crate::limits::Limits;
use crate::model::UnixMs;
use crate::model::login_session::LoginOutcome;
use crate::model::upstream_login::UpstreamLogin;
use crate::projects::Projects;
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
    pub(super) async fn redirect_to_provider(
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
    pub(super) async fn complete_session(
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
