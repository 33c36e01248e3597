//! The load: clients that sign in one login after another, each on connections of its
//! own, and the times of their requests.

pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod login;
pub(crate) mod secrets;

mod flows;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use tokio::task::AbortHandle;

use crate::error::BenchError;
use client::Client;
use login::Login;

/// Clients that are connected to one server, or to several.
pub(crate) struct Load {
    clients: Vec<Client>,
    login: Login,
    stays_awake: bool,
}

/// Keeps the core of the load awake. A server that sends to a core that sleeps has to wake
/// it, which costs several microseconds; a busy load is awake by itself. Without this the
/// slower of two servers would pay for more wake-ups, and the ratio would be too high.
struct Awake(AbortHandle);

impl Awake {
    fn begin() -> Self {
        let never_sleeps = async {
            loop {
                tokio::task::yield_now().await;
            }
        };
        Self(tokio::spawn(never_sleeps).abort_handle())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The times of a number of logins.
#[derive(Debug)]
pub(crate) struct Times {
    /// From the first request to the last answer.
    pub(crate) whole: Duration,
    /// The time of each request, sorted.
    pub(crate) requests: Vec<Duration>,
}

impl Load {
    /// Connects `clients` clients to the server at `address`.
    pub(crate) async fn connect(
        address: SocketAddr,
        clients: usize,
        login: Login,
    ) -> Result<Self, BenchError> {
        Self::connect_in_turn(&[address], clients, login).await
    }

    /// Connects `clients` clients to these servers, in turn.
    pub(crate) async fn connect_in_turn(
        addresses: &[SocketAddr],
        clients: usize,
        login: Login,
    ) -> Result<Self, BenchError> {
        let addresses = addresses.iter().cycle().take(clients);
        let clients = try_join_all(addresses.map(|address| Client::connect(*address))).await?;
        Ok(Self::of(clients, login))
    }

    /// The load of these clients.
    pub(crate) fn of(clients: Vec<Client>, login: Login) -> Self {
        Self {
            clients,
            login,
            stays_awake: false,
        }
    }

    /// The same load on a core that never sleeps, which no other process needs.
    pub(crate) fn staying_awake(mut self) -> Self {
        self.stays_awake = true;
        self
    }

    /// Signs in `logins` times, by all clients at once.
    pub(crate) async fn run(&mut self, logins: usize) -> Result<Times, BenchError> {
        let (each, login) = (self.each(logins), self.login);
        self.run_all(async |client| {
            let mut times = Vec::with_capacity(each * 4);
            for _ in 0..each {
                login.run(client, &mut times).await?;
            }
            Ok(times)
        })
        .await
    }

    /// Opens `sessions` logins and leaves them alone.
    pub(crate) async fn open(&mut self, sessions: usize) -> Result<Times, BenchError> {
        let (each, login) = (self.each(sessions), self.login);
        self.run_all(async |client| {
            let mut times = Vec::with_capacity(each);
            for _ in 0..each {
                login.open(client, &mut times).await?;
            }
            Ok(times)
        })
        .await
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    async fn run_all(
        &mut self,
        one: impl AsyncFn(&mut Client) -> Result<Vec<Duration>, BenchError>,
    ) -> Result<Times, BenchError> {
        let _awake = self.stays_awake.then(Awake::begin);
        let began = Instant::now();
        let requests = try_join_all(self.clients.iter_mut().map(|client| one(client))).await?;
        let whole = began.elapsed();
        let mut requests: Vec<_> = requests.into_iter().flatten().collect();
        requests.sort_unstable();
        Ok(Times { whole, requests })
    }

    /// The number of logins that [`run`](Self::run) makes of `logins`: each client makes
    /// as many.
    pub(crate) fn rounded(&self, logins: usize) -> usize {
        self.each(logins) * self.clients.len()
    }

    fn each(&self, logins: usize) -> usize {
        logins.div_ceil(self.clients.len())
    }
}
