//! A Rocket server in a task of its own; and ports that are bound early, so that the address of
//! a server is known before the server is built.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use broker::http::{RestoreDroppedHeaders, watch_dropped_headers};
use rocket::fairing::AdHoc;
use rocket::{Build, Rocket, Shutdown};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::settings::StackStartError;
use crate::tls::TlsFront;

/// A running web server, which listens until it is stopped or dropped.
pub(crate) struct ServerHandle {
    pub(crate) address: SocketAddr,
    shutdown: Shutdown,
    stopping: Stopping,
    task: JoinHandle<()>,
    /// The front that clients reach it by, if there is TLS.
    front: Option<TlsFront>,
}

/// The way in which a server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopping {
    /// Open requests get a moment to finish. While a client keeps its connection open,
    /// Rocket waits that long even without a request.
    Graceful,
    /// Every connection is closed at once.
    AtOnce,
}

impl ServerHandle {
    /// Launches `rocket` and waits until it listens.
    ///
    /// # Errors
    ///
    /// Rocket's reason; of the kind `AddrInUse` if the address is taken.
    pub(crate) async fn launch(rocket: Rocket<Build>, stopping: Stopping) -> io::Result<Self> {
        let (send_address, address) = oneshot::channel();
        let rocket = stopping
            .configure(rocket)
            .attach(address_on_liftoff(send_address))
            .attach(RestoreDroppedHeaders)
            .ignite()
            .await
            .map_err(|error| reason(&error))?;
        let shutdown = rocket.shutdown();
        let (send_failure, failure) = oneshot::channel();
        let task = tokio::spawn(async move {
            if let Err(error) = rocket.launch().await {
                let _ = send_failure.send(reason(&error));
            }
        });
        match address.await {
            Ok(address) => Ok(Self {
                address,
                shutdown,
                stopping,
                task,
                front: None,
            }),
            // The launch failed and dropped the fairing with its sender.
            Err(_) => Err(failure
                .await
                .unwrap_or_else(|_| io::Error::other("it stopped"))),
        }
    }

    /// The same server with the front that clients reach it by.
    pub(crate) fn behind(mut self, front: Option<TlsFront>) -> Self {
        self.front = front;
        self
    }

    /// Requests the shutdown: open requests get a moment to finish.
    pub(crate) fn request_shutdown(&self) {
        self.shutdown.clone().notify();
    }

    /// Stops the server; when this returns, its port is free.
    pub(crate) async fn stop(mut self) {
        self.request_shutdown();
        if self.stopping == Stopping::AtOnce {
            // Rocket would wait for a second, and connections close without its help.
            self.task.abort();
        }
        let _ = (&mut self.task).await;
    }
}

impl Stopping {
    fn configure(self, rocket: Rocket<Build>) -> Rocket<Build> {
        match self {
            Self::Graceful => rocket,
            Self::AtOnce => {
                let shutdown = rocket.figment().clone().merge(("shutdown.grace", 0));
                rocket.configure(shutdown.merge(("shutdown.mercy", 0)))
            }
        }
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.request_shutdown();
    }
}

/// A fairing that sends the address as soon as the server listens on it.
fn address_on_liftoff(sender: oneshot::Sender<SocketAddr>) -> AdHoc {
    let sender = Mutex::new(Some(sender));
    AdHoc::on_liftoff("address", move |rocket| {
        let address = SocketAddr::new(rocket.config().address, rocket.config().port);
        if let Some(sender) = sender.lock().ok().and_then(|mut sender| sender.take()) {
            let _ = sender.send(address);
        }
        Box::pin(async {})
    })
}

/// The reason without the frame that Rocket puts around it. Reading the kind also keeps
/// Rocket from panicking: it does so when an unread error is dropped.
fn reason(error: &rocket::Error) -> io::Error {
    match error.kind() {
        rocket::error::ErrorKind::Bind(source) => io::Error::new(source.kind(), source.to_string()),
        other => io::Error::other(other.to_string()),
    }
}

/// Keeps Rocket from printing, for the rest of the process.
///
/// Building a Rocket raises the level of Rocket's logger for the whole process until
/// that Rocket is ignited, whatever its own configuration says. Servers that already
/// run would print request lines meanwhile, and their paths and queries are secrets.
/// So the broker's logger replaces Rocket's: it learns which headers Rocket drops, and
/// discards everything else.
pub fn silence_rocket() {
    watch_dropped_headers();
}

/// The number of attempts to bind a port that was just released, and the pause between
/// them.
const REBIND_ATTEMPTS: usize = 100;
const REBIND_PAUSE: Duration = Duration::from_millis(20);

/// The range of [`free_port`], below the ephemeral ports of the operating system.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;

/// A server, as error messages name it: by a noun phrase, and by the flag that moves it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerName(pub(crate) &'static str, pub(crate) &'static str);

