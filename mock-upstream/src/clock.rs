//! The clock by which codes, tokens and ID tokens expire: the only reader of the
//! system's time.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the time in Unix milliseconds; clones share the source.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// A clock that calls `now_ms` each time it is read.
    pub fn new(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::new(system_now_ms)
    }

    /// The time in Unix milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "every other module is given a Clock"
)]
fn system_now_ms() -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the system's clock is set to a time after 1970");
    i64::try_from(since_epoch.as_millis()).expect("the year is below 292 million")
}
