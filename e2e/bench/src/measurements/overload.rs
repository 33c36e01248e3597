//! Overload: offered against completed logins, up to three times what the broker can
//! serve, and the time until it has recovered. Users arrive at a fixed rate, however long the
//! answers take.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::BenchError;
use crate::load::Load;
use crate::load::connection::Connection;
use crate::load::login::Login;
use crate::report::{Figure, Goal, MILLISECONDS, PER_SECOND, Results, Row, ms, percentile};
use crate::servers::broker::Store;
use crate::setup::{Setup, announce};

/// The loads up to the greatest, in multiples of the broker's capacity.
const LOADS: [f64; 6] = [0.5, 0.8, 1.0, 1.2, 1.5, 2.0];
const GREATEST: f64 = 3.0;

/// The load that follows the greatest at once.
const RECOVERY: f64 = 0.5;

/// A login that takes longer is not what users know.
const USUAL: Duration = Duration::from_secs(1);

/// The clients who each wait for their answers, and therefore never overload a broker: their
/// logins a second are its capacity.
const CLIENTS: usize = 64;

const LOGIN: Login = Login::CleanGitHub;

const OFFERED: &str = "offered";
const COMPLETED: Figure = Figure("completed logins", PER_SECOND);
const RECOVERED: Figure = Figure("until each login takes under a second", MILLISECONDS);

/// Measures a broker in memory and one on a file: a row for each load.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for store in [Store::Memory, Store::File] {
        announce(&format!("overload, {}", store.name()));
        let broker = setup.start_broker(&setup.configure(&store)?)?;
        let mut load = Load::at(broker.address, CLIENTS).await?;
        load.run(LOGIN, setup.size.logins / 4).await?;
        let times = load.run(LOGIN, setup.size.logins).await?;
        let capacity = times.logins as f64 / times.whole.as_secs_f64();
        let users = Users::connect(broker.address, setup.size.overload_seconds).await?;
        rows.extend(users.curve(store.name(), capacity).await?);
    }
    Ok(rows)
}

/// One load of the curve.
fn row(what: &str, seconds: u32, logins: &[EndedLogin]) -> Row {
    let each_second = |logins: usize| logins as f64 / f64::from(seconds);
    let duration = Duration::from_secs(seconds.into());
    let in_time = |it: &&EndedLogin| it.is_within(duration.saturating_sub(it.arrived));
    let times = |outcome| {
        let logins = logins.iter().filter(|it| it.outcome == outcome);
        logins.map(|it| it.took).collect::<Vec<_>>()
    };
    let refused = times(Outcome::Refused);
    let remark = format!(
        "p50/p99 {}; {:.0}/s refused in {}; {} gave up",
        median_and_tail(&times(Outcome::Completed)),
        each_second(refused.len()),
        median_and_tail(&refused),
        times(Outcome::GaveUp).len(),
    );
    let mut results = Results::default();
    let completed = logins.iter().filter(in_time).count();
    results.add(what, COMPLETED, each_second(completed));
    results.add(OFFERED, COMPLETED, each_second(logins.len()));
    results.row("", what, COMPLETED, OFFERED).remark(remark)
}

fn median_and_tail(times: &[Duration]) -> String {
    let of = |share| percentile(times.to_vec(), share).as_millis();
    format!("{}/{} ms", of(0.5), of(0.99))
}

/// The time after which a user gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The users at once, each with a connection. The next gives up.
///
/// The connections are open before anyone arrives, as a reverse proxy keeps them: the
/// broker's queue of new connections has 128 places, and what finds it full waits for a
/// second before any code of the broker runs.
const MAX_USERS: usize = 6_000;

