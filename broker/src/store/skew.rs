//! The clock skew between this machine and the database.
//!
//! Rows hold times by the clock of the broker that wrote them, and every broker
//! checks and sweeps them by its own.

use super::error::StoreError;
use super::interface::Store;
use crate::clock::Clock;
use crate::model::upstream_login::UpstreamLogin;

/// The largest difference between a broker's clock and its database's, in
/// milliseconds. Two brokers differ by at most twice as much: no more than a
/// consumed upstream login is remembered beyond its end, or one broker could forget
/// it while it still counts at another.
const MAX_SKEW_MS: i64 = 30_000;
const _: () = assert!(2 * MAX_SKEW_MS <= UpstreamLogin::REMEMBERED_MS);

/// Checks that `clock` agrees with the clock of `store`, if that has one. The offset
/// of a clock that was advanced by hand is intended and does not count.
///
/// # Errors
///
/// If the clocks differ by more than [`MAX_SKEW_MS`], or the store fails.
pub(crate) async fn check(store: &dyn Store, clock: &Clock) -> Result<(), StoreError> {
    let Some(theirs) = store.time().await? else {
        return Ok(());
    };
    let ours = clock.now().plus_ms(-clock.advanced_ms());
    let ahead_ms = ours.0.saturating_sub(theirs.0);
    if ahead_ms.saturating_abs() > MAX_SKEW_MS {
        return Err(StoreError::ClockDiffers {
            ahead_ms,
            allowed_ms: MAX_SKEW_MS,
        });
    }
    Ok(())
}
