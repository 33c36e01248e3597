//! The task that measures the broker's delay, from liftoff to shutdown.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rocket::fairing::AdHoc;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

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
    let mut probe = Probe::start();
    loop {
        tokio::select! {
            _ = &mut shutdown => return,
            () = tokio::time::sleep(overload.sample_every) => {}
        }
        let delay = overload.sample(probe.delay());
        if let Some(metrics) = &metrics {
            metrics.observe_delay(delay);
        }
        if probe.has_run() {
            probe = Probe::start();
        }
    }
}

/// A task that waits for its turn.
///
/// Another thread starts it. The runtime keeps a short queue of the tasks that it starts
/// or wakes itself, as by a timer, and prefers those: they run at once while thousands of
/// others wait for seconds.
struct Probe {
    /// Started when the task was: until then another thread is waited for, which many name
    /// lookups may keep from starting.
    waits: Arc<OnceLock<Stopwatch>>,
    delay: Arc<OnceLock<Duration>>,
}

impl Probe {
    fn start() -> Self {
        let (waits, delay) = (Arc::<OnceLock<_>>::default(), Arc::default());
        let probe = Self {
            waits: Arc::clone(&waits),
            delay: Arc::clone(&delay),
        };
        let runtime = Handle::current();
        spawn_blocking(move || {
            let _ = waits.set(Stopwatch::start());
            runtime.spawn(async move {
                let _ = delay.set(elapsed(&waits));
            });
        });
        probe
    }

    /// Its delay, or the time for which it has waited so far.
    fn delay(&self) -> Duration {
        let delay = self.delay.get().copied();
        delay.unwrap_or_else(|| elapsed(&self.waits))
    }

    fn has_run(&self) -> bool {
        self.delay.get().is_some()
    }
}

fn elapsed(waits: &OnceLock<Stopwatch>) -> Duration {
    waits.get().map(Stopwatch::elapsed).unwrap_or_default()
}
