//! The errors of a store.

use super::sql::SCHEMA_VERSION;

/// A step of the store failed. The caller must not assume that it happened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The engine reported an error; its message, which never contains a row's data.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The tables have another version. Waiting does not help.
    #[error(
        "the database has the tables of version {0}, this broker those of {SCHEMA_VERSION}: \
         run the broker that made them, or name another database in store.url"
    )]
    OtherVersion(i64),
    /// The clocks of this machine and of the database differ too much.
    #[error("{}", clocks_differ(*ahead_ms, *allowed_ms))]
    ClockDiffers {
        /// The milliseconds by which this machine's clock is ahead; negative if it
        /// is behind.
        ahead_ms: i64,
        /// The largest difference that is allowed, in milliseconds.
        allowed_ms: i64,
    },
    /// The engine has stopped.
    #[error("the store has stopped")]
    Stopped,
}

/// Rejects tables of another version.
pub(super) fn check_version(found: i64) -> Result<(), StoreError> {
    match found {
        SCHEMA_VERSION => Ok(()),
        other => Err(StoreError::OtherVersion(other)),
    }
}

fn clocks_differ(ahead_ms: i64, allowed_ms: i64) -> String {
    let seconds = ahead_ms.unsigned_abs() / 1000;
    let direction = if ahead_ms > 0 { "ahead of" } else { "behind" };
    format!(
        "this broker's clock is {seconds} s {direction} the database's, and may differ by {} s: \
         brokers that share a database must agree about what has expired; set the clocks \
         right, and restart the broker if its own was ahead",
        allowed_ms / 1000
    )
}
