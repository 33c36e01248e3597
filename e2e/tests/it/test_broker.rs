//! Brokers outside the stack.

pub(crate) mod parts;

use broker::config::Config;
use broker::{Broker, Dependencies};
use testkit::server::ServerThread;

/// Launches a broker in a thread of its own, which ends like a process.
pub(crate) async fn launch_in_thread(config: &Config, dependencies: Dependencies) -> ServerThread {
    stack::silence_rocket();
    let broker = Broker::assemble(config.clone(), dependencies).expect("a broker");
    ServerThread::launch(move || broker.rocket()).await
}
