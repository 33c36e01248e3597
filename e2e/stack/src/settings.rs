//! Every address and flag of the stack, and the reasons why it does not start with them, each
//! as one line that says what helps. The program's `--help` is generated from this file.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use contract::RedirectUri;
use mock_upstream::Mode;
use mock_upstream::users::{KnownUsers, PeopleFileError};
use url::Host;

use crate::projects::ReachedFrom;
use crate::time::StackClock;

/// As many as two cores serve without noticeable delay.
const MAX_SANDBOXES: usize = 64;

/// The addresses of all servers, and the state in which the stack starts.
#[derive(Debug, Clone, Args)]
pub struct StackSettings {
    /// The address of the demo; `localhost` is both 127.0.0.1 and ::1
    #[arg(long, value_name = "HOST:PORT", default_value = "localhost:3000")]
    pub consumer: LocalAddr,

    /// The address of the broker
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8000", value_parser = loopback)]
    pub broker: SocketAddr,

    /// The control address, with the inspector; the imitations alone have one only if it is
    /// given [default: 127.0.0.1:8010]
    #[arg(long, value_name = "IP:PORT", value_parser = loopback)]
    pub control: Option<SocketAddr>,

    /// The address of the imitated Google
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8020", value_parser = loopback)]
    pub google: SocketAddr,

    /// The address of the imitated GitHub
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8030", value_parser = loopback)]
    pub github: SocketAddr,

    /// Register a project for your own app, with this callback; repeat for more
    #[arg(long = "callback", value_name = "URL", value_parser = RedirectUri::from_argument)]
    pub callbacks: Vec<RedirectUri>,

    /// Let the imitated providers sign in their default user without showing a page
    #[arg(long)]
    pub automatic: bool,

    /// The time limit for one call of the broker to a provider, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub upstream_timeout_ms: u64,

    /// A host name that the control address accepts besides the loopback ones
    #[arg(long, value_name = "NAME", value_parser = control_host)]
    pub control_host: Option<String>,

    /// The number of sandboxes that may run at once
    #[arg(long, value_name = "N", default_value_t = MAX_SANDBOXES, value_parser = sandbox_limit)]
    pub max_sandboxes: usize,

    /// Serve everything over TLS, by a certificate authority of this start
    #[arg(long)]
    pub https: bool,

    /// Listen on all interfaces under this name, for containers and other machines;
    /// of the addresses above only the ports count; needs --https
    #[arg(long, value_name = "NAME")]
    pub host: Option<HostName>,

    /// The file for the certificate authority that clients of --https and of https
    /// sandboxes must trust [default: a temporary one]
    #[arg(long, value_name = "PATH")]
    pub ca_file: Option<PathBuf>,

    /// The clock of the whole stack; only a test in Rust can set it.
    #[arg(skip)]
    pub clock: StackClock,

    /// The users of the imitated providers' sign-in pages: the seed users, and those of the
    /// people file.
    #[arg(skip)]
    pub users: KnownUsers,
}

impl StackSettings {
    /// Free ports everywhere, providers that show no page, and a short time limit for
    /// providers that do not answer.
    pub fn for_tests() -> Self {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            consumer: LocalAddr {
                host: LocalHost::Localhost,
                port: 0,
            },
            broker: free,
            control: Some(free),
            google: free,
            github: free,
            callbacks: Vec::new(),
            automatic: true,
            upstream_timeout_ms: 3_000,
            control_host: None,
            max_sandboxes: MAX_SANDBOXES,
            https: false,
            host: None,
            ca_file: None,
            clock: StackClock::default(),
            users: KnownUsers::default(),
        }
    }

    /// The hosts under which the servers are reached.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = Host> {
        let names = [
            self.host.as_ref().map(ToString::to_string),
            self.control_host.clone(),
        ];
        let names = names.into_iter().flatten();
        let names = names.filter_map(|name| Host::parse(&name).ok());
        let addresses = [self.broker, self.control(), self.google, self.github];
        let addresses = addresses.into_iter().map(|address| host_of(address.ip()));
        names.chain(addresses).chain([self.consumer.url_host()])
    }

    /// The control address of a stack.
    pub(crate) fn control(&self) -> SocketAddr {
        self.control.unwrap_or((Ipv4Addr::LOCALHOST, 8010).into())
    }

    /// The machines that can reach the stack.
    pub(crate) fn reached_from(&self) -> ReachedFrom {
        match self.host {
            Some(_) => ReachedFrom::Network,
            None => ReachedFrom::ThisMachine,
        }
    }

    /// Rejects settings that contradict each other.
    pub(crate) fn check(&self) -> Result<(), StackStartError> {
        match self.host.is_some() && !self.https {
            true => Err(StackStartError::HostWithoutHttps),
            false => Ok(()),
        }
    }

    /// The mode in which the imitated providers start.
    pub(crate) fn mode(&self) -> Mode {
        if self.automatic {
            Mode::Automatic
        } else {
            Mode::Interactive
        }
    }
}

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

