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
    check_difference(ours.0.saturating_sub(theirs.0))
}

fn check_difference(ahead_ms: i64) -> Result<(), StoreError> {
    if ahead_ms.saturating_abs() > MAX_SKEW_MS {
        return Err(StoreError::ClockDiffers {
            ahead_ms,
            allowed_ms: MAX_SKEW_MS,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Threats: L3.
    #[test]
    fn clocks_may_differ_by_thirty_seconds_and_no_more() {
        for allowed in [0, MAX_SKEW_MS, -MAX_SKEW_MS] {
            assert!(check_difference(allowed).is_ok(), "{allowed} ms");
        }
        for (ahead_ms, difference) in [
            (
                30_001,
                "is 30 s ahead of the database's, and may differ by 30 s",
            ),
            (
                -3_600_000,
                "is 3600 s behind the database's, and may differ by 30 s",
            ),
        ] {
            let error = check_difference(ahead_ms)
                .expect_err("too much")
                .to_string();
            assert!(error.contains(difference), "{error}");
        }
    }
}
