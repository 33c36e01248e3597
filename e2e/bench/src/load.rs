//! The load: clients that sign in one login after another, each on a connection of its
//! own, and the times of their requests.

pub(crate) mod connection;
pub(crate) mod login;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::task::AbortHandle;

use crate::error::BenchError;
use crate::report::{Figures, Unit};
use crate::servers::ServerProcess;
use crate::stats::{ms, percentile, us};
use connection::Connection;
use login::Login;

/// The figures of [`Load::measure`].
pub(crate) const CPU: &str = "CPU of a login";
pub(crate) const P50_REQUEST: &str = "p50 of a request";
pub(crate) const P99_REQUEST: &str = "p99 of a request";

/// Clients that are connected to one server.
pub(crate) struct Load {
    clients: Vec<Connection>,
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
        let clients = (0..clients).map(|_| Connection::open(address));
        Ok(Self {
            clients: try_join_all(clients).await?,
            login,
            stays_awake: false,
        })
    }

    /// The same load on a core that never sleeps, which no other process needs.
    pub(crate) fn staying_awake(mut self) -> Self {
        self.stays_awake = true;
        self
    }

    /// Signs in `logins` times, by all clients at once.
    pub(crate) async fn run(&mut self, logins: usize) -> Result<Times, BenchError> {
        self.run_all(logins, Login::run).await
    }

    /// Signs in, and adds the CPU time that a login takes `server` and the times of its
    /// requests to `figures`.
    pub(crate) async fn measure(
        &mut self,
        server: &ServerProcess,
        logins: usize,
        figures: &mut Figures,
    ) -> Result<(), BenchError> {
        let before = server.cpu()?;
        let times = self.run(logins).await?;
        let cpu = server.cpu()?.saturating_sub(before);
        let request = |share| ms(percentile(&times.requests, share));
        let each = us(cpu) / self.rounded(logins) as f64;
        figures.push(CPU, Unit::MICROSECONDS, each);
        figures.push(P50_REQUEST, Unit::MILLISECONDS, request(0.5));
        figures.push(P99_REQUEST, Unit::MILLISECONDS, request(0.99));
        Ok(())
    }

    /// Opens `sessions` logins and leaves them alone.
    pub(crate) async fn open(&mut self, sessions: usize) -> Result<Times, BenchError> {
        self.run_all(sessions, async |login, client, times| {
            login.start(client, times).await.map(drop)
        })
        .await
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    async fn run_all(
        &mut self,
        logins: usize,
        one: impl AsyncFn(Login, &mut Connection, &mut Vec<Duration>) -> Result<(), BenchError>,
    ) -> Result<Times, BenchError> {
        let _awake = self.stays_awake.then(Awake::begin);
        let (each, login) = (self.each(logins), self.login);
        let began = Instant::now();
        let clients = self.clients.iter_mut().map(async |client| {
            let mut times = Vec::with_capacity(each * 4);
            for _ in 0..each {
                one(login, client, &mut times).await?;
            }
            Ok::<_, BenchError>(times)
        });
        let requests = try_join_all(clients).await?;
        let whole = began.elapsed();
        let mut requests = requests.concat();
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
