//! A balancer in front of two instances of an app, as a hosting platform has one. It passes on
//! whole connections, byte for byte; the examiner's browser opens one for each request.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The instances that get the next requests, in turn.
type Turns = Arc<Mutex<Vec<usize>>>;

/// A balancer, which ends when it is dropped.
pub(crate) struct Balancer {
    /// The port at which it listens.
    pub(crate) port: u16,
    turns: Turns,
    _server: JoinSet<()>,
}

impl Balancer {
    /// Listens at a free port of `host`, and passes on to the instances at `ports`.
    ///
    /// # Errors
    ///
    /// If it cannot listen.
    pub(crate) async fn start(host: &str, ports: [u16; 2]) -> Result<Self, String> {
        let failed = |error: io::Error| format!("no balancer can be started: {error}");
        let listener = TcpListener::bind((host, 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let turns = Turns::new(Mutex::new(vec![0, 1]));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, host.to_owned(), ports, turns.clone()));
        Ok(Self {
            port,
            turns,
            _server: server,
        })
    }

    /// Gives the next requests to these instances in turn.
    pub(crate) fn give_to(&self, instances: &[usize]) {
        *self.turns.lock().unwrap_or_else(PoisonError::into_inner) = instances.to_vec();
    }
}

async fn serve(listener: TcpListener, host: String, ports: [u16; 2], turns: Turns) {
    // Dropped with the server.
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let address = (host.clone(), ports[next(&turns)]);
        connections.spawn(async move {
            // An end that goes away is seen by the other one.
            if let Ok(mut app) = TcpStream::connect(address).await {
                let _ = copy_bidirectional(&mut client, &mut app).await;
            }
        });
    }
}

/// The instance of one request.
fn next(turns: &Turns) -> usize {
    let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
    turns.rotate_left(1);
    turns[turns.len() - 1]
}
