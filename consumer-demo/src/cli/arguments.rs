//! The command line: flags, environment, and the error that ends the program.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use contract::{ClientId, ClientSecret, Origin};

use crate::{Config, StartError};

/// The one setting that has no flag.
const SECRET_VARIABLE: &str = "SIGNIN_CLIENT_SECRET";

/// The reference consumer of the Federated Sign-In Service: signs users in
/// through a broker, by the clean callback flow and by the legacy one.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Environment only:
  SIGNIN_CLIENT_SECRET  the project's client secret. It has no flag, because
                        flags show in the list of processes.

Register both callbacks with the broker:
  {CONSUMER_BASE_URL}/callback
  {CONSUMER_BASE_URL}/legacy/callback"
)]
pub struct Arguments {
    /// Base address of the broker: HTTPS, or HTTP on this machine.
    #[arg(
        long,
        env = "SIGNIN_BASE_URL",
        value_name = "ORIGIN",
        default_value = "http://127.0.0.1:8000"
    )]
    signin_base_url: Origin,

    /// The project's identifier at the broker.
    #[arg(long, env = "SIGNIN_CLIENT_ID", value_name = "ID")]
    client_id: ClientId,

    /// The origin at which users reach this application.
    #[arg(
        long,
        env = "CONSUMER_BASE_URL",
        value_name = "ORIGIN",
        default_value = "http://localhost:3000"
    )]
    consumer_base_url: Origin,

    /// The origin at which browsers reach the broker; an authorization_url of any
    /// other is refused. [default: that of --signin-base-url]
    #[arg(long, env = "SIGNIN_AUTHORIZATION_ORIGIN", value_name = "ORIGIN")]
    authorization_origin: Option<Origin>,

    /// A PEM file with certificate authorities that are trusted for the broker besides
    /// the system's.
    #[arg(long, env = "SIGNIN_CA_FILE", value_name = "FILE")]
    broker_ca: Option<PathBuf>,

    /// Wait this long for an answer of the broker, in seconds.
    #[arg(
        long,
        env = "CALL_SECONDS",
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=60)
    )]
    call_seconds: u64,

    /// Listen here; may be given several times. [default: this machine only,
    /// 127.0.0.1 and ::1, on the port of --consumer-base-url]
    #[arg(
        long,
        env = "CONSUMER_LISTEN",
        value_name = "ADDRESS:PORT",
        value_delimiter = ','
    )]
    listen: Vec<SocketAddr>,
}

impl Arguments {
    /// The configuration that the flags and the environment describe.
    pub(super) fn config(self) -> Result<Config, ProgramError> {
        let mut config = Config::new(
            self.signin_base_url,
            self.client_id,
            client_secret()?,
            self.consumer_base_url,
        );
        config.broker_timeout = Duration::from_secs(self.call_seconds);
        if let Some(origin) = self.authorization_origin {
            config.authorization_origin = origin;
        }
        if let Some(path) = self.broker_ca {
            let pem = read_regular(&path);
            config.broker_ca = Some(pem.map_err(|error| ProgramError::BrokerCa(path, error))?);
        }
        Ok(config)
    }

    /// The addresses to listen on. `localhost` may mean 127.0.0.1 or ::1, and browsers
    /// try both, so both are the default; only `--listen` opens the program to the
    /// network.
    pub(super) fn listen(&self) -> Vec<SocketAddr> {
        if !self.listen.is_empty() {
            return self.listen.clone();
        }
        let port = url::Url::parse(self.consumer_base_url.as_str())
            .ok()
            .filter(|_| self.consumer_base_url.is_loopback())
            .and_then(|url| url.port_or_known_default())
            .unwrap_or(3000);
        [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            IpAddr::from(Ipv6Addr::LOCALHOST),
        ]
        .map(|address| SocketAddr::new(address, port))
        .to_vec()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "part of reading the configuration"
)]
fn client_secret() -> Result<ClientSecret, ProgramError> {
    std::env::var(SECRET_VARIABLE)
        .map_err(|_| ProgramError::Secret("is not set"))?
        .try_into()
        .map_err(|_| ProgramError::Secret("must have 1 to 200 characters"))
}

/// Why the program ended. Each prints as one line.
pub(super) enum ProgramError {
    Secret(&'static str),
    BrokerCa(PathBuf, io::Error),
    Start(StartError),
    Listen(SocketAddr, io::Error),
    /// This machine does not have the address, such as ::1 without IPv6.
    NoSuchAddress(SocketAddr),
    Server(SocketAddr, String),
    Signals(io::Error),
    Panicked,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Secret(what) => write!(f, "{SECRET_VARIABLE} {what}"),
            ProgramError::BrokerCa(path, error) => {
                write!(f, "--broker-ca {} cannot be read: {error}", path.display())
            }
            ProgramError::Start(error) => error.fmt(f),
            ProgramError::Listen(bind, error) if error.kind() == io::ErrorKind::AddrInUse => {
                write!(f, "{bind} is taken by another program (see --listen)")
            }
            ProgramError::Listen(bind, error) => write!(f, "cannot listen on {bind}: {error}"),
            ProgramError::NoSuchAddress(bind) => write!(f, "this machine has no address {bind}"),
            ProgramError::Server(bind, what) => write!(f, "the server on {bind} failed: {what}"),
            ProgramError::Signals(error) => write!(f, "cannot listen for signals: {error}"),
            ProgramError::Panicked => f.write_str("a server panicked"),
        }
    }
}

/// Reads a file of at most 1 MiB: a pipe would wait, a device would never end.
fn read_regular(path: &Path) -> io::Result<String> {
    let metadata = path.metadata()?;
    match metadata.is_file() && metadata.len() <= 1024 * 1024 {
        true => std::fs::read_to_string(path),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file of at most 1 MiB",
        )),
    }
}
