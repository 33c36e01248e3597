//! The start of one stack. Every port is bound first, so that each server knows the
//! addresses of the others; then the servers start, in the order of their calls.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use contract::Provider;
use mock_upstream::settings::ProviderSettings;
use mock_upstream::{Labels, MockUpstream, Settings as MockSettings};
use rocket::{Build, Rocket};

use crate::control::{self, ControlServer};
use crate::projects::{ProjectCredentials, ProjectRegistry};
use crate::proxy::ProxyState;
use crate::runtime::{
    BoundPort, RuntimeParts, ServerHandle, ServerUrls, StackRuntime, Stopping, UPSTREAM_CLIENT_ID,
    UPSTREAM_CLIENT_SECRET, loopback_origin, silence_rocket,
};
use crate::sandbox_directory::{OwnSandbox, SandboxDirectory};
use crate::settings::StackSettings;
use crate::start_error::StackStartError;
use crate::time::StackClock;

/// Everything that one stack starts with.
pub(crate) struct Launch<'a> {
    pub(crate) settings: &'a StackSettings,
    /// The projects that are registered already.
    pub(crate) projects: ProjectRegistry,
    /// Whether the demo is part of the stack.
    pub(crate) has_demo: bool,
    /// The sandboxes of the process.
    pub(crate) directory: Arc<SandboxDirectory>,
    /// `None` unless this is a sandbox itself.
    pub(crate) own_sandbox: Option<OwnSandbox>,
    /// The addition to the server of the control address: more routes, or a fairing.
    pub(crate) extend_control: &'a (dyn Fn(Rocket<Build>) -> Rocket<Build> + Send + Sync),
}

/// A stack whose servers answer. Dropping it stops them.
pub(crate) struct RunningStack {
    pub(crate) runtime: Arc<StackRuntime>,
    /// The servers of the demo and of the control address.
    servers: Vec<ServerHandle>,
}

impl Launch<'_> {
    /// Starts everything; when this returns, every server answers.
    pub(crate) async fn start(self) -> Result<RunningStack, StackStartError> {
        silence_rocket();
        let settings = self.settings;
        let stopping = match self.own_sandbox {
            Some(_) => Stopping::AtOnce,
            None => Stopping::Graceful,
        };
        let broker_port = BoundPort::bind("the broker", "broker", settings.broker)?;
        let broker_url = broker_port.url();
        let proxy_state = Arc::new(ProxyState::new(settings.clock.clone()));
        let labels = project_labels(proxy_state.clone());
        let upstream = start_upstream(settings, &broker_url, labels).await?;
        let control_port = BoundPort::bind("the control address", "control", settings.control)?;
        let demo = match self.has_demo {
            true => Some(start_demo(settings, stopping, &self.projects, &broker_url).await?),
            false => None,
        };
        let urls = ServerUrls {
            consumer: demo.as_ref().map(|demo| demo.url.clone()),
            broker: broker_url,
            control: control_port.url(),
            google: upstream.google().url().to_owned(),
            github: upstream.github().url().to_owned(),
        };
        let (demo, servers) = demo.map(|demo| (demo.app, demo.servers)).unzip();
        let mut servers: Vec<_> = servers.unwrap_or_default();
        let parts = RuntimeParts {
            urls,
            clock: settings.clock.clone(),
            projects: self.projects,
            upstream,
            demo,
            proxy_state,
            upstream_timeout_ms: settings.upstream_timeout_ms,
            stopping,
            sandboxes: self.directory,
            own_sandbox: self.own_sandbox,
        };
        let runtime = StackRuntime::start(broker_port.into_listener(), parts).await?;
        let runtime = Arc::new(runtime);
        let control = ControlServer::new(runtime.clone(), settings.control_host.clone());
        let control = control_port
            .serve(stopping, |address| {
                let server = control::rocket(control.clone(), address);
                Ok((self.extend_control)(server))
            })
            .await?;
        servers.push(control);
        Ok(RunningStack { runtime, servers })
    }
}

impl RunningStack {
    /// Stops everything; open requests get a moment to finish.
    pub(crate) async fn stop(self) {
        let broker = self.runtime.broker.lock().await.take();
        let servers: Vec<_> = self.servers.into_iter().chain(broker).collect();
        servers.iter().for_each(ServerHandle::request_shutdown);
        for server in servers {
            server.stop().await;
        }
    }
}

async fn start_upstream(
    settings: &StackSettings,
    broker_url: &str,
    labels: Labels,
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
        users: settings.users.clone(),
        labels,
    };
    MockUpstream::start(mocks).await.map_err(upstream_error)
}

/// Labels each sign-in with the `client_id` of its project. The provider sees only the
/// broker's `state`; the proxy has learnt whose it is when the broker issued it.
fn project_labels(proxy_state: Arc<ProxyState>) -> Labels {
    Labels::new(move |state| {
        let owner = proxy_state.event_log.secrets().owner_of(state)?;
        owner.project.map(|project| project.to_string())
    })
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
struct RunningDemo {
    app: Arc<consumer_demo::App>,
    /// One for each address of its host name.
    servers: Vec<ServerHandle>,
    url: String,
}

async fn start_demo(
    settings: &StackSettings,
    stopping: Stopping,
    projects: &ProjectRegistry,
    broker_url: &str,
) -> Result<RunningDemo, StackStartError> {
    let (ports, port) = demo_ports(settings)?;
    let url = settings.consumer.url(port);
    let app = demo_app(&settings.clock, projects, broker_url, &url)?;
    let mut servers = Vec::new();
    for port in ports {
        let server = port.serve(stopping, |address| Ok(app.rocket(address)?));
        servers.push(server.await?);
    }
    Ok(RunningDemo { app, servers, url })
}

/// A listener on each address of the demo's host, all with one port number, and that
/// number.
fn demo_ports(settings: &StackSettings) -> Result<(Vec<BoundPort>, u16), StackStartError> {
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

fn demo_app(
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
