//! The load: clients that sign in one login after another, each on a connection of its
//! own, and the times of their requests.

pub(crate) mod connection;
pub(crate) mod login;

use std::net::SocketAddr;
use std::time::Duration;

use agent::time::Stopwatch;
use futures_util::future::try_join_all;
use tokio::task::JoinSet;

use crate::BenchError;
use crate::report::{Figures, Unit, ms, percentile, us};
use crate::servers::ServerProcess;
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
        let open =
            async |login: Login, client: &mut Connection| login.start(client).await.map(drop);
        self.run_all(sessions, open).await
    }

    async fn run_all(
        &mut self,
        logins: usize,
        one: impl AsyncFn(Login, &mut Connection) -> Result<(), BenchError>,
    ) -> Result<Times, BenchError> {
        // It ends what it runs when it is dropped.
        let mut beside = JoinSet::new();
        if self.stays_awake {
            beside.spawn(stay_awake());
        }
        let (each, login) = (self.each(logins), self.login);
        let watch = Stopwatch::start();
        let clients = self.clients.iter_mut().map(async |client| {
            client.times = Vec::with_capacity(each * 4);
            for _ in 0..each {
                one(login, client).await?;
            }
            Ok::<_, BenchError>(std::mem::take(&mut client.times))
        });
        let requests = try_join_all(clients).await?;
        let whole = watch.elapsed();
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

/// Keeps the core of the load awake. A server that sends to a core that sleeps has to wake
/// it, which costs several microseconds; a busy load is awake by itself. Without this the
/// slower of two servers would pay for more wake-ups, and the ratio would be too high.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}
