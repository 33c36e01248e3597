//! The imitated providers: a part of every stack, or alone, for apps that use Google and GitHub
//! themselves, without the broker, the demo and the control address.
//!
//! The control address is left out because nearly all of it is about the broker: logins,
//! faults, projects, sandboxes. What a test needs of it, the providers' own pages offer to
//! plain HTTP too: the form of the sign-in page takes any user and any failure.

use std::path::Path;

use contract::Provider;
use mock_upstream::settings::ProviderSettings;
use mock_upstream::{Clients, Labels, MockUpstream, Settings, Upstream};

use crate::runtime::{
    BEHIND_FRONT, BoundPort, Reach, ServerName, Stopping, UPSTREAM_CLIENT_ID,
    UPSTREAM_CLIENT_SECRET,
};
use crate::settings::{StackSettings, StackStartError};
use crate::tls::{SharedAuthority, StackTls, TlsFront};

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

/// The running providers, and the fronts that clients reach them by, if there is TLS.
pub(crate) struct RunningUpstream {
    pub(crate) mock: MockUpstream,
    pub(crate) fronts: Vec<TlsFront>,
}

const GOOGLE: ServerName = ServerName("the imitated Google", "google");
const GITHUB: ServerName = ServerName("the imitated GitHub", "github");

impl RunningUpstream {
    /// Starts both for the clients that `clients` gives each.
    pub(crate) async fn start(
        settings: &StackSettings,
        reach: &Reach,
        clients: impl Fn(Provider) -> Clients,
        labels: Labels,
    ) -> Result<Self, StackStartError> {
        let provider = |provider, listen| ProviderSettings {
            listen,
            mode: settings.mode(),
            ..ProviderSettings::new(clients(provider))
        };
        let mut mocks = Settings {
            google: provider(Provider::Google, settings.google),
            github: provider(Provider::GitHub, settings.github),
            clock: settings.clock.for_upstream(),
            users: settings.users.clone(),
            labels,
        };
        if reach.tls.is_none() {
            let mock = MockUpstream::start(mocks).await.map_err(error)?;
            let fronts = Vec::new();
            return Ok(Self { mock, fronts });
        }
        let google = behind_front(&mut mocks.google, reach, GOOGLE)?;
        let github = behind_front(&mut mocks.github, reach, GITHUB)?;
        let mock = MockUpstream::start(mocks).await.map_err(error)?;
        let front = |port, upstream: &Upstream| reach.front(port, upstream.address());
        let fronts = [front(google, mock.google())?, front(github, mock.github())?];
        let fronts = fronts.into_iter().flatten().collect();
        Ok(Self { mock, fronts })
    }
}

/// The broker's registration at a provider.
pub(crate) fn broker_client(broker_url: &str, provider: Provider) -> mock_upstream::Client {
    let callback = broker::upstream::callback_url(broker_url, provider);
    mock_upstream::Client::new(UPSTREAM_CLIENT_ID, UPSTREAM_CLIENT_SECRET, [callback])
        .expect("the broker's callback is a URL")
        .named("Federated Sign-In kit")
}

/// Moves a provider behind the port that is bound for its front.
fn behind_front(
    provider: &mut ProviderSettings,
    reach: &Reach,
    server: ServerName,
) -> Result<BoundPort, StackStartError> {
    let port = reach.bind(server, provider.listen)?;
    provider.url = Some(reach.url_of(&port));
    provider.listen = BEHIND_FRONT;
    Ok(port)
}

/// The mock's error, with the flag that sets its address.
fn error(error: mock_upstream::StartError) -> StackStartError {
    let mock_upstream::StartError::Listen {
        provider,
        address,
        source,
    } = error;
    let server = match provider {
        mock_upstream::Provider::Google => GOOGLE,
        mock_upstream::Provider::GitHub => GITHUB,
    };
    server.taken(address, source)
}
