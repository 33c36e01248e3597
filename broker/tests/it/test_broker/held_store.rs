//! A broker on a file, whose commits can be held.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use broker::Dependencies;
use broker::config::Config;
use broker::store::StoreUrl;
use broker::store::fail_points::{FailPoint, FailPoints};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::TestBroker;
use crate::scratch::Scratch;

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
