//! A Rocket server in a task of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;

use broker::http::{RestoreDroppedHeaders, watch_dropped_headers};
use rocket::fairing::AdHoc;
use rocket::{Build, Rocket, Shutdown};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

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