/// Users of one broker. Each signs in once, on a connection that no other user has then.
#[derive(Clone)]
struct Users {
    address: SocketAddr,
    /// Connections that no user has at the moment.
    idle: Arc<Mutex<Vec<Connection>>>,
    /// The length of a load.
    seconds: u32,
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

impl EndedLogin {
    /// Whether it completed, and took at most this long.
    fn is_within(&self, limit: Duration) -> bool {
        self.outcome == Outcome::Completed && self.took <= limit
    }
}

/// The logins that began under one load.
type UnderWay = JoinSet<Result<EndedLogin, BenchError>>;

impl Users {
    /// Opens a connection for each of them.
    async fn connect(address: SocketAddr, seconds: u32) -> Result<Self, BenchError> {
        let mut idle = Vec::with_capacity(MAX_USERS);
        for _ in 0..MAX_USERS {
            idle.push(Connection::open(address).await?);
        }
        let idle = Arc::new(Mutex::new(idle));
        Ok(Self {
            address,
            idle,
            seconds,
        })
    }

    /// Measures the loads one after the other, and the recovery from the greatest.
    async fn curve(&self, store: &str, capacity: f64) -> Result<Vec<Row>, BenchError> {
        let row_of = async |load, under_way| {
            let what = format!("{store}, {load:.1} × its capacity");
            Ok::<_, BenchError>(row(&what, self.seconds, &ended(under_way).await?))
        };
        let mut rows = Vec::new();
        for load in LOADS {
            // The queue of an earlier load must not be part of this one.
            rows.push(row_of(load, self.arrive(load * capacity, 1).await).await?);
        }
        let greatest = self.arrive(GREATEST * capacity, 1).await;
        let recovery = self.arrive(RECOVERY * capacity, 2).await;
        rows.push(row_of(GREATEST, greatest).await?);
        let recovery = ended(recovery).await?;
        let unusual = recovery.iter().filter(|it| !it.is_within(USUAL));
        let recovered = unusual.map(|it| it.arrived).max().unwrap_or_default();
        let what = format!("{store}, after the overload");
        let mut results = Results::default();
        results.add(&what, RECOVERED, ms(recovered));
        let row = results.row("", &what, RECOVERED, "");
        rows.push(row.goal(Goal::Most(5_000.0)));
        Ok(rows)
    }

    /// Lets users arrive for this many times the length of a load, and does not wait for their
    /// logins to end.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    async fn arrive(&self, each_second: f64, lengths: u32) -> UnderWay {
        let mut under_way = JoinSet::new();
        let between = Duration::from_secs_f64(1.0 / each_second);
        let (began, mut since) = (Instant::now(), Duration::ZERO);
        while since < Duration::from_secs((lengths * self.seconds).into()) {
            let arrived = began + since;
            sleep_until(arrived).await;
            let login = sign_in(self.clone());
            under_way.spawn(async move {
                let outcome = login.await?;
                Ok(EndedLogin {
                    arrived: since,
                    took: arrived.elapsed(),
                    outcome,
                })
            });
            since += between;
        }
        under_way
    }
}

/// Waits until every login has ended.
async fn ended(under_way: UnderWay) -> Result<Vec<EndedLogin>, BenchError> {
    under_way.join_all().await.into_iter().collect()
}

/// Signs in on an idle connection. A refused login, and that of a user who gives up, are
/// what is measured; any other one must succeed.
#[expect(clippy::disallowed_methods, reason = "users give up in real time")]
async fn sign_in(users: Users) -> Result<Outcome, BenchError> {
    let lock = || users.idle.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut client) = lock().pop() else {
        return Ok(Outcome::GaveUp);
    };
    if !client.is_open() {
        client = Connection::open(users.address).await?;
    }
    client.times.clear();
    let outcome = match timeout(PATIENCE, LOGIN.run(&mut client)).await {
        Ok(Ok(())) => Outcome::Completed,
        // A login that has begun must never be refused.
        Ok(Err(BenchError::Refused(_))) if client.times.len() == 1 => Outcome::Refused,
        Ok(Err(error)) => return Err(error),
        Err(_) => {
            client = Connection::open(users.address).await?;
            Outcome::GaveUp
        }
    };
    lock().push(client);
    Ok(outcome)
}
