//! The tasks beside the requests, from liftoff to shutdown: one deletes expired rows, one
//! measures the broker's delay.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rocket::fairing::AdHoc;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::Broker;
use crate::clock::{Clock, Stopwatch};
use crate::limits::Overload;
use crate::metrics::Metrics;
use crate::store::{Store, StoreError};

/// The fairing that starts the tasks of the managed [`Broker`].
pub(crate) fn fairing() -> AdHoc {
    AdHoc::on_liftoff("background tasks", |rocket| {
        Box::pin(async move {
            let broker = rocket.state::<Broker>().expect("the broker is managed");
            let (store, clock) = (broker.core.store.clone(), broker.core.clock.clone());
            tokio::spawn(sweep(store, clock, broker.sweep_every, rocket.shutdown()));
            let overload = broker.core.limits.overload.clone();
            tokio::spawn(sample(overload, broker.metrics.clone(), rocket.shutdown()));
        })
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "when rows are swept decides nothing: a rule sees none of them"
)]
async fn sweep(store: Store, clock: Clock, every: Duration, mut shutdown: rocket::Shutdown) {
    let mut every = tokio::time::interval(every);
    loop {
        tokio::select! {
            _ = &mut shutdown => return,
            _ = every.tick() => {}
        }
        outlive(sweep_all(store.clone(), clock.clone())).await;
    }
}

/// Runs `sweeping` in a task of its own: if it panics, the next sweep still comes.
async fn outlive(sweeping: impl Future<Output = Result<(), StoreError>> + Send + 'static) {
    match tokio::spawn(sweeping).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "expired rows were not swept"),
        // The panic hook has logged where. The payload may quote a row.
        Err(_) => tracing::error!("expired rows were not swept: the sweep panicked"),
    }
}

/// Sweeps in small batches, so that other steps get their turn in between.
async fn sweep_all(store: Store, clock: Clock) -> Result<(), StoreError> {
    while store.sweep(clock.now()).await? > 0 {
        // A store in memory sweeps without a wait.
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the delay is real time, whatever our clock shows"
)]
async fn sample(overload: Arc<Overload>, metrics: Option<Metrics>, mut shutdown: rocket::Shutdown) {
    let line = match Line::open() {
        Ok(line) => line,
        Err(error) => return tracing::warn!(%error, "an overload will not be noticed"),
    };
    let mut probe = line.send();
    loop {
        tokio::select! {
            _ = &mut shutdown => return,
            () = tokio::time::sleep(overload.sample_every) => {}
        }
        let delay = overload.sample(probe.delay());
        if let Some(metrics) = &metrics {
            metrics.observe_delay(delay);
        }
        if probe.has_arrived() {
            probe = line.send();
        }
    }
}

/// A connection of this broker to itself: a byte on it waits for its turn as a request does.
///
/// A task that another one starts or wakes does not. The runtime prefers the last of those,
/// and it runs at once while thousands of others wait.
struct Line {
    writer: UnixStream,
    sent: UnboundedSender<Probe>,
}

/// One byte that was sent.
#[derive(Clone)]
struct Probe {
    waits: Arc<Stopwatch>,
    delay: Arc<OnceLock<Duration>>,
}

impl Line {
    fn open() -> std::io::Result<Self> {
        let (writer, reader) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let reader = tokio::net::UnixStream::from_std(reader)?;
        let (sent, probes) = unbounded_channel();
        tokio::spawn(receive(reader, probes));
        Ok(Self { writer, sent })
    }

    fn send(&self) -> Probe {
        let probe = Probe {
            waits: Arc::new(Stopwatch::start()),
            delay: Arc::default(),
        };
        let _ = self.sent.send(probe.clone());
        // It never blocks: the byte before it has been read.
        let _ = (&self.writer).write(&[0]);
        probe
    }
}

async fn receive(mut reader: tokio::net::UnixStream, mut probes: UnboundedReceiver<Probe>) {
    while reader.read_u8().await.is_ok() {
        if let Ok(probe) = probes.try_recv() {
            let _ = probe.delay.set(probe.waits.elapsed());
        }
    }
}

impl Probe {
    /// Its delay, or the time for which it has waited so far.
    fn delay(&self) -> Duration {
        let delay = self.delay.get().copied();
        delay.unwrap_or_else(|| self.waits.elapsed())
    }

    fn has_arrived(&self) -> bool {
        self.delay.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a task of its own, the panic would end the sweeper.
    #[tokio::test]
    async fn a_sweep_that_panics_ends_itself_alone() {
        outlive(async { panic!("an unexpected row") }).await;
        outlive(async { Ok(()) }).await;
    }
}
