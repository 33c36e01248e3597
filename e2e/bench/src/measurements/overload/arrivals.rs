//! Users who arrive at a fixed rate, however long the answers take.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::BenchError;
use crate::load::connection::Connection;
use crate::load::login::Login;

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
pub(super) struct Users {
    address: SocketAddr,
    login: Login,
    idle: Idle,
    /// One for each of them.
    places: Arc<Semaphore>,
}

/// The logins that began under one load.
#[derive(Debug)]
pub(super) struct OfferedLoad {
    /// In multiples of the broker's capacity.
    pub(super) multiple: f64,
    /// From the first arrival to the last.
    pub(super) duration: Duration,
    /// The most by which an arrival was late: the load itself was too slow.
    pub(super) late: Duration,
    /// Those that have ended.
    pub(super) logins: Vec<EndedLogin>,
    under_way: JoinSet<Result<EndedLogin, BenchError>>,
}

/// A login that has ended.
#[derive(Debug)]
pub(super) struct EndedLogin {
    /// Since the beginning of its load.
    pub(super) arrived: Duration,
    /// From the arrival to the last answer.
    pub(super) took: Duration,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed,
    /// Its first request was answered with `Retry-After`.
    Refused,
    GaveUp,
}

impl OfferedLoad {
    /// Waits until every login has ended. Refused logins, and those of users who gave up,
    /// are what is measured; any other one must succeed.
    pub(super) async fn ended(mut self) -> Result<Self, BenchError> {
        while let Some(ended) = self.under_way.join_next().await {
            self.logins.push(ended.expect("no login panics")?);
        }
        Ok(self)
    }
}

impl EndedLogin {
    /// Whether it completed, and took at most this long.
    pub(super) fn is_within(&self, limit: Duration) -> bool {
        self.outcome == Outcome::Completed && self.took <= limit
    }
}

impl Users {
    /// Opens a connection for each of them.
    pub(super) async fn connect(address: SocketAddr, login: Login) -> Result<Self, BenchError> {
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
    pub(super) async fn arrive(&self, multiple: f64, capacity: f64, seconds: u32) -> OfferedLoad {
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
    let mut times = Vec::with_capacity(4);
    let result = login.run(&mut client, &mut times).await;
    lock().push(client);
    match result {
        Ok(()) => Ok(Outcome::Completed),
        // A login that has begun must never be refused.
        Err(BenchError::Refused { .. }) if times.len() == 1 => Ok(Outcome::Refused),
        Err(error) => Err(error),
    }
}
