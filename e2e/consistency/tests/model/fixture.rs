//! A real broker on a real database, by a clock that stands still between the steps.

use std::num::NonZeroU32;
use std::time::Duration;

use broker::clock::Clock;
use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use broker::model::UnixMs;
use broker::store::StoreUrl;
use broker::{Broker, Dependencies};
use consistency::client::{BASE_URL, CALLBACK, Client, Request, Response, SECOND_CALLBACK};
use consistency::model::Provider;
use mock_upstream::{MockUpstream, Upstream};
use testkit::backend::Backend;
use testkit::server::ServerThread;
use testkit::{fresh, leak_check};

use crate::broker_parts::{self as parts, UPSTREAM_SECRET};

/// Some day in November 2026.
const BEGINNING: UnixMs = UnixMs(1_794_000_000_000);

/// A broker's database.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) store: StoreUrl,
    /// Beside a file the broker keeps its cookie key itself.
    pub(crate) cookie_keys: Vec<CookieKey>,
}

/// The broker, its providers and its consumers. Histories are played to it one after the
/// other, each with fresh secrets: they share tables and no row.
pub(crate) struct Fixture {
    clock: Clock,
    upstream: MockUpstream,
    /// The number of histories that have begun.
    pub(crate) histories: u32,
    pub(crate) backends: Vec<Backend>,
    config: Config,
    broker: Option<ServerThread>,
    client: Client,
}

impl Fixture {
    pub(crate) async fn start(database: Database) -> Self {
        let clock = Clock::fixed_at(BEGINNING);
        let upstream = {
            let clock = clock.clone();
            parts::upstream(BASE_URL, mock_upstream::Clock::new(move || clock.now().0)).await
        };
        // The callback must not be what distinguishes them alone.
        let backend = |id| Backend::new(BASE_URL, id, &fresh::secret(), CALLBACK);
        let backends: Vec<_> = ["project-a", "project-b"].map(backend).into();
        let (google, github) = (upstream.google().url(), upstream.github().url());
        let mut config = parts::config(BASE_URL, google, github, UPSTREAM_SECRET);
        // The model knows of none.
        config.limits.wrong_secrets_per_minute = NonZeroU32::MAX;
        config.store.url = database.store;
        config.cookie_keys = database.cookie_keys;
        config.projects = backends
            .iter()
            .map(|backend| parts::project(backend, &[CALLBACK, SECOND_CALLBACK]))
            .collect();
        Self {
            broker: Some(launch(&config, &clock).await),
            client: Client::new().expect("a client"),
            clock,
            upstream,
            histories: 0,
            backends,
            config,
        }
    }

    /// Sends a request, and checks the response as every suite does.
    pub(crate) async fn send(&self, request: &Request) -> Response {
        let broker = self.broker.as_ref().expect("it runs").address;
        let response = self.client.send(&format!("http://{broker}"), request).await;
        let response = response.expect("a complete response");
        assert_eq!(response.contract_violation(), None, "{response:?}");
        let leak = leak_check::in_response(&response.as_tested());
        assert!(leak.is_none(), "{leak:?} in {response:?}");
        response
    }

    pub(crate) fn upstream(&self, provider: Provider) -> &Upstream {
        self.upstream.provider(provider.into())
    }

    /// Nothing that the providers remember reaches into the next history.
    pub(crate) fn begin_history(&mut self) {
        self.histories += 1;
        self.upstream.reset();
    }

    /// Moves the clock of all.
    pub(crate) fn wait(&self, ms: i64) {
        let ms = u64::try_from(ms).expect("time goes on");
        self.clock.advance(Duration::from_millis(ms));
    }

    /// Ends the broker at once, and starts another on the same database.
    pub(crate) async fn restart(&mut self) {
        drop(self.broker.take());
        self.broker = Some(launch(&self.config, &self.clock).await);
    }

    /// The number of codes that were exchanged with a provider in this history.
    pub(crate) fn exchanges(&self) -> usize {
        let journals = Provider::ALL.map(|provider| self.upstream(provider).journal());
        let entries = journals.iter().flatten();
        entries
            .filter(|entry| entry.method == "POST" && entry.path.contains("token"))
            .count()
    }
}

/// Launches a broker in a thread of its own, which ends like a process.
async fn launch(config: &Config, clock: &Clock) -> ServerThread {
    stack::silence_rocket();
    let dependencies = Dependencies {
        clock: clock.clone(),
        ..Dependencies::default()
    };
    let broker = Broker::assemble(config.clone(), dependencies).expect("a broker");
    ServerThread::launch(move || broker.rocket()).await
}
