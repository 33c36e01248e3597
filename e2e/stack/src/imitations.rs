//! The imitated providers alone, for apps that use Google and GitHub themselves: without
//! the broker, the demo and the control address.
//!
//! The control address is left out because nearly all of it is about the broker: logins,
//! faults, projects, sandboxes. What a test needs of it, the providers' own pages offer to
//! plain HTTP too: the form of the sign-in page takes any user and any failure.

use std::path::Path;

use mock_upstream::{Clients, Labels, MockUpstream};

use crate::launch::RunningUpstream;
use crate::runtime::{Reach, Stopping};
use crate::settings::StackSettings;
use crate::start_error::StackStartError;
use crate::tls::{SharedAuthority, StackTls};

/// The running providers. Dropping it stops them.
pub struct Imitations {
    upstream: RunningUpstream,
    reach: Reach,
}

impl Imitations {
    /// Starts both providers for these clients; when this returns, they answer. Of the
    /// settings, those count that are about the providers, TLS and the clock.
    ///
    /// # Errors
    ///
    /// If an address is taken; the error names it and the flag that sets it.
    pub async fn start(
        settings: &StackSettings,
        clients: Clients,
    ) -> Result<Self, StackStartError> {
        settings.check()?;
        let authority = SharedAuthority::new(settings.hosts(), settings.ca_file.clone());
        let reach = Reach {
            tls: settings.https.then(|| authority.get()).transpose()?,
            host: settings.host.clone(),
            stopping: Stopping::Graceful,
        };
        let clients = |_| clients.clone();
        let upstream = RunningUpstream::start(settings, &reach, clients, Labels::none()).await?;
        Ok(Self { upstream, reach })
    }

    /// The handles of the providers.
    pub fn upstream(&self) -> &MockUpstream {
        &self.upstream.mock
    }

    /// The certificate authority that clients must trust, if there is TLS.
    pub fn ca_file(&self) -> Option<&Path> {
        self.reach.tls.as_deref().map(StackTls::ca_file)
    }
}
