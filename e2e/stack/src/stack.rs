//! The stack: the order in which its parts start and stop. The methods for tests are in
//! `handle`.

mod handle;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use contract::Provider;
use mock_upstream::settings::ProviderSettings;
use mock_upstream::{MockUpstream, Settings as MockSettings};

use crate::control::{self, ControlServer};
use crate::projects::{ProjectCredentials, ProjectRegistry};
use crate::runtime::{
    BoundPort, ServerHandle, StackRuntime, StackUrls, UPSTREAM_CLIENT_ID, UPSTREAM_CLIENT_SECRET,
    loopback_origin, silence_rocket,
};
use crate::settings::StackSettings;
use crate::start_error::StackStartError;
use crate::time::StackClock;

/// A running stack.
pub struct Stack {
    pub(crate) runtime: Arc<StackRuntime>,
    consumer: Vec<ServerHandle>,
    control: ServerHandle,
}

impl Stack {
    /// Starts everything; when this returns, every server answers.
    ///
    /// # Errors
    ///
    /// If an address is taken; the error names it and the flag that sets it.
    pub async fn start(settings: StackSettings) -> Result<Self, StackStartError> {
        silence_rocket();
        let broker_port = BoundPort::bind("the broker", "broker", settings.broker)?;
        let broker_url = broker_port.url();
        let upstream = start_upstream(&settings, &broker_url).await?;
        let control_port = BoundPort::bind("the control address", "control", settings.control)?;
        let projects = ProjectRegistry::default();
        if !settings.callbacks.is_empty() {
            projects.register_for_development("My app", "my-app", settings.callbacks.clone());
        }
        let consumer = start_consumer(&settings, &projects, &broker_url).await?;
        let urls = StackUrls {
            consumer: consumer.url,
            broker: broker_url,
            control: control_port.url(),
            google: upstream.google().url().to_owned(),
            github: upstream.github().url().to_owned(),
        };
        let listener = broker_port.into_listener();
        let runtime =
            StackRuntime::start(listener, &settings, urls, projects, upstream, consumer.app)
                .await?;
        let runtime = Arc::new(runtime);
        let control = ControlServer::new(runtime.clone(), settings.control_host);
        let control = control_port
            .serve(|address| Ok(control::rocket(control.clone(), address)))
            .await?;
        Ok(Self {
            runtime,
            consumer: consumer.servers,
            control,
        })
    }

    /// Stops everything; open requests get a moment to finish.
    pub async fn stop(self) {
        let broker = self.runtime.broker.lock().await.take();
        let servers: Vec<_> = self
            .consumer
            .into_iter()
            .chain([self.control])
            .chain(broker)
            .collect();
        servers.iter().for_each(ServerHandle::request_shutdown);
        for server in servers {
            server.stop().await;
        }
    }
}

async fn start_upstream(
    settings: &StackSettings,
    broker_url: &str,
) -> Result<MockUpstream, StackStartError> {
    let site = |provider, listen| {
        let callback = broker::upstream::callback_url(broker_url, provider);
        let client =
            mock_upstream::Client::new(UPSTREAM_CLIENT_ID, UPSTREAM_CLIENT_SECRET, [callback])
                .expect("the broker's callback is a URL");
        ProviderSettings {
            listen,
            mode: settings.mode(),
            ..ProviderSettings::new(client)
        }
    };
    let mocks = MockSettings {
        google: site(Provider::Google, settings.google),
        github: site(Provider::GitHub, settings.github),
        clock: settings.clock.for_upstream(),
    };
    MockUpstream::start(mocks).await.map_err(upstream_error)
}

/// The mock's error, with the flag that sets its address.
fn upstream_error(error: mock_upstream::StartError) -> StackStartError {
    let mock_upstream::StartError::Listen {
        provider,
        address,
        source,
    } = error;
    let (server, flag) = match provider {
        mock_upstream::Provider::Google => ("the imitated Google", "google"),
        mock_upstream::Provider::GitHub => ("the imitated GitHub", "github"),
    };
    StackStartError::Listen {
        server,
        address,
        source,
        flag,
    }
}

/// The running demo.
struct RunningConsumer {
    app: Arc<consumer_demo::App>,
    /// One for each address of its host name.
    servers: Vec<ServerHandle>,
    url: String,
}

async fn start_consumer(
    settings: &StackSettings,
    projects: &ProjectRegistry,
    broker_url: &str,
) -> Result<RunningConsumer, StackStartError> {
    let (ports, port) = consumer_ports(settings)?;
    let url = settings.consumer.url(port);
    let app = consumer_app(&settings.clock, projects, broker_url, &url)?;
    let mut servers = Vec::new();
    for port in ports {
        servers.push(port.serve(|address| Ok(app.rocket(address)?)).await?);
    }
    Ok(RunningConsumer { app, servers, url })
}

/// A listener on each address of the demo's host, all with one port number, and that
/// number.
fn consumer_ports(settings: &StackSettings) -> Result<(Vec<BoundPort>, u16), StackStartError> {
    let mut bound = Vec::new();
    let mut port = settings.consumer.port;
    for ip in settings.consumer.addresses() {
        match BoundPort::bind("the demo", "consumer", SocketAddr::new(ip, port)) {
            Ok(first) => {
                port = first.address().port();
                bound.push(first);
            }
            // On a machine without IPv6 `localhost` has one address.
            Err(StackStartError::Listen { source, .. })
                if source.kind() == ErrorKind::AddrNotAvailable && !bound.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    Ok((bound, port))
}

fn consumer_app(
    clock: &StackClock,
    projects: &ProjectRegistry,
    broker_url: &str,
    url: &str,
) -> Result<Arc<consumer_demo::App>, StackStartError> {
    let callback = |path| {
        format!("{url}{path}")
            .parse()
            .expect("an origin and a path")
    };
    let callbacks = vec![callback("/callback"), callback("/legacy/callback")];
    let ProjectCredentials {
        client_id,
        client_secret,
        ..
    } = projects.register_for_development("The demo", "demo", callbacks);
    let config = consumer_demo::Config::new(
        loopback_origin(broker_url),
        client_id,
        client_secret,
        loopback_origin(url),
    );
    Ok(consumer_demo::App::new(config, clock.for_consumer())?)
}
