//! The curve as rows of the table, one for each load, each with a bar.

use std::time::Duration;

use super::arrivals::{EndedLogin, OfferedLoad, Outcome};
use crate::report::{Goal, Row, Unit};
use crate::stats::{Rounds, percentile};

/// The characters of a bar for the capacity of the broker.
const BAR: f64 = 12.0;

/// A login that takes longer is not what users know.
const USUAL: Duration = Duration::from_secs(1);

/// A broker that recovers within seconds.
const RECOVERED: Goal = Goal::AtMost(5_000.0);

/// Users who arrive later are a load that cannot keep up with itself.
const MAX_LATE: Duration = Duration::from_millis(100);

/// The rows of one broker. The last load is its recovery.
pub(super) fn rows(store: &str, capacity: f64, loads: &[OfferedLoad]) -> Vec<Row> {
    let Some((recovery, loads)) = loads.split_last() else {
        return Vec::new();
    };
    let mut rows: Vec<_> = loads
        .iter()
        .map(|load| row(store, load, capacity))
        .collect();
    let ms = recovered_after(recovery).as_secs_f64() * 1e3;
    let what = format!("{store}, after the overload: until each login takes under a second");
    rows.push(Row::new(what, Unit::Milliseconds, Rounds::once(ms)).goal(Some(RECOVERED)));
    rows
}

fn row(store: &str, load: &OfferedLoad, capacity: f64) -> Row {
    let count = |is: fn(&Outcome) -> bool| times(load, is).len();
    let seconds = load.duration.as_secs_f64();
    let in_time = load.logins.iter().filter(|login| {
        matches!(login.outcome, Outcome::Completed) && login.arrived + login.took <= load.duration
    });
    let completed = in_time.count() as f64 / seconds;
    let refused = count(is_refused) as f64 / seconds;
    let offered = load.logins.len() as f64 / seconds;
    let late = match load.late > MAX_LATE {
        true => format!("; users up to {} ms late", load.late.as_millis()),
        false => String::new(),
    };
    let remark = format!(
        "`{}` refused {refused:.0}/s in {}, gave up {}, login {}{late}",
        bar(offered / capacity, completed / capacity, refused / capacity),
        median_and_tail(&times(load, is_refused)),
        count(|it| matches!(it, Outcome::GaveUp)),
        median_and_tail(&times(load, is_completed)),
    );
    let what = format!(
        "{store}, {:.1} × its capacity: completed logins",
        load.multiple
    );
    Row::new(what, Unit::PerSecond, Rounds::once(completed))
        .beside("offered", Rounds::once(offered))
        .remark(remark)
}

fn is_completed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Completed)
}

fn is_refused(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused)
}

/// The times of the logins with such an outcome, sorted.
fn times(load: &OfferedLoad, is: fn(&Outcome) -> bool) -> Vec<Duration> {
    let logins = load.logins.iter().filter(|login| is(&login.outcome));
    let mut times: Vec<_> = logins.map(|login| login.took).collect();
    times.sort_unstable();
    times
}

fn median_and_tail(times: &[Duration]) -> String {
    if times.is_empty() {
        return "–".to_owned();
    }
    let ms = |share| percentile(times, share).as_millis();
    format!("{}/{} ms", ms(0.5), ms(0.99))
}

/// The three shares of the offered logins, which are multiples of the capacity.
fn bar(offered: f64, completed: f64, refused: f64) -> String {
    let characters = |share: f64| (share * BAR).round() as usize;
    let (all, completed) = (characters(offered), characters(completed));
    let refused = characters(refused).min(all.saturating_sub(completed));
    let lost = all.saturating_sub(completed + refused);
    [("█", completed), ("▒", refused), ("·", lost)]
        .map(|(character, n)| character.repeat(n))
        .concat()
}

/// The time after which each login is as usual.
fn recovered_after(recovery: &OfferedLoad) -> Duration {
    let is_usual = |login: &&EndedLogin| is_completed(&login.outcome) && login.took <= USUAL;
    let unusual = recovery.logins.iter().filter(|login| !is_usual(login));
    unusual.map(|login| login.arrived).max().unwrap_or_default()
}
