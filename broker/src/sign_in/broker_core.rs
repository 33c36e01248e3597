//! The parts of a broker that the use cases share.

use std::sync::Arc;

use contract::Origin;

use crate::clock::Clock;
use crate::limits::Limits;
use crate::model::UnixMs;
use crate::model::upstream_login::UpstreamLogin;
use crate::projects::Projects;
use crate::store::Store;
use crate::upstream::{AccountPicker, Call, Failure, Upstreams};

/// The parts of a broker that the use cases need.
pub(crate) struct BrokerCore {
    pub(crate) base_url: Origin,
    pub(crate) clock: Clock,
    pub(crate) projects: Projects,
    pub(crate) limits: Limits,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) upstreams: Upstreams,
}

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
}

/// The observer of every call that is made to a provider for an upstream login.
pub(crate) type CallObserver<'a> = &'a (dyn Fn(&UpstreamLogin, Call) + Send + Sync);

/// A browser's redirect to its provider, with the upstream login it has to keep.
pub(crate) struct ProviderRedirect {
    pub(crate) upstream_login: UpstreamLogin,
    pub(crate) url: String,
}
