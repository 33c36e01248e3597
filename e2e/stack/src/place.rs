//! A place to listen at: taken early, so that its address is known before what
//! will serve there is made.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rocket::{Build, Rocket};

use crate::hosted::Hosted;
use crate::start_error::StartError;

/// A listener, with the words for an error about it.
pub(crate) struct Place {
    what: &'static str,
    flag: &'static str,
    listener: TcpListener,
}

impl Place {
    /// Takes `address` for `what`, which `--flag` can move; port 0 takes a free one.
    pub(crate) fn take(
        what: &'static str,
        flag: &'static str,
        address: SocketAddr,
    ) -> Result<Self, StartError> {
        let bound = match address.port() {
            0 => free_port(address.ip()),
            _ => TcpListener::bind(address),
        };
        match bound {
            Ok(listener) => Ok(Self {
                what,
                flag,
                listener,
            }),
            Err(source) => Err(StartError::Listen {
                what,
                address,
                source,
                flag,
            }),
        }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listener
            .local_addr()
            .expect("a listener that is bound has an address")
    }

    /// Its URL, without a trailing slash.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The listener itself, for a server that can be handed one.
    pub(crate) fn into_listener(self) -> TcpListener {
        self.listener
    }

    /// Serves here what `make` makes for this address.
    ///
    /// Rocket cannot be handed a listener, so ours is closed just before it opens
    /// its own; see [`free_port`] for why nobody takes the port in between. Closing
    /// it may not free the port at once: a process that another thread is just
    /// starting holds a copy of it until it becomes the program it will be. So a
    /// port that is still taken is tried again, for a moment.
    #[expect(
        clippy::disallowed_methods,
        reason = "waits for the operating system, which no clock of ours moves"
    )]
    pub(crate) async fn serve(
        self,
        make: impl Fn(SocketAddr) -> Result<Rocket<Build>, StartError>,
    ) -> Result<Hosted, StartError> {
        let (what, flag, address) = (self.what, self.flag, self.address());
        drop(self);
        let mut tries = 1..=RELEASE_TRIES;
        loop {
            match Hosted::launch(make(address)?).await {
                Err(error) if error.kind() == ErrorKind::AddrInUse && tries.next().is_some() => {
                    tokio::time::sleep(RELEASE_PAUSE).await;
                }
                done => {
                    return done.map_err(|source| StartError::Listen {
                        what,
                        address,
                        source,
                        flag,
                    });
                }
            }
        }
    }
}

/// How often, and how far apart, a port that was just given up is asked for again.
const RELEASE_TRIES: usize = 100;
const RELEASE_PAUSE: Duration = Duration::from_millis(20);

/// A free port that nobody else will take before it is used: it lies below the
/// range from which the operating system serves whoever asks for *any*, and this
/// process does not soon offer it again.
fn free_port(ip: IpAddr) -> io::Result<TcpListener> {
    for _ in 0..TRIES {
        let port = FIRST_PORT + NEXT.fetch_add(1, Ordering::Relaxed) % PORTS;
        match TcpListener::bind((ip, port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            done => return done,
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;
const TRIES: usize = 100;

/// Where the next search begins; processes begin at places of their own.
static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| {
    let [high, low, ..] = broker::random::bytes32();
    AtomicU16::new(u16::from_be_bytes([high, low]))
});

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_port_that_a_starting_process_still_holds_is_asked_for_again() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let place = Place::take("a test", "none", any).unwrap();
        let held = Cell::new(Some(place.listener.try_clone().unwrap()));
        let asked = Cell::new(0);
        let server = place
            .serve(|address| {
                if asked.replace(asked.get() + 1) == 1 {
                    drop(held.take());
                }
                Ok(rocket::custom(broker::http::config(address)))
            })
            .await
            .unwrap();
        assert_eq!(asked.get(), 2);
        server.stop().await;
    }
}
