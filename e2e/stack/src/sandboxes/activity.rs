//! The fairing of the control address of a sandbox: it records its calls, because the end
//! of the sandbox is counted from the end of the last one, and it refers to the stack for more
//! sandboxes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use broker::clock::Clock;
use broker::model::UnixMs;
use rocket::fairing::AdHoc;
use rocket::{Build, Rocket, get, post, routes};

use crate::request::{ControlError, Runtime};
use crate::runtime::StackRuntime;

/// The time at which the last call ended, and the lifetime that begins with it.
pub(super) struct Activity {
    clock: Clock,
    lifetime: Duration,
    last_call_ms: AtomicI64,
    open_calls: AtomicUsize,
}

/// A call that has not ended: its answer may be an event stream.
struct OpenCall(Arc<Activity>);

impl OpenCall {
    fn begin(activity: Arc<Activity>) -> Self {
        activity.open_calls.fetch_add(1, Ordering::AcqRel);
        Self(activity)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.0.record_call();
        self.0.open_calls.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Activity {
    /// Begins now.
    pub(super) fn new(clock: Clock, lifetime: Duration) -> Self {
        let last_call_ms = AtomicI64::new(clock.now().0);
        Self {
            clock,
            lifetime,
            last_call_ms,
            open_calls: AtomicUsize::new(0),
        }
    }

    /// The end of the lifetime, unless another call comes before it, or one is open still.
    pub(super) fn ends_at(&self) -> UnixMs {
        if self.open_calls.load(Ordering::Acquire) > 0 {
            self.record_call();
        }
        let lifetime_ms = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        UnixMs(self.last_call_ms.load(Ordering::Relaxed)).plus_ms(lifetime_ms)
    }

    fn record_call(&self) {
        let now_ms = self.clock.now().0;
        self.last_call_ms.fetch_max(now_ms, Ordering::Relaxed);
    }
}

/// Adds both to the control address of a sandbox.
pub(super) fn attach(server: Rocket<Build>, activity: Arc<Activity>) -> Rocket<Build> {
    let record = AdHoc::on_request("lifetime of the sandbox", move |request, _| {
        // Rocket keeps the request until the last byte of its answer is sent.
        request.local_cache(|| OpenCall::begin(activity.clone()));
        Box::pin(async {})
    });
    server
        .attach(record)
        .mount("/api/sandboxes", routes![nested, nested_start])
}

#[get("/<_..>")]
fn nested(runtime: &Runtime) -> ControlError {
    refer_to_stack(runtime)
}

#[post("/<_..>")]
fn nested_start(runtime: &Runtime) -> ControlError {
    refer_to_stack(runtime)
}

fn refer_to_stack(runtime: &StackRuntime) -> ControlError {
    let stack = runtime.own_sandbox.as_ref().map(|own| &own.stack_control);
    ControlError::not_found(format!(
        "a sandbox has no sandboxes of its own: call the stack, at {}/api/sandboxes",
        stack.map_or("its control address", String::as_str)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lifetime_begins_again_at_the_end_of_each_call() {
        let clock = Clock::fixed_at(UnixMs(5_000));
        let activity = Arc::new(Activity::new(clock.clone(), Duration::from_secs(900)));
        assert_eq!(activity.ends_at(), UnixMs(905_000));
        clock.advance(Duration::from_secs(899));
        assert_eq!(activity.ends_at(), UnixMs(905_000), "no call came");
        let call = OpenCall::begin(activity.clone());
        assert_eq!(activity.ends_at(), UnixMs(1_804_000));
        clock.advance(Duration::from_secs(2_000));
        assert_eq!(activity.ends_at(), UnixMs(3_804_000), "it is open");
        clock.advance(Duration::from_secs(1));
        drop(call);
        clock.advance(Duration::from_secs(1));
        assert_eq!(activity.ends_at(), UnixMs(3_805_000));
    }
}
