//! The reasons why the stack does not start, each as one line that says what helps.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// A listener cannot be used.
    #[error("a listener cannot be used: {0}")]
    Listener(#[from] io::Error),
    /// A host name without TLS.
    #[error(
        "--host needs --https: only this machine may be reached by plain http, over which \
         passwords, cookies and codes would cross the network in the clear"
    )]
    HostWithoutHttps,
    /// The certificate of the authority cannot be written.
    #[error(
        "cannot write the certificate authority to {} ({source}); choose another file with --ca-file",
        path.as_ref().map_or_else(|| "a temporary folder".to_owned(), |path| path.display().to_string())
    )]
    CaFile {
        /// The file, unless it would be temporary.
        path: Option<PathBuf>,
        /// The operating system's error.
        source: io::Error,
    },
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
