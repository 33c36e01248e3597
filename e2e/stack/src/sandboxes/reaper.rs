//! The task that ends the sandboxes whose lifetime is over.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::Sandboxes;

/// Starts the task, which ends together with `sandboxes`.
pub(super) fn start(sandboxes: &Arc<Sandboxes>) {
    let changed = sandboxes.changed.clone();
    tokio::spawn(reap(Arc::downgrade(sandboxes), changed));
}

#[expect(
    clippy::disallowed_methods,
    reason = "a sandbox ends by the system's time, which no test moves"
)]
async fn reap(sandboxes: Weak<Sandboxes>, changed: Arc<Notify>) {
    loop {
        let Some(next_end) = end_overdue(&sandboxes).await else {
            return;
        };
        tokio::select! {
            () = tokio::time::sleep(next_end) => {}
            () = changed.notified() => {}
        }
    }
}

/// Ends the sandboxes whose lifetime is over. Returns the time until the next one may be;
/// `None` if there will be no more sandboxes.
async fn end_overdue(sandboxes: &Weak<Sandboxes>) -> Option<Duration> {
    let sandboxes = sandboxes.upgrade()?;
    for id in sandboxes.overdue() {
        if sandboxes.end(id).await {
            tracing::info!(
                sandbox = %id,
                "a sandbox has ended: its control address was not called for its ttl_seconds"
            );
        }
    }
    Some(sandboxes.next_end().unwrap_or(Duration::MAX))
}
