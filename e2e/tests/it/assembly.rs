//! A broker assembled by hand, outside the stack: with providers, a store and a
//! clock of a test's choosing.

use std::fmt::Debug;
use std::net::{SocketAddr, TcpListener};
use std::str::FromStr;

use broker::Broker;
use broker::config::{Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret};
use broker::projects::Project;
use mock_upstream::{Client, Clock, MockUpstream, Settings};
use rocket::Shutdown;
use rocket::fairing::AdHoc;
use tokio::sync::mpsc;

use testkit::backend::Backend;
use testkit::fresh;

/// Our name at the providers.
const UPSTREAM_CLIENT: &str = "us";

/// Our secret there, as the providers know it.
pub(crate) const UPSTREAM_SECRET: &str = "the right secret";

/// A free port on this machine, and the address of whoever listens there.
pub(crate) fn front() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, format!("http://{address}"))
}

/// The providers, which know the broker at `base_url`.
pub(crate) async fn upstream(base_url: &str, clock: Clock) -> MockUpstream {
    upstream_with(base_url, clock, |_| ()).await
}

/// The same, with other settings.
pub(crate) async fn upstream_with(
    base_url: &str,
    clock: Clock,
    change: impl FnOnce(&mut Settings),
) -> MockUpstream {
    let client = |provider| {
        let callback = format!("{base_url}/callback/{provider}");
        Client::new(UPSTREAM_CLIENT, UPSTREAM_SECRET, [callback]).expect("a callback")
    };
    let mut settings = Settings {
        clock,
        ..Settings::new(client("google"), client("github"))
    };
    change(&mut settings);
    MockUpstream::start(settings).await.expect("free ports")
}

/// The settings of a broker in memory whose providers are at `google` and
/// `github`, where it calls itself by `secret`.
pub(crate) fn config(base_url: &str, google: &str, github: &str, secret: &str) -> Config {
    Config {
        upstream: UpstreamConfig {
            google: Some(GoogleConfig {
                client_id: UPSTREAM_CLIENT.to_owned(),
                client_secret: UpstreamSecret::new(secret),
                enabled: true,
                issuer: parsed(google),
            }),
            github: Some(GitHubConfig {
                client_id: UPSTREAM_CLIENT.to_owned(),
                client_secret: UpstreamSecret::new(secret),
                enabled: true,
                web_url: parsed(github),
                api_url: parsed(github),
            }),
            ..UpstreamConfig::default()
        },
        ..Config::within_a_program(parsed(base_url))
    }
}

/// The project whose backend `backend` is, with `callbacks` registered.
pub(crate) fn project(backend: &Backend, callbacks: &[&str]) -> Project {
    Project::new(
        parsed(&backend.client_id),
        parsed(&backend.client_id),
        parsed(&fresh::challenge(&backend.client_secret)),
        callbacks.iter().copied().map(parsed).collect(),
    )
}

fn parsed<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("it is written well")
}

/// A broker that listens, until this is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    shutdown: Shutdown,
}

impl Running {
    /// Launches `broker` and learns where it listens.
    pub(crate) async fn launch(broker: Broker) -> Self {
        stack::silence_rocket();
        let (tell, mut told) = mpsc::unbounded_channel();
        let rocket = broker
            .rocket()
            .attach(AdHoc::on_liftoff("address", move |rocket| {
                let address = SocketAddr::new(rocket.config().address, rocket.config().port);
                let _ = tell.send(address);
                Box::pin(async {})
            }))
            .ignite()
            .await
            .expect("a broker that can start");
        let shutdown = rocket.shutdown();
        tokio::spawn(rocket.launch());
        Self {
            address: told.recv().await.expect("it listens"),
            shutdown,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.clone().notify();
    }
}
