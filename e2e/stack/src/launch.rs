//! The start of one stack. Every port is bound first, so that each server knows the
//! addresses of the others; then the servers start, in the order of their calls.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock, Weak};
use std::time::Duration;

use mock_upstream::Labels;
use rocket::{Build, Rocket};
use tokio::sync::{Mutex, watch};

use crate::control;
use crate::demo_panel::DemoPanel;
use crate::imitations::broker_client;
use crate::projects::{ProjectCredentials, ProjectRegistry};
use crate::proxy::{Proxy, ProxyState};
use crate::runtime::{
    BoundPort, BrokerSetup, OwnSandbox, Reach, RunningUpstream, SandboxDirectory, ServerHandle,
    ServerName, ServerUrls, StackRuntime, Stopping, own_origin, silence_rocket,
};
use crate::settings::{StackSettings, StackStartError};
use crate::tls::StackTls;

const BROKER: ServerName = ServerName("the broker", "broker");
const DEMO: ServerName = ServerName("the demo", "consumer");

/// Everything that one stack starts with.
pub(crate) struct Launch<'a> {
    pub(crate) settings: &'a StackSettings,
    /// The projects that are registered already.
    pub(crate) projects: ProjectRegistry,
    /// The TLS of every server; `None` for plain HTTP.
    pub(crate) tls: Option<Arc<StackTls>>,
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
        let reach = self.reach();
        let broker_port = reach.bind(BROKER, settings.broker)?;
        let proxy_state = Arc::new(ProxyState::new(settings.clock.clone()));
        let upstream = self
            .start_upstream(&reach, &reach.url_of(&broker_port), &proxy_state)
            .await?;
        let control_port = reach.bind(control::NAME, settings.control())?;
        let control = reach.url_of(&control_port);
        let demo = match self.has_demo {
            true => Some(
                self.start_demo(&reach, &broker_port, &control, &proxy_state)
                    .await?,
            ),
            false => None,
        };
        if let Some(demo) = &demo {
            upstream.mock.set_app_url(&demo.url);
        }
        let urls = ServerUrls {
            control,
            broker: reach.url_of(&broker_port),
            consumer: demo.as_ref().map(|demo| demo.url.clone()),
            upstreams: upstream.urls(),
        };
        let (demo, servers) = demo.map(|demo| (demo.app, demo.servers)).unzip();
        let mut servers: Vec<_> = servers.unwrap_or_default();
        let extend_control = self.extend_control;
        let runtime = self.start_broker(reach, broker_port, urls, proxy_state, upstream, demo);
        let runtime = Arc::new(runtime.await?);
        let build = |address| {
            let host = settings.control_host.clone();
            Ok(extend_control(control::rocket(
                runtime.clone(),
                host,
                address,
            )))
        };
        servers.push(runtime.reach.serve(control_port, build).await?);
        Ok(RunningStack { runtime, servers })
    }

    fn reach(&self) -> Reach {
        Reach {
            tls: self.tls.clone(),
            host: self.settings.host.clone(),
            stopping: match self.own_sandbox {
                Some(_) => Stopping::AtOnce,
                None => Stopping::Graceful,
            },
        }
    }

    /// Starts the imitated providers, whose only client is the broker. They label each sign-in
    /// with the `client_id` of its project: a provider sees only the broker's `state`, and the
    /// proxy has learnt whose it is when the broker issued it.
    async fn start_upstream(
        &self,
        reach: &Reach,
        broker_url: &str,
        proxy_state: &Arc<ProxyState>,
    ) -> Result<RunningUpstream, StackStartError> {
        let proxy_state = proxy_state.clone();
        let labels = Labels::new(move |state| {
            let owner = proxy_state.event_log.secrets().owner_of(state)?;
            owner.project.map(|project| project.to_string())
        });
        let clients = |provider| broker_client(broker_url, provider).into();
        RunningUpstream::start(self.settings, reach, clients, labels).await
    }

    /// Starts the broker, and the proxy at its port.
    async fn start_broker(
        self,
        reach: Reach,
        port: BoundPort,
        urls: ServerUrls,
        proxy_state: Arc<ProxyState>,
        upstream: RunningUpstream,
        demo: Option<Arc<consumer_demo::App>>,
    ) -> Result<StackRuntime, StackStartError> {
        let settings = self.settings;
        let (listener, front) = reach.listener(port)?;
        let broker_setup = BrokerSetup::new(
            &urls,
            reach.clone(),
            &self.projects,
            proxy_state.clone(),
            settings.upstream_timeout_ms,
        );
        let state = broker_setup.fresh_state()?;
        let broker = broker_setup.start(&state, settings.clock.current()).await?;
        Ok(StackRuntime {
            proxy: Proxy::start(listener, broker.address, proxy_state.clone())?,
            urls,
            reach,
            clock: settings.clock.clone(),
            projects: self.projects,
            upstream,
            demo,
            proxy_state,
            broker_setup,
            broker: Mutex::new(Some(broker)),
            broker_state: RwLock::new(state),
            practice: RwLock::default(),
            lesson_steps: Default::default(),
            sandboxes: self.directory,
            own_sandbox: self.own_sandbox,
            changes: watch::Sender::new(0),
            _front: front,
        })
    }

    /// Starts the demo, a client of the broker at this port, with links to `control` on its
    /// pages.
    async fn start_demo(
        &self,
        reach: &Reach,
        broker: &BoundPort,
        control: &str,
        proxy_state: &Arc<ProxyState>,
    ) -> Result<RunningDemo, StackStartError> {
        let settings = self.settings;
        let (ports, port) = demo_ports(settings, reach)?;
        let url = reach.url(&settings.consumer.url_host(), port);
        let (app, client_id) = self.demo_app(reach, broker, &url)?;
        let panel = DemoPanel::new(proxy_state.clone(), control.to_owned(), client_id, &url);
        let mut servers = Vec::new();
        for port in ports {
            let build = |address| Ok(panel.attach(app.rocket(address)?));
            servers.push(reach.serve(port, build).await?);
        }
        Ok(RunningDemo { app, servers, url })
    }

    /// The demo at `url`, and the id of its project.
    fn demo_app(
        &self,
        reach: &Reach,
        broker: &BoundPort,
        url: &str,
    ) -> Result<(Arc<consumer_demo::App>, String), StackStartError> {
        let callback = |path| {
            let callback = format!("{url}{path}").parse();
            callback.expect("an origin and a path")
        };
        let callbacks = vec![callback("/callback"), callback("/legacy/callback")];
        let reached_from = self.settings.reached_from();
        let ProjectCredentials {
            client_id,
            client_secret,
            ..
        } = (self.projects).register_for_development("The demo", "demo", callbacks, reached_from);
        let shown_id = client_id.to_string();
        let config = consumer_demo::Config {
            authorization_origin: own_origin(&reach.url_of(broker)),
            broker_ca: reach.tls.as_ref().map(|tls| tls.ca_pem().to_owned()),
            ..consumer_demo::Config::new(
                own_origin(&reach.url_from_here(broker)),
                client_id,
                client_secret,
                own_origin(url),
            )
        };
        let app = consumer_demo::App::new(config, self.settings.clock.for_consumer())?;
        Ok((app, shown_id))
    }
}

