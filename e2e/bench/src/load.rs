//! Clients that sign in without a pause, each on a connection of its own, and the times of
//! their requests.

pub(crate) mod connection;
pub(crate) mod login;

use std::net::SocketAddr;
use std::time::Duration;

use agent::time::Stopwatch;
use futures_util::future::try_join_all;
use tokio::task::JoinSet;

use crate::BenchError;
use crate::report::{Figure, MICROSECONDS, MILLISECONDS, ms, percentile};
use connection::Connection;
use login::Login;

/// The requests of a login.
pub(crate) const REQUESTS: [Figure; 4] = [
    Figure("p99 of its first request", MILLISECONDS),
    Figure("p99 of its second request", MILLISECONDS),
    Figure("p99 of its third request", MILLISECONDS),
    Figure("p99 of its fourth request", MILLISECONDS),
];

/// The figures of every load.
pub(crate) const CPU: Figure = Figure("CPU of a login", MICROSECONDS);
pub(crate) const P50: Figure = Figure("p50 of a request", MILLISECONDS);
pub(crate) const P99: Figure = Figure("p99 of a request", MILLISECONDS);
pub(crate) const WHOLE: Figure = Figure("mean time of a login", MILLISECONDS);

/// Clients that are connected to one server.
pub(crate) struct Load {
    clients: Vec<Connection>,
    /// Not beside a database, which is a process on the same core.
    pub(crate) stays_awake: bool,
}

/// The times of a number of logins.
#[derive(Debug)]
pub(crate) struct Times {
    /// From the first request to the last answer.
    pub(crate) whole: Duration,
    /// The number of logins: each client makes as many.
    pub(crate) logins: usize,
    /// The time of each request, login by login.
    requests: Vec<Duration>,
}

impl Times {
    /// All figures of these times.
    pub(crate) fn figures(&self) -> Vec<(Figure, f64)> {
        let share = |times, share| ms(percentile(times, share));
        let of_each = |nth: usize| self.requests.iter().skip(nth).step_by(REQUESTS.len());
        let each = (0..REQUESTS.len()).map(|nth| {
            let times = of_each(nth).copied().collect();
            (REQUESTS[nth], share(times, 0.99))
        });
        let whole = ms(self.requests.iter().sum()) / self.logins as f64;
        let all = [
            (P50, share(self.requests.clone(), 0.5)),
            (P99, share(self.requests.clone(), 0.99)),
            (WHOLE, whole),
        ];
        each.chain(all).collect()
    }
}

impl Load {
    /// Connects `clients` clients to the server at `address`.
    pub(crate) async fn at(address: SocketAddr, clients: usize) -> Result<Self, BenchError> {
        let clients = (0..clients).map(|_| Connection::open(address));
        Ok(Self {
            clients: try_join_all(clients).await?,
            stays_awake: false,
        })
    }

    /// Signs in at least `logins` times, by all clients at once.
    pub(crate) async fn run(&mut self, login: Login, logins: usize) -> Result<Times, BenchError> {
        let sign_in = async |client: &mut Connection| login.run(client).await;
        self.run_each(logins, sign_in).await
    }

    /// Does `one` login at least `logins` times, by all clients at once.
    pub(crate) async fn run_each(
        &mut self,
        logins: usize,
        one: impl AsyncFn(&mut Connection) -> Result<(), BenchError>,
    ) -> Result<Times, BenchError> {
        // It ends what it runs when it is dropped.
        let mut beside = JoinSet::new();
        if self.stays_awake {
            beside.spawn(stay_awake());
        }
        let each = logins.div_ceil(self.clients.len());
        let watch = Stopwatch::start();
        let clients = self.clients.iter_mut().map(async |client| {
            client.times = Vec::with_capacity(each * REQUESTS.len());
            for _ in 0..each {
                one(client).await?;
            }
            Ok::<_, BenchError>(std::mem::take(&mut client.times))
        });
        let requests = try_join_all(clients).await?.concat();
        Ok(Times {
            whole: watch.elapsed(),
            logins: each * self.clients.len(),
            requests,
        })
    }
}

/// Keeps the core of the load awake. A server that sends to a core that sleeps has to wake
/// it, which costs several microseconds; a busy load is awake by itself. Without this the
/// slower of two servers would pay for more wake-ups, and the ratio would be too high.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}
