//! Overload: offered against completed logins, up to three times what the broker can
//! serve, and the time until it has recovered. Users arrive at a fixed rate, however long the
//! answers take.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::BenchError;
use crate::load::Load;
use crate::load::connection::Connection;
use crate::load::login::Login;
use crate::report::{Goal, Rounds, Row, Unit, percentile};
use crate::servers::broker::Store;
use crate::servers::{folder, providers};
use crate::setup::{Setup, Size};

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
    let folder = folder()?;
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

/// The time after which a user gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The users at once, each with a connection. The next gives up.
///
/// The connections are open before anyone arrives, as a reverse proxy keeps them: the
/// broker's queue of new connections has 128 places, and what finds it full waits for a
/// second before any code of the broker runs.
const MAX_USERS: usize = 6_000;

/// Connections that no user has at the moment.
type Idle = Arc<Mutex<Vec<Connection>>>;

/// Users of one broker. Each signs in once, on a connection that no other user has then.
struct Users {
    address: SocketAddr,
    login: Login,
    idle: Idle,
    /// One for each of them.
    places: Arc<Semaphore>,
}

/// The logins that began under one load.
#[derive(Debug)]
struct OfferedLoad {
    /// In multiples of the broker's capacity.
    multiple: f64,
    /// From the first arrival to the last.
    duration: Duration,
    /// The most by which an arrival was late: the load itself was too slow.
    late: Duration,
    /// Those that have ended.
    logins: Vec<EndedLogin>,
    under_way: JoinSet<Result<EndedLogin, BenchError>>,
}

/// A login that has ended.
#[derive(Debug)]
struct EndedLogin {
    /// Since the beginning of its load.
    arrived: Duration,
    /// From the arrival to the last answer.
    took: Duration,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Completed,
    /// Its first request was answered with `Retry-After`.
    Refused,
    GaveUp,
}

impl OfferedLoad {
    /// Waits until every login has ended. Refused logins, and those of users who gave up,
    /// are what is measured; any other one must succeed.
    async fn ended(mut self) -> Result<Self, BenchError> {
        while let Some(ended) = self.under_way.join_next().await {
            self.logins.push(ended.expect("no login panics")?);
        }
        Ok(self)
    }
}

impl EndedLogin {
    /// Whether it completed, and took at most this long.
    fn is_within(&self, limit: Duration) -> bool {
        self.outcome == Outcome::Completed && self.took <= limit
    }
}

impl Users {
    /// Opens a connection for each of them.
    async fn connect(address: SocketAddr, login: Login) -> Result<Self, BenchError> {
        let mut idle = Vec::with_capacity(MAX_USERS);
        for _ in 0..MAX_USERS {
            idle.push(Connection::open(address).await?);
        }
        Ok(Self {
            address,
            login,
            idle: Arc::new(Mutex::new(idle)),
            places: Arc::new(Semaphore::new(MAX_USERS)),
        })
    }

    /// Lets users arrive for some seconds, and does not wait for their logins to
    /// [end](OfferedLoad::ended).
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    async fn arrive(&self, multiple: f64, capacity: f64, seconds: u32) -> OfferedLoad {
        let mut load = OfferedLoad {
            multiple,
            duration: Duration::from_secs(seconds.into()),
            late: Duration::ZERO,
            logins: Vec::new(),
            under_way: JoinSet::new(),
        };
        let between = Duration::from_secs_f64(1.0 / (capacity * multiple));
        let (began, mut arrival) = (Instant::now(), Duration::ZERO);
        while arrival < load.duration {
            let arrived = began + arrival;
            sleep_until(arrived).await;
            load.late = load.late.max(arrived.elapsed());
            let place = self.places.clone().try_acquire_owned();
            let login = sign_in(self.address, self.login, self.idle.clone());
            load.under_way.spawn(async move {
                let outcome = match place {
                    Ok(_place) => timeout(PATIENCE, login).await,
                    Err(_) => Ok(Ok(Outcome::GaveUp)),
                };
                Ok(EndedLogin {
                    arrived: arrived - began,
                    outcome: outcome.unwrap_or(Ok(Outcome::GaveUp))?,
                    took: arrived.elapsed(),
                })
            });
            arrival += between;
        }
        load
    }
}

/// Signs in on an idle connection, or on a new one.
async fn sign_in(address: SocketAddr, login: Login, idle: Idle) -> Result<Outcome, BenchError> {
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let open = lock().pop().filter(Connection::is_open);
    let mut client = match open {
        Some(client) => client,
        None => Connection::open(address).await?,
    };
    client.times.clear();
    let result = login.run(&mut client).await;
    let requests = client.times.len();
    lock().push(client);
    match result {
        Ok(()) => Ok(Outcome::Completed),
        // A login that has begun must never be refused.
        Err(BenchError::Refused { .. }) if requests == 1 => Ok(Outcome::Refused),
        Err(error) => Err(error),
    }
}