impl RunningStack {
    /// Stops everything; open requests get a moment to finish.
    pub(crate) async fn stop(self) {
        let Self { runtime, servers } = self;
        let broker = runtime.broker.lock().await.take();
        let servers: Vec<_> = servers.into_iter().chain(broker).collect();
        servers.iter().for_each(ServerHandle::request_shutdown);
        for server in servers {
            server.stop().await;
        }
        let ending = Arc::downgrade(&runtime);
        drop(runtime);
        wait_for_end_of(&ending).await;
    }
}

/// Waits until the last request lets go of the runtime, for a second at most: the proxy
/// and the imitated providers end with it.
#[expect(
    clippy::disallowed_methods,
    reason = "connections close in real time, in tasks of Rocket's"
)]
async fn wait_for_end_of(runtime: &Weak<StackRuntime>) {
    for _ in 0..200 {
        if runtime.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The running demo.
struct RunningDemo {
    app: Arc<consumer_demo::App>,
    /// One for each address of its host name.
    servers: Vec<ServerHandle>,
    url: String,
}

/// The attempts to find a number that is free on every address of the demo's host.
const DEMO_PORT_ATTEMPTS: usize = 100;

/// A listener on each address of the demo's host, all with one port number, and that
/// number.
fn demo_ports(
    settings: &StackSettings,
    reach: &Reach,
) -> Result<(Vec<BoundPort>, u16), StackStartError> {
    let mut attempts = 1..DEMO_PORT_ATTEMPTS;
    loop {
        match bind_demo(settings, reach) {
            // A number that is free on one address may be taken on the other.
            Err(StackStartError::Listen { source, .. })
                if source.kind() == ErrorKind::AddrInUse
                    && settings.consumer.port == 0
                    && attempts.next().is_some() => {}
            bound => return bound,
        }
    }
}

fn bind_demo(
    settings: &StackSettings,
    reach: &Reach,
) -> Result<(Vec<BoundPort>, u16), StackStartError> {
    let mut bound = Vec::new();
    let mut port = settings.consumer.port;
    for ip in settings.consumer.addresses() {
        match reach.bind(DEMO, SocketAddr::new(ip, port)) {
            Ok(first) => {
                port = first.address().port();
                bound.push(first);
            }
            // On a machine without IPv6 `localhost` has one address.
            Err(StackStartError::Listen { source, .. })
                if source.kind() == ErrorKind::AddrNotAvailable && !bound.is_empty() => {}
            Err(error) => return Err(error),
        }
        if reach.host.is_some() {
            break;
        }
    }
    Ok((bound, port))
}
