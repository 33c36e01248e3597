//! The clock, passed in from outside: everything that expires reads this clock and
//! no other, so that a test can move it.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A clock in Unix milliseconds. Clones share the same time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// A clock that reads its time from `now_ms`.
    pub fn new(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    /// The machine's own clock.
    pub fn system() -> Self {
        Self::new(system_now_ms)
    }

    /// The time, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the machine's clock"
)]
fn system_now_ms() -> i64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}
