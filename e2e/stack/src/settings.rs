//! Every address and flag of the stack, once. The binary's `--help` is made from
//! this.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use clap::Args;
use contract::RedirectUri;
use mock_upstream::Mode;

use crate::time::StackClock;

/// Where everything listens, and how the stack begins.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Where the demo listens; `localhost` is both 127.0.0.1 and ::1
    #[arg(long, value_name = "HOST:PORT", default_value = "localhost:3000")]
    pub consumer: Local,

    /// Where the broker is reached (through the wire)
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8000", value_parser = loopback)]
    pub broker: SocketAddr,

    /// Where the stack is controlled and inspected
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8010", value_parser = loopback)]
    pub control: SocketAddr,

    /// Where the imitation of Google listens
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8020", value_parser = loopback)]
    pub google: SocketAddr,

    /// Where the imitation of GitHub listens
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8030", value_parser = loopback)]
    pub github: SocketAddr,

    /// Register a project for your own app that comes back to URL; repeat for more
    #[arg(long = "callback", value_name = "URL")]
    pub callbacks: Vec<RedirectUri>,

    /// Let the imitated providers sign in their default person without a page
    #[arg(long)]
    pub automatic: bool,

    /// How long one call of the broker to a provider may take, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub upstream_timeout_ms: u64,

    /// A host name besides the loopback ones by which the control address may be
    /// called
    #[arg(long, value_name = "NAME")]
    pub control_host: Option<String>,

    /// What everything lives by; only in Rust can it be another than the system's.
    #[arg(skip)]
    pub clock: StackClock,
}

impl Settings {
    /// Free ports everywhere, providers that answer without a page, and a broker
    /// that does not wait long for one that is silent.
    pub fn for_tests() -> Self {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            consumer: Local {
                host: Host::Localhost,
                port: 0,
            },
            broker: free,
            control: free,
            google: free,
            github: free,
            callbacks: Vec::new(),
            automatic: true,
            upstream_timeout_ms: 3_000,
            control_host: None,
            clock: StackClock::default(),
        }
    }

    /// How the imitated providers begin.
    pub(crate) fn mode(&self) -> Mode {
        if self.automatic {
            Mode::Automatic
        } else {
            Mode::Interactive
        }
    }
}

/// A host of this machine and a port: `localhost:3000`, `127.0.0.1:3000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Which of this machine's names.
    pub host: Host,
    /// 0 takes a free one.
    pub port: u16,
}

/// A name or address of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// The name, which resolves to either loopback address.
    Localhost,
    /// One address.
    Ip(IpAddr),
}

impl Local {
    /// The addresses behind this name.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        match self.host {
            Host::Localhost => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            Host::Ip(ip) => vec![ip],
        }
    }

    /// The URL of this name at `port`, without a trailing slash.
    pub(crate) fn url(&self, port: u16) -> String {
        match self.host {
            Host::Localhost => format!("http://localhost:{port}"),
            Host::Ip(ip) => format!("http://{}", SocketAddr::new(ip, port)),
        }
    }
}

impl FromStr for Local {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected localhost:PORT, or a loopback address and a port";
        if let Some(port) = text.strip_prefix("localhost:") {
            let port = port.parse().map_err(|_| EXPECTED)?;
            return Ok(Self {
                host: Host::Localhost,
                port,
            });
        }
        let address = loopback(text).map_err(|_| EXPECTED)?;
        Ok(Self {
            host: Host::Ip(address.ip()),
            port: address.port(),
        })
    }
}

fn loopback(text: &str) -> Result<SocketAddr, &'static str> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        _ => Err("expected a loopback address and a port, like 127.0.0.1:8000"),
    }
}
