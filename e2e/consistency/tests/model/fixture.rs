//! A real broker on a real database, by a clock that stands still between the steps.

use std::num::NonZeroU32;
use std::time::Duration;

use broker::clock::Clock;
use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use broker::model::UnixMs;
use broker::store::StoreUrl;
use broker::{Broker, Dependencies};
use consistency::model::{Project, Provider};
use mock_upstream::{MockUpstream, Upstream};
use serde_json::json;
use stack::proxy::Proxy;

use crate::broker_parts::{self as parts, UPSTREAM_SECRET};
use testkit::backend::Backend;
use testkit::browser::UNSERVED;
use testkit::fresh;
use testkit::server::ServerThread;

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
    backends: [Backend; 2],
    config: Config,
    broker: Option<ServerThread>,
    proxy: Proxy,
}

impl Fixture {
    pub(crate) async fn start(database: Database) -> Self {
        let clock = Clock::fixed_at(BEGINNING);
        let (front, base_url) = testkit::server::bind();
        let upstream = {
            let clock = clock.clone();
            parts::upstream(&base_url, mock_upstream::Clock::new(move || clock.now().0)).await
        };
        let backends = ["a", "b"].map(|name| backend(&base_url, name));
        let (google, github) = (upstream.google().url(), upstream.github().url());
        let mut config = parts::config(&base_url, google, github, UPSTREAM_SECRET);
        // The model knows of none.
        config.limits.wrong_secrets_per_minute = NonZeroU32::MAX;
        config.store.url = database.store;
        config.cookie_keys = database.cookie_keys;
        config.projects = backends
            .iter()
            .map(|backend| parts::project(backend, &[&backend.callback, &second_callback()]))
            .collect();
        let broker = launch(&config, &clock).await;
        Self {
            proxy: Proxy::start(front, broker.address, Default::default()).expect("a listener"),
            broker: Some(broker),
            clock,
            upstream,
            histories: 0,
            backends,
            config,
        }
    }

    pub(crate) fn backend(&self, project: Project) -> &Backend {
        match project {
            Project::A => &self.backends[0],
            Project::B => &self.backends[1],
        }
    }

    pub(crate) fn upstream(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Google => self.upstream.google(),
            Provider::GitHub => self.upstream.github(),
        }
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
        let next = launch(&self.config, &self.clock).await;
        self.proxy.retarget(next.address);
        self.broker = Some(next);
    }

    /// The number of codes that were exchanged with a provider in this history.
    pub(crate) fn exchanges(&self) -> usize {
        [self.upstream.google(), self.upstream.github()]
            .into_iter()
            .flat_map(Upstream::journal)
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

/// The callback of both projects: the callback must not be what distinguishes them
/// alone.
pub(crate) fn back() -> String {
    format!("{UNSERVED}/model/back")
}

/// A callback of both, too, to which no login comes home.
pub(crate) fn second_callback() -> String {
    format!("{UNSERVED}/model/second")
}

/// A callback that is not registered.
pub(crate) fn unregistered() -> String {
    format!("{UNSERVED}/model/nobodys")
}

fn backend(base_url: &str, name: &str) -> Backend {
    Backend::of(
        base_url,
        &json!({
            "client_id": format!("project-{name}"),
            "client_secret": fresh::secret(),
            "redirect_uris": [back()],
        }),
    )
}
