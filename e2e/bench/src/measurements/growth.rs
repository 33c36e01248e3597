//! What grows, and what must not: live sessions, users who come and leave, past logins.

mod month;
mod sessions;
mod users;

use crate::error::BenchError;
use crate::report::Row;
use crate::setup::Setup;
use crate::size::Size;

/// The estimated seconds.
pub(super) fn estimate(size: &Size) -> f64 {
    let parts = parts(size);
    parts[0] + parts[1] + parts[2]
}

/// The estimated seconds of the three parts.
fn parts(size: &Size) -> [f64; 3] {
    [
        size.sessions as f64 / 4_000.0 + size.rounds as f64 * 4.0,
        (size.users_a_minute * size.minutes) as f64 / 10_000.0,
        (size.logins_an_hour * size.hours) as f64 / 1_000.0,
    ]
}

/// Measures the three.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let parts = parts(&setup.size);
    let whole: f64 = parts.iter().sum();
    setup.progress.at(0.0, "live sessions");
    let mut rows = sessions::measure(setup).await?;
    setup
        .progress
        .at(parts[0] / whole, "users who come and leave");
    rows.extend(users::measure(setup).await?);
    setup
        .progress
        .at((parts[0] + parts[1]) / whole, "a simulated month");
    rows.extend(month::measure(setup).await?);
    Ok(rows)
}
