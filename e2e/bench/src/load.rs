//! The load: clients that sign in one login after another, each on connections of its
//! own, and the times of their requests.

pub(crate) mod connection;
pub(crate) mod login;
pub(crate) mod secrets;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use crate::error::BenchError;
use connection::Connection;
use login::Login;

/// Clients that are connected to one server.
pub(crate) struct Load {
    clients: Vec<Connection>,
    login: Login,
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
        })
    }

    /// Signs in `logins` times, by all clients at once.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    pub(crate) async fn run(&mut self, logins: usize) -> Result<Times, BenchError> {
        let each = logins.div_ceil(self.clients.len());
        let login = self.login;
        let began = Instant::now();
        let clients = self.clients.iter_mut().map(|client| async move {
            let mut times = Vec::with_capacity(each * 4);
            for _ in 0..each {
                login.run(client, &mut times).await?;
            }
            Ok::<_, BenchError>(times)
        });
        let requests = try_join_all(clients).await?;
        let whole = began.elapsed();
        let mut requests: Vec<_> = requests.into_iter().flatten().collect();
        requests.sort_unstable();
        Ok(Times { whole, requests })
    }

    /// The number of logins that [`run`](Self::run) makes of `logins`: each client makes
    /// as many.
    pub(crate) fn rounded(&self, logins: usize) -> usize {
        logins.div_ceil(self.clients.len()) * self.clients.len()
    }
}
