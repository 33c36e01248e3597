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
    let [sessions, users, month] = parts(&setup.size);
    let at = |seconds: f64, next: &str| {
        let share = seconds / (sessions + users + month);
        setup.progress.at(share, next);
    };
    at(0.0, "live sessions");
    let mut rows = sessions::measure(setup).await?;
    let passed = |share: f64| at(sessions + share * users, "users who come and leave");
    rows.extend(users::measure(setup, passed).await?);
    let passed = |share: f64| at(sessions + users + share * month, "a simulated month");
    rows.extend(month::measure(setup, passed).await?);
    Ok(rows)
}
