//! The start of the imitated providers.

use contract::Provider;
use mock_upstream::settings::ProviderSettings;
use mock_upstream::{Clients, Labels, MockUpstream, Settings, Upstream};

use crate::runtime::{BEHIND_FRONT, BoundPort, Reach, UPSTREAM_CLIENT_ID, UPSTREAM_CLIENT_SECRET};
use crate::settings::StackSettings;
use crate::start_error::StackStartError;
use crate::tls::TlsFront;

/// The running providers, and the fronts that clients reach them by, if there is TLS.
pub(crate) struct RunningUpstream {
    pub(crate) mock: MockUpstream,
    pub(super) fronts: Vec<TlsFront>,
}

const GOOGLE: (&str, &str) = ("the imitated Google", "google");
const GITHUB: (&str, &str) = ("the imitated GitHub", "github");

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
pub(super) fn broker_client(broker_url: &str, provider: Provider) -> mock_upstream::Client {
    let callback = broker::upstream::callback_url(broker_url, provider);
    mock_upstream::Client::new(UPSTREAM_CLIENT_ID, UPSTREAM_CLIENT_SECRET, [callback])
        .expect("the broker's callback is a URL")
        .named("Federated Sign-In kit")
}

/// Moves a provider behind the port that is bound for its front.
fn behind_front(
    provider: &mut ProviderSettings,
    reach: &Reach,
    (server, flag): (&'static str, &'static str),
) -> Result<BoundPort, StackStartError> {
    let port = reach.bind(server, flag, provider.listen)?;
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
    let (server, flag) = match provider {
        mock_upstream::Provider::Google => GOOGLE,
        mock_upstream::Provider::GitHub => GITHUB,
    };
    StackStartError::Listen {
        server,
        address,
        source,
        flag,
    }
}