impl ServerName {
    /// The error of a server that cannot listen.
    pub(crate) fn taken(self, address: SocketAddr, source: io::Error) -> StackStartError {
        let Self(server, flag) = self;
        StackStartError::Listen {
            server,
            address,
            source,
            flag,
        }
    }
}

/// A bound listener, with the server's name for error messages.
pub(crate) struct BoundPort {
    server: ServerName,
    listener: TcpListener,
}

impl BoundPort {
    /// Binds `address` for `server`; port 0 is any free port.
    pub(crate) fn bind(server: ServerName, address: SocketAddr) -> Result<Self, StackStartError> {
        let bound = match address.port() {
            0 => free_port(address.ip()),
            _ => TcpListener::bind(address),
        };
        let listener = bound.map_err(|source| server.taken(address, source))?;
        Ok(Self { server, listener })
    }

    /// Binds the port of `address` on all interfaces, for both families of addresses if
    /// this machine has both.
    pub(crate) fn bind_everywhere(
        server: ServerName,
        address: SocketAddr,
    ) -> Result<Self, StackStartError> {
        let any = |ip| SocketAddr::new(ip, address.port());
        let both = Self::bind(server, any(Ipv6Addr::UNSPECIFIED.into()));
        match both {
            Err(StackStartError::Listen { source, .. })
                if source.kind() != ErrorKind::AddrInUse
                    && source.kind() != ErrorKind::PermissionDenied =>
            {
                Self::bind(server, any(Ipv4Addr::UNSPECIFIED.into()))
            }
            bound => bound,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener
            .local_addr()
            .expect("a bound listener has an address")
    }

    /// The listener itself, for a server that accepts one.
    pub(crate) fn into_listener(self) -> TcpListener {
        self.listener
    }

    /// Launches the server that `build` makes for this address.
    ///
    /// Rocket does not accept a listener, so this one is closed just before Rocket opens
    /// its own; see [`free_port`] for why no other process takes the port in between.
    /// Closing may not release the port at once: a process that another thread is just
    /// starting holds a copy of the descriptor until it executes its program. So a port
    /// that is still taken is tried again for a moment.
    #[expect(
        clippy::disallowed_methods,
        reason = "waits for the operating system, which no clock of ours moves"
    )]
    pub(crate) async fn serve(
        self,
        stopping: Stopping,
        build: impl Fn(SocketAddr) -> Result<Rocket<Build>, StackStartError>,
    ) -> Result<ServerHandle, StackStartError> {
        let (server, address) = (self.server, self.address());
        drop(self);
        let mut attempts = 1..=REBIND_ATTEMPTS;
        loop {
            match ServerHandle::launch(build(address)?, stopping).await {
                Err(error) if error.kind() == ErrorKind::AddrInUse && attempts.next().is_some() => {
                    tokio::time::sleep(REBIND_PAUSE).await;
                }
                launched => {
                    return launched.map_err(|source| server.taken(address, source));
                }
            }
        }
    }
}

/// A free port that no other process takes before it is used: it lies below the range
/// from which the operating system serves requests for any port, and this process does
/// not soon return it again.
///
/// # Errors
///
/// If none is free.
pub fn free_port(ip: IpAddr) -> io::Result<TcpListener> {
    for _ in 0..PORTS {
        let port = FIRST_PORT + NEXT_PORT.fetch_add(1, Ordering::Relaxed) % PORTS;
        match TcpListener::bind((ip, port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

/// The offset at which the next search begins; it is random in each process.
static NEXT_PORT: LazyLock<AtomicU16> = LazyLock::new(|| {
    let [high, low, ..] = broker::random::bytes32();
    AtomicU16::new(u16::from_be_bytes([high, low]))
});

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_long_block_of_taken_ports_is_passed_over() {
        let ip = IpAddr::from([127, 0, 0, 1]);
        let taken: Vec<_> = (0..150).map(|_| free_port(ip).unwrap()).collect();
        let first = taken[0].local_addr().unwrap().port();
        NEXT_PORT.store(first - FIRST_PORT, Ordering::Relaxed);
        assert!(free_port(ip).is_ok());
    }

    #[tokio::test]
    async fn a_port_that_a_starting_process_still_holds_is_tried_again() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let port = BoundPort::bind(ServerName("a test", "none"), any).unwrap();
        let held = Cell::new(Some(port.listener.try_clone().unwrap()));
        let attempts = Cell::new(0);
        let server = port
            .serve(Stopping::Graceful, |address| {
                if attempts.replace(attempts.get() + 1) == 1 {
                    drop(held.take());
                }
                Ok(rocket::custom(broker::http::config(address)))
            })
            .await
            .unwrap();
        assert_eq!(attempts.get(), 2);
        server.stop().await;
    }
}
