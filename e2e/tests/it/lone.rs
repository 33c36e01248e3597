//! A broker by itself, with providers as they never are in the stack: refusing
//! our credentials, or not there at all.

use std::fmt::Debug;
use std::net::{SocketAddr, TcpListener};
use std::str::FromStr;

use broker::config::{
    Config, GitHubConfig, GoogleConfig, LogConfig, StoreConfig, UpstreamConfig, UpstreamSecret,
};
use broker::projects::Project;
use broker::store::StoreUrl;
use broker::{Broker, Surroundings};
use e2e::wire::Wire;
use mock_upstream::{Client, MockUpstream, Settings};
use rocket::fairing::AdHoc;
use rocket::{Build, Rocket, Shutdown};
use serde_json::json;
use tokio::sync::mpsc;
use url::Url;

use crate::backend::Backend;
use crate::browser::{Browser, NOWHERE};
use crate::login::{Flow, Outcome};
use crate::{fresh, logs};

/// What is wrong with both providers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// They know another secret of ours.
    WrongSecret,
    /// Connections to them are refused.
    NobodyListens,
}

/// A broker, and providers in trouble.
pub(crate) struct Lone {
    backend: Backend,
    shutdown: Shutdown,
    _wire: Wire,
    _upstream: MockUpstream,
}

impl Lone {
    pub(crate) async fn start(trouble: Trouble) -> Self {
        logs::listen();
        let front = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let base_url = format!("http://{}", front.local_addr().expect("an address"));
        let upstream = upstream(&base_url).await;
        let (google, github) = match trouble {
            Trouble::WrongSecret => (upstream.google().url(), upstream.github().url()),
            Trouble::NobodyListens => (NOWHERE, NOWHERE),
        };
        let backend = Backend::of(
            &base_url,
            &json!({
                "client_id": "alone",
                "client_secret": fresh::secret(),
                "redirect_uris": [format!("{NOWHERE}/alone/back")],
            }),
        );
        let config = config(&backend, google, github);
        let broker = Broker::assemble(config, Surroundings::default());
        let (address, shutdown) = launch(broker.expect("a broker").rocket()).await;
        Self {
            backend,
            shutdown,
            _wire: Wire::carry(front, address).expect("a listener"),
            _upstream: upstream,
        }
    }

    /// A whole login by `flow`.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let ticket = flow.start(&self.backend, provider).await;
        let arrival = Browser::new().follow(ticket.url()).await;
        ticket.outcome(&self.backend, &arrival.url).await
    }

    /// A login whose browser cannot get to the provider, and comes back all the
    /// same, with a code that nobody gave it.
    pub(crate) async fn sign_in_with_an_invented_answer(
        &self,
        flow: Flow,
        provider: &str,
    ) -> Outcome {
        let ticket = flow.start(&self.backend, provider).await;
        let browser = Browser::new();
        let departure = browser.open(ticket.url()).await;
        let to_provider = departure.location().expect("the provider");
        let to_provider = Url::parse(to_provider).expect("a URL");
        let (_, state) = to_provider
            .query_pairs()
            .find(|(name, _)| name == "state")
            .expect("a state");
        let answer = format!(
            "{}/callback/{provider}?code=0123456789abcdef0123&state={state}",
            self.backend.broker
        );
        let arrival = browser.follow(&answer).await;
        ticket.outcome(&self.backend, &arrival.url).await
    }
}

impl Drop for Lone {
    fn drop(&mut self) {
        self.shutdown.clone().notify();
    }
}

async fn upstream(base_url: &str) -> MockUpstream {
    let client = |provider| {
        let callback = format!("{base_url}/callback/{provider}");
        Client::new("us", "the right secret", [callback]).expect("a callback")
    };
    MockUpstream::start(Settings::new(client("google"), client("github")))
        .await
        .expect("free ports")
}

fn config(backend: &Backend, google: &str, github: &str) -> Config {
    fn origin<T: FromStr<Err: Debug>>(url: &str) -> T {
        url.parse().expect("an origin")
    }
    let wrong_secret = || UpstreamSecret::new("not the right secret");
    Config {
        base_url: origin(&backend.broker),
        bind: SocketAddr::from(([127, 0, 0, 1], 0)),
        cookie_keys: Vec::new(),
        store: StoreConfig {
            url: StoreUrl::SqliteMemory,
        },
        log: LogConfig::default(),
        upstream: UpstreamConfig {
            google: Some(GoogleConfig {
                client_id: "us".to_owned(),
                client_secret: wrong_secret(),
                enabled: true,
                issuer: origin(google),
            }),
            github: Some(GitHubConfig {
                client_id: "us".to_owned(),
                client_secret: wrong_secret(),
                enabled: true,
                web_url: origin(github),
                api_url: origin(github),
            }),
            ..UpstreamConfig::default()
        },
        projects: vec![project(backend)],
    }
}

fn project(backend: &Backend) -> Project {
    Project {
        name: "Alone".to_owned(),
        client_id: backend.client_id.parse().expect("an id"),
        client_secret_sha256: fresh::challenge(&backend.client_secret)
            .parse()
            .expect("a digest"),
        redirect_uris: vec![backend.callback.parse().expect("a callback")],
    }
}

/// Launches the broker and learns where it listens.
async fn launch(rocket: Rocket<Build>) -> (SocketAddr, Shutdown) {
    let (tell, mut told) = mpsc::unbounded_channel();
    let rocket = rocket
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
    (told.recv().await.expect("it listens"), shutdown)
}
