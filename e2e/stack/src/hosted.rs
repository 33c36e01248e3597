//! A Rocket that runs in a task of its own, at an address that is known.

use std::io;
use std::net::SocketAddr;

use rocket::fairing::AdHoc;
use rocket::{Build, Rocket, Shutdown};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A web server, listening until it is stopped or dropped.
pub(crate) struct Hosted {
    pub(crate) address: SocketAddr,
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl Hosted {
    /// Launches `rocket` and waits until it listens.
    ///
    /// # Errors
    ///
    /// What Rocket says when it cannot; of the kind `AddrInUse` if its address is taken.
    pub(crate) async fn launch(rocket: Rocket<Build>) -> io::Result<Self> {
        let (tell, told) = oneshot::channel();
        let tell = std::sync::Mutex::new(Some(tell));
        let rocket = rocket
            .attach(AdHoc::on_liftoff("address", move |rocket| {
                let address = SocketAddr::new(rocket.config().address, rocket.config().port);
                if let Some(tell) = tell.lock().ok().and_then(|mut tell| tell.take()) {
                    let _ = tell.send(address);
                }
                Box::pin(async {})
            }))
            .ignite()
            .await
            .map_err(|error| why(&error))?;
        let shutdown = rocket.shutdown();
        let (fail, failed) = oneshot::channel();
        let task = tokio::spawn(async move {
            if let Err(error) = rocket.launch().await {
                let _ = fail.send(why(&error));
            }
        });
        match told.await {
            Ok(address) => Ok(Self {
                address,
                shutdown,
                task,
            }),
            // Nobody will tell: the launch failed and dropped the fairing.
            Err(_) => Err(failed
                .await
                .unwrap_or_else(|_| io::Error::other("it stopped"))),
        }
    }

    /// Asks it to let open requests finish, for a moment, and to stop.
    pub(crate) fn end(&self) {
        self.shutdown.clone().notify();
    }

    /// Waits until it has stopped.
    pub(crate) async fn stop(mut self) {
        self.end();
        let _ = (&mut self.task).await;
    }
}

/// Keeps Rocket from printing, for good.
///
/// Making a Rocket raises the level of Rocket's logger for the whole process
/// until that Rocket is ignited, whatever its own configuration says. Servers
/// that already run would print request lines meanwhile, and their paths and
/// queries are secrets. So the place of Rocket's logger is taken by one that
/// says nothing; everything of ours logs through `tracing`.
pub fn silence_rocket() {
    static SILENCE: Silence = Silence;
    // It fails if the program has a logger of its own: Rocket's fails then, too.
    let _ = log::set_logger(&SILENCE);
}

struct Silence;

impl log::Log for Silence {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        false
    }

    fn log(&self, _: &log::Record<'_>) {}

    fn flush(&self) {}
}

impl Drop for Hosted {
    fn drop(&mut self) {
        self.end();
    }
}

/// The reason without the frame that Rocket puts around it. Looking at the kind
/// also keeps Rocket from panicking over an error that nobody read.
fn why(error: &rocket::Error) -> io::Error {
    match error.kind() {
        rocket::error::ErrorKind::Bind(source) => io::Error::new(source.kind(), source.to_string()),
        other => io::Error::other(other.to_string()),
    }
}