/// A loopback host and a port: `localhost:3000`, `127.0.0.1:3000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddr {
    /// The host.
    pub host: LocalHost,
    /// The port; 0 is any free one.
    pub port: u16,
}

/// A loopback name or address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalHost {
    /// The name, which resolves to both loopback addresses.
    Localhost,
    /// A single address.
    Ip(IpAddr),
}

impl LocalAddr {
    /// The addresses that the host resolves to.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        match self.host {
            LocalHost::Localhost => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            LocalHost::Ip(ip) => vec![ip],
        }
    }

    /// The host in the URL.
    pub(crate) fn url_host(&self) -> Host {
        match self.host {
            LocalHost::Localhost => Host::Domain("localhost".to_owned()),
            LocalHost::Ip(ip) => host_of(ip),
        }
    }
}

impl FromStr for LocalAddr {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected localhost:PORT, or a loopback address and a port";
        if let Some(port) = text.strip_prefix("localhost:") {
            let port = port.parse().map_err(|_| EXPECTED)?;
            return Ok(Self {
                host: LocalHost::Localhost,
                port,
            });
        }
        let address = loopback(text).map_err(|_| EXPECTED)?;
        Ok(Self {
            host: LocalHost::Ip(address.ip()),
            port: address.port(),
        })
    }
}

fn sandbox_limit(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(limit @ 1..=1_000) => Ok(limit),
        _ => Err("expected a number from 1 to 1000"),
    }
}

/// A DNS name or an IP address, as browsers send it in `Host`.
fn control_host(text: &str) -> Result<String, &'static str> {
    match Host::parse(text) {
        Ok(host) if host.to_string().eq_ignore_ascii_case(text) => Ok(host.to_string()),
        _ => Err(
            "expected a host name or an IP address without a scheme or a port, like stack.internal",
        ),
    }
}

fn loopback(text: &str) -> Result<SocketAddr, &'static str> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        _ => Err("expected a loopback address and a port, like 127.0.0.1:8000"),
    }
}

/// The host of a URL with this address.
pub(crate) fn host_of(ip: IpAddr) -> Host {
    match ip {
        IpAddr::V4(ip) => Host::Ipv4(ip),
        IpAddr::V6(ip) => Host::Ipv6(ip),
    }
}

/// A DNS name in lower case, like `stack.internal` or `stack`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HostName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.to_ascii_lowercase();
        if name == "localhost" {
            return Err("localhost is this machine alone: leave --host out");
        }
        // A name that ends in a number is an address to browsers.
        let is_domain = matches!(Host::parse(&name), Ok(Host::Domain(domain)) if domain == name);
        if is_domain && name.len() <= 253 && name.split('.').all(is_label) {
            Ok(Self(name))
        } else {
            Err(
                "expected a DNS name without a port, like stack.internal: letters, digits, \
                 hyphens and dots",
            )
        }
    }
}

/// Whether this is a label of a host name (RFC 1123, 2.1).
fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(is_plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_is_a_dns_name_and_becomes_lower_case() {
        let longest = "a".repeat(63);
        for name in [
            "stack",
            "stack.internal",
            "a-1.b-2",
            "3com.example",
            &longest,
        ] {
            assert_eq!(name.parse::<HostName>().unwrap().as_str(), name);
        }
        let name: HostName = "Stack.Internal".parse().unwrap();
        assert_eq!(name.as_str(), "stack.internal");
    }

    #[test]
    fn an_address_a_port_or_a_url_is_no_host_name() {
        let (label, long) = ("a".repeat(64), [&*"a".repeat(63); 4].join("."));
        let shapes = [
            "", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b", "bücher", "*.a",
        ];
        let addresses = ["127.0.0.1", "10.0.0.7", "0x7f.1", "1", "[::1]", "::1"];
        let urls = ["stack:80", "https://stack", "stack/", "a\nb", &label, &long];
        for text in shapes.into_iter().chain(addresses).chain(urls) {
            let refused = text.parse::<HostName>().expect_err(text);
            assert!(refused.starts_with("expected a DNS name"), "{text}");
        }
        let refused = "Localhost".parse::<HostName>().unwrap_err();
        assert!(refused.contains("leave --host out"));
    }
}
