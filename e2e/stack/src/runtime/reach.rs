//! The way to the servers of a stack: the scheme and the host of every URL, the
//! interfaces, and TLS in front of each server; and the sandboxes that run in this process,
//! for the links between the pages of the stack and theirs.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use contract::Origin;
use rocket::{Build, Rocket};
use serde::{Serialize, Serializer};
use url::Host;

use super::server::{BoundPort, ServerHandle, ServerName, Stopping};
use crate::settings::{HostName, StackStartError, host_of};
use crate::tls::{StackTls, TlsFront};

/// Any free port of loopback, for a server behind a front.
pub(crate) const BEHIND_FRONT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The way in which clients reach the servers of a stack.
#[derive(Debug, Clone)]
pub(crate) struct Reach {
    /// `None` for plain HTTP.
    pub(crate) tls: Option<Arc<StackTls>>,
    /// The name of this machine; `None` if only this machine is served.
    pub(crate) host: Option<HostName>,
    /// The way in which the servers stop.
    pub(crate) stopping: Stopping,
}

impl Reach {
    /// The scheme of every URL.
    pub(crate) fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }

    /// The file with the certificate authority that clients must trust, if there is TLS.
    pub(crate) fn ca_file(&self) -> Option<&Path> {
        self.tls.as_deref().map(StackTls::ca_file)
    }

    /// The URL of a server that listens at `port` of `host`, without a trailing slash.
    pub(crate) fn url(&self, host: &Host, port: u16) -> String {
        let host = match &self.host {
            Some(name) => name.to_string(),
            None => host.to_string(),
        };
        let url = format!("{}://{host}:{port}", self.scheme());
        // An origin does not name the usual port of its scheme.
        match url::Url::parse(&url) {
            Ok(url) => url.origin().ascii_serialization(),
            Err(_) => url,
        }
    }

    /// The URL of a server that listens at `port`.
    pub(crate) fn url_of(&self, port: &BoundPort) -> String {
        let address = port.address();
        self.url(&host_of(address.ip()), address.port())
    }

    /// The URL by which this machine itself reaches a server that listens at `port`: its
    /// own name may not resolve here.
    pub(crate) fn url_from_here(&self, port: &BoundPort) -> String {
        let mut address = port.address();
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        let here = Self {
            host: None,
            ..self.clone()
        };
        here.url(&host_of(address.ip()), address.port())
    }

    /// Binds `address` for `server`, or its port on all interfaces.
    pub(crate) fn bind(
        &self,
        server: ServerName,
        address: SocketAddr,
    ) -> Result<BoundPort, StackStartError> {
        match self.host {
            Some(_) => BoundPort::bind_everywhere(server, address),
            None => BoundPort::bind(server, address),
        }
    }

    /// Launches the server that `build` makes for the address that it gets, so that
    /// clients reach it at `port`.
    pub(crate) async fn serve(
        &self,
        port: BoundPort,
        build: impl Fn(SocketAddr) -> Result<Rocket<Build>, StackStartError>,
    ) -> Result<ServerHandle, StackStartError> {
        if self.tls.is_none() {
            return port.serve(self.stopping, build).await;
        }
        let server = ServerHandle::launch(build(BEHIND_FRONT)?, self.stopping).await?;
        let front = self.front(port, server.address)?;
        Ok(server.behind(front))
    }

    /// The front at `port`, if there is TLS, of the server at `target`.
    pub(crate) fn front(
        &self,
        port: BoundPort,
        target: SocketAddr,
    ) -> io::Result<Option<TlsFront>> {
        let front =
            |tls: &Arc<StackTls>| TlsFront::start(port.into_listener(), target, tls.server());
        self.tls.as_ref().map(front).transpose()
    }

    /// The listener for a server that clients reach at `port`, and the front at `port`, if
    /// there is TLS.
    pub(crate) fn listener(&self, port: BoundPort) -> io::Result<(TcpListener, Option<TlsFront>)> {
        if self.tls.is_none() {
            return Ok((port.into_listener(), None));
        }
        let listener = TcpListener::bind(BEHIND_FRONT)?;
        let front = self.front(port, listener.local_addr()?)?;
        Ok((listener, front))
    }
}

/// The URLs of a running stack, without trailing slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackUrls {
    /// The demo.
    pub consumer: String,
    /// The broker, through the proxy.
    pub broker: String,
    /// The control address.
    pub control: String,
    /// The imitation of Google.
    pub google: String,
    /// The imitation of GitHub.
    pub github: String,
}

/// The URLs of the servers that run; a sandbox may have no demo. The fields are the members of
/// its JSON.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ServerUrls {
    pub(crate) control: String,
    pub(crate) broker: String,
    pub(crate) consumer: Option<String>,
    pub(crate) upstreams: UpstreamUrls,
}

/// The URLs of the imitated providers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct UpstreamUrls {
    pub(crate) google: String,
    pub(crate) github: String,
}

impl ServerUrls {
    /// The URLs of a stack that has a demo.
    pub(crate) fn with_demo(&self) -> StackUrls {
        let demo = self.consumer.as_ref();
        StackUrls {
            consumer: demo.expect("a stack that is no sandbox has a demo").clone(),
            broker: self.broker.clone(),
            control: self.control.clone(),
            google: self.upstreams.google.clone(),
            github: self.upstreams.github.clone(),
        }
    }
}

/// The origin of one of the stack's own URLs.
pub(crate) fn own_origin(url: &str) -> Origin {
    url.parse()
        .expect("the addresses of a stack are on loopback, or https")
}

/// The id of a sandbox, `s1`; a process never gives one twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SandboxId(pub(crate) u64);

/// A text is not the id of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MalformedSandboxId;

/// The address of a running sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxLink {
    pub(crate) name: String,
    /// The URL of its control address.
    pub(crate) control: String,
}

/// The running sandboxes, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct SandboxDirectory(RwLock<BTreeMap<SandboxId, SandboxLink>>);

/// The place of a sandbox: its name, and the stack that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnSandbox {
    pub(crate) id: SandboxId,
    pub(crate) name: String,
    /// The URL of the stack's control address.
    pub(crate) stack_control: String,
}

impl SandboxDirectory {
    pub(crate) fn list(&self) -> Vec<(SandboxId, SandboxLink)> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .map(|(id, link)| (*id, link.clone()))
            .collect()
    }

    pub(crate) fn add(&self, id: SandboxId, link: SandboxLink) {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.insert(id, link);
    }

    pub(crate) fn remove(&self, id: SandboxId) {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.remove(&id);
    }
}

impl fmt::Display for SandboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl FromStr for SandboxId {
    type Err = MalformedSandboxId;

    fn from_str(text: &str) -> Result<Self, MalformedSandboxId> {
        let number = text.strip_prefix('s').and_then(|it| it.parse().ok());
        let id = number.map(Self).ok_or(MalformedSandboxId)?;
        // `s01` and `s+1` are numbers, but no ids.
        match id.to_string() == text {
            true => Ok(id),
            false => Err(MalformedSandboxId),
        }
    }
}

impl Serialize for SandboxId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
