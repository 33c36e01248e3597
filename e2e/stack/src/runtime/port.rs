//! Ports that are bound early, so that the address of a server is known before the
//! server is built.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rocket::{Build, Rocket};

use super::server::{ServerHandle, Stopping};
use crate::start_error::StackStartError;

/// The number of attempts to bind a port that was just released, and the pause between
/// them.
const REBIND_ATTEMPTS: usize = 100;
const REBIND_PAUSE: Duration = Duration::from_millis(20);

/// The range of [`free_port`], below the ephemeral ports of the operating system.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;

/// A bound listener, with the server's name and flag for error messages.
pub(crate) struct BoundPort {
    server: &'static str,
    flag: &'static str,
    listener: TcpListener,
}

impl BoundPort {
    /// Binds `address` for `server`, which `--flag` can move; port 0 is any free port.
    pub(crate) fn bind(
        server: &'static str,
        flag: &'static str,
        address: SocketAddr,
    ) -> Result<Self, StackStartError> {
        let bound = match address.port() {
            0 => free_port(address.ip()),
            _ => TcpListener::bind(address),
        };
        match bound {
            Ok(listener) => Ok(Self {
                server,
                flag,
                listener,
            }),
            Err(source) => Err(StackStartError::Listen {
                server,
                address,
                source,
                flag,
            }),
        }
    }

    /// Binds the port of `address` on all interfaces, for both families of addresses if
    /// this machine has both.
    pub(crate) fn bind_everywhere(
        server: &'static str,
        flag: &'static str,
        address: SocketAddr,
    ) -> Result<Self, StackStartError> {
        let any = |ip| SocketAddr::new(ip, address.port());
        let both = Self::bind(server, flag, any(Ipv6Addr::UNSPECIFIED.into()));
        match both {
            Err(StackStartError::Listen { source, .. })
                if source.kind() != ErrorKind::AddrInUse
                    && source.kind() != ErrorKind::PermissionDenied =>
            {
                Self::bind(server, flag, any(Ipv4Addr::UNSPECIFIED.into()))
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
        let (server, flag, address) = (self.server, self.flag, self.address());
        drop(self);
        let mut attempts = 1..=REBIND_ATTEMPTS;
        loop {
            match ServerHandle::launch(build(address)?, stopping).await {
                Err(error) if error.kind() == ErrorKind::AddrInUse && attempts.next().is_some() => {
                    tokio::time::sleep(REBIND_PAUSE).await;
                }
                launched => {
                    return launched.map_err(|source| StackStartError::Listen {
                        server,
                        address,
                        source,
                        flag,
                    });
                }
            }
        }
    }
}

/// A free port that no other process takes before it is used: it lies below the range
/// from which the operating system serves requests for any port, and this process does
/// not soon return it again.
fn free_port(ip: IpAddr) -> io::Result<TcpListener> {
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
        let port = BoundPort::bind("a test", "none", any).unwrap();
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
