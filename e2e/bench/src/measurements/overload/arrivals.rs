//! Users who arrive at a fixed rate, however long the answers take.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::BenchError;
use crate::load::client::Client;
use crate::load::login::Login;

/// The time after which a user gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The users at once, each with a connection. The next gives up.
///
/// The connections are open before anyone arrives, as a reverse proxy keeps them: the
/// broker's queue of new connections has 128 places, and what finds it full waits for a
/// second before any code of the broker runs.
const MAX_USERS: usize = 6_000;

/// Users of one broker. Each signs in once, on a connection that no other user has then.
pub(super) struct Users {
    address: SocketAddr,
    login: Login,
    idle: Arc<Mutex<Vec<Client>>>,
    signing_in: JoinSet<(usize, EndedLogin)>,
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
    pub(super) logins: Vec<EndedLogin>,
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

#[derive(Debug)]
pub(super) enum Outcome {
    Completed,
    /// Its first request was answered with `Retry-After`.
    Refused,
    GaveUp,
    Failed(BenchError),
}

impl OfferedLoad {
    /// Whether nearly all logins completed within a quarter of a second.
    fn is_quick(&self) -> bool {
        const QUICK: Duration = Duration::from_millis(250);
        let is_quick = |login: &&EndedLogin| {
            matches!(login.outcome, Outcome::Completed) && login.took <= QUICK
        };
        let quick = self.logins.iter().filter(is_quick).count();
        quick * 100 >= self.logins.len() * 98
    }

    /// Refused logins, and those of users who gave up, are what is measured. Any other one
    /// must succeed: this is the error of the first that did not.
    pub(super) fn first_failure(&mut self) -> Result<(), BenchError> {
        let failure = self.logins.drain(..).find_map(|login| match login.outcome {
            Outcome::Failed(error) => Some(error),
            Outcome::Completed | Outcome::Refused | Outcome::GaveUp => None,
        });
        failure.map_or(Ok(()), Err)
    }
}

impl Users {
    /// Opens a connection for each of them.
    pub(super) async fn connect(address: SocketAddr, login: Login) -> Result<Self, BenchError> {
        let mut idle = Vec::with_capacity(MAX_USERS);
        for _ in 0..MAX_USERS {
            idle.push(Client::connect(address).await?);
        }
        Ok(Self {
            address,
            login,
            idle: Arc::new(Mutex::new(idle)),
            signing_in: JoinSet::new(),
            places: Arc::new(Semaphore::new(MAX_USERS)),
        })
    }

    /// Lets users arrive for some seconds, and returns the load without its logins:
    /// [`wait_for_all`](Self::wait_for_all) adds them to the load at `index`.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    pub(super) async fn arrive(
        &mut self,
        index: usize,
        multiple: f64,
        capacity: f64,
        seconds: u32,
    ) -> OfferedLoad {
        let duration = Duration::from_secs(seconds.into());
        let between = Duration::from_secs_f64(1.0 / (capacity * multiple));
        let (began, mut arrival, mut late) = (Instant::now(), Duration::ZERO, Duration::ZERO);
        while arrival < duration {
            let arrived = began + arrival;
            sleep_until(arrived).await;
            late = late.max(arrived.elapsed());
            let place = self.places.clone().try_acquire_owned();
            let login = sign_in(self.address, self.login, self.idle.clone());
            self.signing_in.spawn(async move {
                let outcome = match place {
                    Ok(_place) => timeout(PATIENCE, login).await,
                    Err(_) => Ok(Outcome::GaveUp),
                };
                let outcome = outcome.unwrap_or(Outcome::GaveUp);
                let ended = EndedLogin {
                    arrived: arrived - began,
                    took: arrived.elapsed(),
                    outcome,
                };
                (index, ended)
            });
            arrival += between;
        }
        OfferedLoad {
            multiple,
            duration,
            late,
            logins: Vec::new(),
        }
    }

    /// Whether nearly all users are served quickly if so many arrive in each of these
    /// seconds.
    pub(super) async fn are_served_quickly(
        &mut self,
        each_second: f64,
        seconds: u32,
    ) -> Result<bool, BenchError> {
        let mut loads = [self.arrive(0, 1.0, each_second, seconds).await];
        self.wait_for_all(&mut loads).await;
        let [mut load] = loads;
        let is_quick = load.is_quick();
        load.first_failure()?;
        Ok(is_quick)
    }

    /// Waits until every login has ended, and adds each to its load.
    pub(super) async fn wait_for_all(&mut self, loads: &mut [OfferedLoad]) {
        while let Some(ended) = self.signing_in.join_next().await {
            let (index, login) = ended.expect("no login panics");
            loads[index].logins.push(login);
        }
    }
}

/// Signs in on an idle connection, or on a new one.
async fn sign_in(address: SocketAddr, login: Login, idle: Arc<Mutex<Vec<Client>>>) -> Outcome {
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let open = lock().pop().filter(|client| client.broker.is_open());
    let client = match open {
        Some(client) => Ok(client),
        None => Client::connect(address).await,
    };
    let mut client = match client {
        Ok(client) => client,
        Err(error) => return Outcome::Failed(error),
    };
    let mut times = Vec::with_capacity(4);
    let result = login.run(&mut client, &mut times).await;
    lock().push(client);
    match result {
        Ok(()) => Outcome::Completed,
        // A login that has begun must never be refused.
        Err(BenchError::Refused { .. }) if times.len() == 1 => Outcome::Refused,
        Err(error) => Outcome::Failed(error),
    }
}
