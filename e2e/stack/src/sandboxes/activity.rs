//! The last call to the control address of a sandbox, which its end is counted from.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use broker::clock::Clock;
use broker::model::UnixMs;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::{Data, Request};

/// The time of the last call, and the lifetime that begins with it.
pub(super) struct Activity {
    clock: Clock,
    lifetime: Duration,
    last_call_ms: AtomicI64,
}

impl Activity {
    /// Begins now.
    pub(super) fn new(clock: Clock, lifetime: Duration) -> Self {
        let last_call_ms = AtomicI64::new(clock.now().0);
        Self {
            clock,
            lifetime,
            last_call_ms,
        }
    }

    /// The end of the lifetime, unless another call comes before it.
    pub(super) fn ends_at(&self) -> UnixMs {
        let lifetime_ms = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        UnixMs(self.last_call_ms.load(Ordering::Relaxed)).plus_ms(lifetime_ms)
    }

    fn record_call(&self) {
        let now_ms = self.clock.now().0;
        self.last_call_ms.fetch_max(now_ms, Ordering::Relaxed);
    }
}

/// Records each call to the control address that it is attached to.
pub(super) struct RecordCalls(pub(super) Arc<Activity>);

#[rocket::async_trait]
impl Fairing for RecordCalls {
    fn info(&self) -> Info {
        Info {
            name: "lifetime of the sandbox",
            kind: Kind::Request,
        }
    }

    async fn on_request(&self, _: &mut Request<'_>, _: &mut Data<'_>) {
        self.0.record_call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lifetime_begins_again_with_each_call() {
        let clock = Clock::fixed_at(UnixMs(5_000));
        let activity = Activity::new(clock.clone(), Duration::from_secs(900));
        assert_eq!(activity.ends_at(), UnixMs(905_000));
        clock.advance(Duration::from_secs(899));
        assert_eq!(activity.ends_at(), UnixMs(905_000), "no call came");
        activity.record_call();
        assert_eq!(activity.ends_at(), UnixMs(1_804_000));
    }
}
