//! The stack: what is started, in which order, and how it is taken down. What a
//! test does with it is in `handle`.

mod handle;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock};

use contract::Provider;
use mock_upstream::settings::ProviderSettings;
use mock_upstream::{MockUpstream, Settings as MockSettings};
use tokio::sync::Mutex;

use crate::control::{self, Control};
use crate::hosted::{Hosted, silence_rocket};
use crate::place::Place;
use crate::projects::{Credentials, Registry};
use crate::settings::Settings;
use crate::start_error::StartError;
use crate::time::StackClock;
use crate::wire::{Watch, Wire};
use crate::world::{Launch, UPSTREAM_CLIENT, UPSTREAM_SECRET, Urls, World, origin};

/// Everything, running.
pub struct Stack {
    pub(crate) world: Arc<World>,
    consumer: Vec<Hosted>,
    control: Hosted,
}

impl Stack {
    /// Starts everything; when this returns, all of it answers.
    ///
    /// # Errors
    ///
    /// When an address is taken; the error names it and the flag that sets it.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        silence_rocket();
        let clock = settings.clock.clone();
        let place = Place::take("the broker", "broker", settings.broker)?;
        let broker_url = place.url();
        let upstream = start_upstream(&settings, &clock, &broker_url).await?;
        let control = Place::take("the control address", "control", settings.control)?;
        let projects = Registry::default();
        if !settings.callbacks.is_empty() {
            projects.register_for_development("My app", "my-app", settings.callbacks.clone());
        }
        let (demo, consumer, consumer_url) =
            start_consumer(&settings, &clock, &projects, &broker_url).await?;
        let urls = Urls {
            consumer: consumer_url,
            broker: broker_url,
            control: control.url(),
            google: upstream.google().url().to_owned(),
            github: upstream.github().url().to_owned(),
        };
        let watch = Arc::new(Watch::by(clock.clone()));
        let broker = Launch {
            urls: &urls,
            clock: clock.world(),
            projects: &projects,
            watch: &watch,
            upstream_timeout_ms: settings.upstream_timeout_ms,
        };
        let (broker, store) = broker.start().await?;
        let wire = Wire::carry(place.into_listener(), broker.address, watch.clone())?;
        let world = Arc::new(World {
            urls,
            clock,
            projects,
            upstream,
            demo,
            wire,
            watch,
            broker: Mutex::new(Some(broker)),
            store: RwLock::new(store),
            upstream_timeout_ms: settings.upstream_timeout_ms,
        });
        let control = start_control(&settings, &world, control).await?;
        Ok(Self {
            world,
            consumer,
            control,
        })
    }

    /// Lets open requests finish, for a moment, and stops everything.
    pub async fn stop(self) {
        let broker = self.world.broker.lock().await.take();
        let servers: Vec<_> = self
            .consumer
            .into_iter()
            .chain([self.control])
            .chain(broker)
            .collect();
        servers.iter().for_each(Hosted::end);
        for server in servers {
            server.stop().await;
        }
    }
}

async fn start_upstream(
    settings: &Settings,
    clock: &StackClock,
    broker_url: &str,
) -> Result<MockUpstream, StartError> {
    let site = |provider, listen| {
        let callback = broker::upstream::callback_url(broker_url, provider);
        let client = mock_upstream::Client::new(UPSTREAM_CLIENT, UPSTREAM_SECRET, [callback])
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
        clock: clock.for_upstream(),
    };
    MockUpstream::start(mocks).await.map_err(cannot_imitate)
}

/// The mock's error, with the flag that would help.
fn cannot_imitate(error: mock_upstream::StartError) -> StartError {
    let mock_upstream::StartError::Listen {
        provider,
        address,
        source,
    } = error;
    let (what, flag) = match provider {
        mock_upstream::Provider::Google => ("the imitated Google", "google"),
        mock_upstream::Provider::GitHub => ("the imitated GitHub", "github"),
    };
    StartError::Listen {
        what,
        address,
        source,
        flag,
    }
}

/// The demo, its servers, and its URL.
type Consumer = (Arc<consumer_demo::App>, Vec<Hosted>, String);

async fn start_control(
    settings: &Settings,
    world: &Arc<World>,
    place: Place,
) -> Result<Hosted, StartError> {
    let control = Control::new(world.clone(), settings.control_host.clone());
    place
        .serve(|address| Ok(control::rocket(control.clone(), address)))
        .await
}

async fn start_consumer(
    settings: &Settings,
    clock: &StackClock,
    projects: &Registry,
    broker_url: &str,
) -> Result<Consumer, StartError> {
    let (places, port) = consumer_places(settings)?;
    let url = settings.consumer.url(port);
    let demo = consumer_app(clock, projects, broker_url, &url)?;
    let mut servers = Vec::new();
    for place in places {
        let server = place.serve(|address| Ok(demo.rocket(address)?)).await?;
        servers.push(server);
    }
    Ok((demo, servers, url))
}

/// A place at each address of the demo's name, all on one port, and that port.
fn consumer_places(settings: &Settings) -> Result<(Vec<Place>, u16), StartError> {
    let mut places = Vec::new();
    let mut port = settings.consumer.port;
    for ip in settings.consumer.addresses() {
        match Place::take("the demo", "consumer", SocketAddr::new(ip, port)) {
            Ok(place) => {
                port = place.address().port();
                places.push(place);
            }
            // A machine without IPv6 has one address of that name.
            Err(StartError::Listen { source, .. })
                if source.kind() == ErrorKind::AddrNotAvailable && !places.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    Ok((places, port))
}

fn consumer_app(
    clock: &StackClock,
    projects: &Registry,
    broker_url: &str,
    url: &str,
) -> Result<Arc<consumer_demo::App>, StartError> {
    let callback = |path| {
        format!("{url}{path}")
            .parse()
            .expect("an origin and a path")
    };
    let callbacks = vec![callback("/callback"), callback("/legacy/callback")];
    let Credentials {
        client_id,
        client_secret,
        ..
    } = projects.register_for_development("The demo", "demo", callbacks);
    let config =
        consumer_demo::Config::new(origin(broker_url), client_id, client_secret, origin(url));
    Ok(consumer_demo::App::new(config, clock.for_consumer())?)
}
