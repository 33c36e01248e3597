//! Whether this machine's clock agrees with the database's.
//!
//! Rows hold times by the clock of the broker that wrote them, and every broker
//! judges and sweeps them by its own.

use super::{Store, StoreError};
use crate::clock::Clock;
use crate::model::upstream_login::UpstreamLogin;

/// The largest difference between a broker's clock and its database's, in
/// milliseconds. Two brokers are twice as far apart, at most: no further than a
/// consumed upstream login is remembered beyond its end, or one broker could forget
/// what counts at another.
const MAX_SKEW_MS: i64 = 30_000;
const _: () = assert!(2 * MAX_SKEW_MS <= UpstreamLogin::REMEMBERED_MS);

/// Checks that `clock` agrees with the clock of `store`, if that has one. What the
/// clock was moved by hand does not count: it is meant.
///
/// # Errors
///
/// A difference of more than [`MAX_SKEW_MS`], or a store that cannot be asked.
pub(crate) async fn check(store: &dyn Store, clock: &Clock) -> Result<(), StoreError> {
    let Some(theirs) = store.time().await? else {
        return Ok(());
    };
    let ours = clock.now().plus_ms(-clock.advanced_ms());
    let ahead_ms = ours.0.saturating_sub(theirs.0);
    if ahead_ms.saturating_abs() > MAX_SKEW_MS {
        return Err(StoreError::ClockDiffers { ahead_ms });
    }
    Ok(())
}

/// The error message for a clock that is `ahead_ms` ahead of the database's, or behind it
/// if that is negative.
pub(super) fn complaint(ahead_ms: i64) -> String {
    let seconds = ahead_ms.unsigned_abs() / 1000;
    let direction = if ahead_ms > 0 { "ahead of" } else { "behind" };
    format!(
        "this broker's clock is {seconds} s {direction} the database's, and may differ by {} s: \
         brokers that share a database must agree about what has expired; set the clocks \
         right, and restart the broker if its own was ahead",
        MAX_SKEW_MS / 1000
    )
}
