//! Brokers on a database file: one whose commits can be held, and one whose tables can be
//! disabled.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use broker::Dependencies;
use broker::clock::Clock;
use broker::config::Config;
use broker::store::StoreUrl;
use broker::store::fail_points::{FailPoint, FailPoints};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::installation::Scratch;
use crate::test_broker::TestBroker;

/// A broker whose commits can be held.
pub(crate) struct HeldStore {
    pub(crate) broker: TestBroker,
    commits: Arc<Mutex<()>>,
    /// A message for each step that is about to be committed.
    steps: Receiver<()>,
    _scratch: Scratch,
}

impl HeldStore {
    /// Starts a broker with a changed configuration.
    pub(crate) async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let commits = Arc::<Mutex<()>>::default();
        let held = commits.clone();
        let (sender, steps) = channel();
        let dependencies = Dependencies {
            fail_points: FailPoints::new(move |point| {
                if point == FailPoint::BeforeCommit {
                    let _ = sender.send(());
                    drop(held.blocking_lock());
                }
            }),
            // Once, at the start: the sweeper commits, too.
            sweep_every: Some(Duration::from_secs(3600)),
            ..Dependencies::default()
        };
        let scratch = Scratch::new();
        let url = StoreUrl::SqliteFile(scratch.file("broker.db"));
        let broker = TestBroker::start_in(dependencies, |config| {
            config.store.url = url;
            change(config);
        });
        Self {
            broker: broker.await,
            commits,
            steps,
            _scratch: scratch,
        }
    }

    /// Holds every commit until the guard is dropped.
    pub(crate) async fn hold(&self) -> OwnedMutexGuard<()> {
        let held = self.commits.clone().lock_owned().await;
        self.steps.try_iter().for_each(drop);
        held
    }

    /// Waits until a step is held.
    pub(crate) fn wait_for_step(&self) {
        self.steps.recv_timeout(Duration::from_secs(20)).unwrap();
    }
}

/// A broker whose tables can be disabled.
pub(crate) struct BrokerWithOutages {
    pub(crate) broker: TestBroker,
    scratch: Scratch,
}

impl BrokerWithOutages {
    pub(crate) async fn start() -> Self {
        Self::start_on(Clock::system(), |_| ()).await
    }

    /// Starts one with this clock and a changed configuration.
    pub(crate) async fn start_on(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let scratch = Scratch::new();
        let url = StoreUrl::SqliteFile(scratch.file("broker.db"));
        let broker = TestBroker::start_on(clock, |config| {
            config.store.url = url;
            change(config);
        })
        .await;
        Self { broker, scratch }
    }

    pub(crate) fn disable(&self, table: &str) {
        self.execute(&format!("ALTER TABLE {table} RENAME TO away"));
    }

    pub(crate) fn enable(&self, table: &str) {
        self.execute(&format!("ALTER TABLE away RENAME TO {table}"));
    }

    /// Locks the database until the connection is dropped.
    pub(crate) fn lock(&self) -> rusqlite::Connection {
        let file = rusqlite::Connection::open(self.scratch.file("broker.db")).unwrap();
        file.execute_batch("BEGIN IMMEDIATE").unwrap();
        file
    }

    fn execute(&self, statement: &str) {
        let file = rusqlite::Connection::open(self.scratch.file("broker.db")).unwrap();
        file.execute_batch(statement).unwrap();
    }
}
