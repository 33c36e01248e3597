//! Users who come and leave at the store, on a SQLite file, with the sweeper beside them.

use std::time::Instant;

use crate::error::BenchError;
use crate::report::{Goal, Row, Unit};
use crate::servers::process::cpu_of;
use crate::setup::Setup;
use crate::stats::{Rounds, us};
use crate::store::users::Minute;

use super::sessions::file_bytes;

/// The minutes before the first rows expire: their number no longer grows then.
const FILLING: usize = 20;

/// What the minutes cost.
#[derive(Default)]
struct Minutes {
    /// The CPU time of a login.
    cpu_us: Rounds,
    /// The share of each minute that its work took.
    percent: Rounds,
    file_mb: Rounds,
}

/// Measures the minutes before anything expires, and those in which as much expires as is
/// added. `passed` is called with the share that has passed.
pub(super) async fn measure(setup: &Setup, passed: impl Fn(f64)) -> Result<Vec<Row>, BenchError> {
    let users = setup.size.users_a_minute;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let path = folder.path().join("broker.db");
    let store = crate::store::at(&format!("sqlite:{}", path.display())).await?;
    let (mut first, mut last) = (Minutes::default(), Minutes::default());
    for number in 0..setup.size.minutes {
        passed(number as f64 / setup.size.minutes as f64);
        let minute = Minute::numbered(number, users);
        let (began, cpu) = (now(), cpu_of(std::process::id())?);
        minute.pass(&*store).await?;
        let cpu = cpu_of(std::process::id())?.saturating_sub(cpu);
        let minutes = match number < FILLING {
            true => &mut first,
            false => &mut last,
        };
        minutes.cpu_us.push(us(cpu) / users as f64);
        minutes
            .percent
            .push((now() - began).as_secs_f64() / 60.0 * 100.0);
        minutes.file_mb.push(file_bytes(&path)? as f64 / 1e6);
    }
    let full = Rounds::once(first.file_mb.spread().max);
    let flat = Rounds::once(last.file_mb.spread().max);
    let what = format!("store, {users} users a minute");
    Ok(vec![
        Row::new(
            format!("{what}, as many leave as come: CPU of a login"),
            Unit::Microseconds,
            Rounds::once(last.cpu_us.median()),
        )
        .beside("before any leaves", Rounds::once(first.cpu_us.median()))
        .remark("five steps, on one core; the sweeper's share is included"),
        Row::new(
            format!("{what}, as many leave as come: share of a minute"),
            Unit::Percent,
            last.percent,
        )
        .goal(Some(Goal::AtMost(100.0))),
        Row::new(
            format!("{what}: SQLite file and its log at the end"),
            Unit::Megabytes,
            flat,
        )
        .beside("after 20 minutes", full)
        .goal(Some(Goal::RatioAtMost(1.1))),
    ])
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn now() -> Instant {
    Instant::now()
}
