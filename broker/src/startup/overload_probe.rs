//! The task that measures the broker's delay, from liftoff to shutdown.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rocket::fairing::AdHoc;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Broker;
use crate::clock::Stopwatch;
use crate::limits::Overload;
use crate::metrics::Metrics;

/// The fairing that starts the probe of the managed [`Broker`].
pub(crate) fn overload_probe() -> AdHoc {
    AdHoc::on_liftoff("overload probe", |rocket| {
        Box::pin(async move {
            let broker = rocket.state::<Broker>().expect("the broker is managed");
            let overload = broker.core.limits.overload.clone();
            tokio::spawn(sample(overload, broker.metrics.clone(), rocket.shutdown()));
        })
    })
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
