//! Real time, for everything that the stack's clock cannot move: the app under
//! examination is another program.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

/// Measures real time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "another program is measured")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "another program is measured")]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn elapsed_ms(self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The real date, by which browsers read the dates of cookies.
#[expect(clippy::disallowed_methods, reason = "browsers have the real date")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// The same in Unix milliseconds: the stack's clock without what was added to it.
pub(crate) fn unix_ms() -> i64 {
    let since = now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
}

/// Waits between two looks at another program.
#[expect(
    clippy::disallowed_methods,
    reason = "another program signals nothing when it is ready or idle"
)]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The output of `future`, or `None` after `limit`.
#[expect(
    clippy::disallowed_methods,
    reason = "another program may never answer"
)]
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, future).await.ok()
}
