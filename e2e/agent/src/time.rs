//! Real time, for everything that no clock of a test moves: another program.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

/// Measures real time.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "another program is measured")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    #[expect(clippy::disallowed_methods, reason = "another program is measured")]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The same in milliseconds.
    pub fn elapsed_ms(self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The real date, by which browsers read the dates of cookies.
#[expect(clippy::disallowed_methods, reason = "browsers have the real date")]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// The same in Unix milliseconds: the stack's clock without what was added to it.
pub fn unix_ms() -> i64 {
    let since = now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
}

/// Waits between two looks at another program.
#[expect(
    clippy::disallowed_methods,
    reason = "another program signals nothing when it is ready or idle"
)]
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The output of `future`, or `None` after `limit`.
#[expect(
    clippy::disallowed_methods,
    reason = "another program may never answer"
)]
pub async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, future).await.ok()
}
