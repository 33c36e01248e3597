//! The reasons why the stack does not start, each as one line that says what helps.

use std::io;
use std::net::SocketAddr;

use mock_upstream::users::PeopleFileError;

/// The reason why the stack does not start.
#[derive(Debug, thiserror::Error)]
pub enum StackStartError {
    /// A server cannot listen on its address.
    #[error("{server} cannot listen on {address} ({source}); choose another with --{flag}")]
    Listen {
        /// The server, as a noun phrase: `the broker`.
        server: &'static str,
        /// The address that it was given.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
        /// The flag that sets the address, without its dashes.
        flag: &'static str,
    },
    /// The people file cannot be used.
    #[error("--people {0}")]
    People(#[from] PeopleFileError),
    /// The proxy cannot use its listener.
    #[error("the proxy does not start: {0}")]
    Proxy(#[from] io::Error),
    /// The broker does not start.
    #[error(transparent)]
    Broker(#[from] broker::StartError),
    /// The broker's server does not start.
    #[error("the broker does not start: {0}")]
    BrokerServer(io::Error),
    /// The demo does not start.
    #[error(transparent)]
    Consumer(#[from] consumer_demo::StartError),
}
