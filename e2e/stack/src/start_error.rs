//! Why the stack does not start, in one line that says what would help.

use std::io;
use std::net::SocketAddr;

/// Why the stack does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error("{what} cannot listen on {address} ({source}); choose another with --{flag}")]
    Listen {
        /// Who wants to.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
        /// The flag that sets it.
        flag: &'static str,
    },
    /// The wire cannot use its listener.
    #[error("the wire does not start: {0}")]
    Wire(#[from] io::Error),
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
