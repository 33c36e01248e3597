//! A broker that can be ended from one moment to the next, like a process: it
//! has a thread and a runtime of its own, and nothing of it outlives them.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use broker::config::Config;
use broker::{Broker, Dependencies};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tracing::subscriber::with_default;

use crate::assembly::Running;

/// A broker, until this is dropped.
pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts a broker in these dependencies and waits until it listens.
    pub(crate) async fn start(config: &Config, dependencies: Dependencies) -> Self {
        let config = config.clone();
        let (tell, told) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            quietly(|| runtime().block_on(serve(config, dependencies, tell, ended)));
        });
        Self {
            address: told.await.expect("it listens"),
            end: Some(end),
            thread: Some(thread),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends in peace");
        }
    }
}

async fn serve(
    config: Config,
    dependencies: Dependencies,
    tell: oneshot::Sender<SocketAddr>,
    ended: oneshot::Receiver<()>,
) {
    let broker = Broker::assemble(config, dependencies).expect("a broker");
    let running = Running::launch(broker).await;
    tell.send(running.address).expect("somebody waits for it");
    let _ = ended.await;
}

/// A runtime that lives in one thread.
pub(crate) fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Does `what` with a log that is watched and not kept: there would be very much of
/// it, and other tests of this process read theirs.
pub(crate) fn quietly<T>(what: impl FnOnce() -> T) -> T {
    with_default(testkit::leak_check::watcher(|_| ()), what)
}
