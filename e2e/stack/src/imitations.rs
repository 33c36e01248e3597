//! The imitated providers: a part of every stack, or alone, for apps that use Google and GitHub
//! themselves, without the broker and the demo.
//!
//! Alone they have a control address only if the program is given one. It has the calls that are
//! about the providers and the clock, by the handlers of the stack's; the others are about the
//! broker: logins, faults, projects, sandboxes. A test in Rust has the handles.

use std::path::Path;
use std::sync::Arc;

use contract::Provider;
use mock_upstream::settings::ProviderSettings;
use mock_upstream::{Clients, Labels, MockUpstream, Settings, Upstream};

use crate::runtime::{
    BEHIND_FRONT, BoundPort, Reach, RunningUpstream, ServerName, Stopping, UPSTREAM_CLIENT_ID,
    UPSTREAM_CLIENT_SECRET,
};
use crate::settings::{StackSettings, StackStartError};
use crate::tls::SharedAuthority;

/// The running providers. Dropping it stops them.
pub struct Imitations {
    pub(crate) upstream: Arc<RunningUpstream>,
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
        let labels = Labels::client_ids();
        let upstream = RunningUpstream::start(settings, &reach, clients, labels).await?;
        let upstream = Arc::new(upstream);
        Ok(Self { upstream })
    }

    /// The handles of the providers.
    pub fn upstream(&self) -> &MockUpstream {
        &self.upstream.mock
    }

    /// The certificate authority that clients must trust, if there is TLS.
    pub fn ca_file(&self) -> Option<&Path> {
        self.upstream.reach.ca_file()
    }
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
        let running = |mock, fronts| Self {
            mock,
            clock: settings.clock.clone(),
            reach: reach.clone(),
            _fronts: fronts,
        };
        if reach.tls.is_none() {
            let mock = MockUpstream::start(mocks).await.map_err(error)?;
            return Ok(running(mock, Vec::new()));
        }
        let google = behind_front(&mut mocks.google, reach, GOOGLE)?;
        let github = behind_front(&mut mocks.github, reach, GITHUB)?;
        let mock = MockUpstream::start(mocks).await.map_err(error)?;
        let front = |port, upstream: &Upstream| reach.front(port, upstream.address());
        let fronts = [front(google, mock.google())?, front(github, mock.github())?];
        Ok(running(mock, fronts.into_iter().flatten().collect()))
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
