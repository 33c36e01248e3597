//! Overload: offered against completed logins, up to three times what the broker can
//! serve, and the time until it has recovered.

mod arrivals;

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::Store;
use crate::servers::providers;
use crate::setup::{Setup, Size};
use crate::stats::{Rounds, percentile};
use arrivals::{EndedLogin, OfferedLoad, Outcome, Users};

/// The loads up to the greatest, in multiples of the broker's capacity.
const LOADS: [f64; 6] = [0.5, 0.8, 1.0, 1.2, 1.5, 2.0];
const GREATEST: f64 = 3.0;

/// The load that follows the greatest at once.
const RECOVERY: f64 = 0.5;

/// The factor between two loads of which one is the broker's capacity.
const MORE: f64 = 1.1;

/// The characters of a bar for the capacity of the broker.
const BAR: f64 = 12.0;

/// A login that takes longer is not what users know.
const USUAL: Duration = Duration::from_secs(1);

/// A broker that recovers within seconds.
const RECOVERED: Goal = Goal::AtMost(5_000.0);

/// Users who arrive later are a load that cannot keep up with itself.
const MAX_LATE: Duration = Duration::from_millis(100);

/// The clients who keep a broker busy at first.
const CLIENTS: usize = 16;

const LOGIN: Login = Login::CleanGitHub;

/// The seconds that it takes.
pub(super) fn estimate(size: &Size) -> f64 {
    // The capacity, and what waits at the end of each load.
    let each = (LOADS.len() + 3) as f64 * size.overload_seconds as f64 * 1.5;
    2.0 * (20.0 + each)
}

/// Measures a broker in memory and one on a file: a row for each load.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start().await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let stores = [Store::Memory, Store::File(folder.path().join("broker.db"))];
    let mut rows = Vec::new();
    let seconds = setup.size.overload_seconds;
    for (number, store) in stores.into_iter().enumerate() {
        let broker = setup.start_broker(&setup.programs.broker, &store, providers)?;
        let users = Users::connect(broker.address, LOGIN).await?;
        setup.progress.at(number as f64 / 2.0, store.name());
        let capacity = capacity(&users, broker.address, seconds).await?;
        rows.extend(curve(&users, store.name(), capacity, seconds).await?);
    }
    Ok(rows)
}

/// The greatest number of logins a second of which nearly all are as quick as usual.
///
/// It begins with what clients reach who each wait for their answers, and therefore never
/// overload a broker.
async fn capacity(users: &Users, address: SocketAddr, seconds: u32) -> Result<f64, BenchError> {
    let mut load = Load::connect(address, CLIENTS, LOGIN).await?;
    load.run(8 * CLIENTS).await?;
    let whole = load.run(8 * CLIENTS).await?.whole;
    let mut capacity = (8 * CLIENTS) as f64 / whole.as_secs_f64();
    while are_served_quickly(users, capacity * MORE, seconds).await? {
        capacity *= MORE;
    }
    while !are_served_quickly(users, capacity, seconds).await? {
        capacity /= MORE;
    }
    Ok(capacity)
}

/// Whether nearly all logins complete within a quarter of a second if this number of users
/// arrives in each of these seconds.
async fn are_served_quickly(
    users: &Users,
    each_second: f64,
    seconds: u32,
) -> Result<bool, BenchError> {
    const QUICK: Duration = Duration::from_millis(250);
    let load = users
        .arrive(1.0, each_second, seconds)
        .await
        .ended()
        .await?;
    let quick = load.logins.iter().filter(|it| it.is_within(QUICK)).count();
    Ok(quick * 100 >= load.logins.len() * 98)
}

/// Measures the loads one after the other, and the recovery from the greatest.
async fn curve(
    users: &Users,
    store: &str,
    capacity: f64,
    seconds: u32,
) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for load in LOADS {
        // The queue of an earlier load must not be part of this one.
        let load = users.arrive(load, capacity, seconds).await.ended().await?;
        rows.push(row(store, &load, capacity));
    }
    let greatest = users.arrive(GREATEST, capacity, seconds).await;
    let recovery = users.arrive(RECOVERY, capacity, 2 * seconds).await;
    rows.push(row(store, &greatest.ended().await?, capacity));
    let ms = recovered_after(&recovery.ended().await?).as_secs_f64() * 1e3;
    let what = format!("{store}, after the overload: until each login takes under a second");
    rows.push(Row::new(what, Unit::MILLISECONDS, Rounds::once(ms)).goal(RECOVERED));
    Ok(rows)
}

/// One load of the curve.
fn row(store: &str, load: &OfferedLoad, capacity: f64) -> Row {
    let each_second = |logins: usize| logins as f64 / load.duration.as_secs_f64();
    let in_time = |it: &&EndedLogin| it.is_within(load.duration.saturating_sub(it.arrived));
    let in_time = load.logins.iter().filter(in_time);
    let refused = times(load, Outcome::Refused);
    let shares = [load.logins.len(), in_time.count(), refused.len()].map(each_second);
    let late = match load.late > MAX_LATE {
        true => format!("; users up to {} ms late", load.late.as_millis()),
        false => String::new(),
    };
    let remark = format!(
        "`{}` refused {:.0}/s in {}, gave up {}, login {}{late}",
        bar(shares.map(|it| it / capacity)),
        shares[2],
        median_and_tail(&refused),
        times(load, Outcome::GaveUp).len(),
        median_and_tail(&times(load, Outcome::Completed)),
    );
    let multiple = load.multiple;
    let what = format!("{store}, {multiple:.1} × its capacity: completed logins");
    Row::new(what, Unit::PER_SECOND, Rounds::once(shares[1]))
        .beside("offered", Rounds::once(shares[0]))
        .remark(remark)
}

/// The times of the logins with this outcome, sorted.
fn times(load: &OfferedLoad, outcome: Outcome) -> Vec<Duration> {
    let logins = load.logins.iter().filter(|it| it.outcome == outcome);
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

/// The offered, completed and refused logins, in multiples of the capacity.
fn bar(shares: [f64; 3]) -> String {
    let [all, completed, refused] = shares.map(|share| (share * BAR).round() as usize);
    let refused = refused.min(all.saturating_sub(completed));
    let lost = all.saturating_sub(completed + refused);
    [("█", completed), ("▒", refused), ("·", lost)]
        .map(|(character, n)| character.repeat(n))
        .concat()
}

/// The time after which each login is as usual.
fn recovered_after(recovery: &OfferedLoad) -> Duration {
    let unusual = recovery.logins.iter().filter(|it| !it.is_within(USUAL));
    unusual.map(|login| login.arrived).max().unwrap_or_default()
}
