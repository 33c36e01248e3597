//! The clients of a listener, each served in a task of its own.

use std::io;
use std::net::TcpListener as BoundListener;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Serves the clients of a listener. Dropping it closes the listener and every connection.
#[derive(Debug)]
pub(crate) struct Accepting(JoinHandle<()>);

impl Accepting {
    /// Serves each client of `listener` by `serve`, whose bytes are sent without delay.
    ///
    /// # Errors
    ///
    /// If the listener cannot be used.
    pub(crate) fn start<S>(
        listener: BoundListener,
        serve: impl Fn(TcpStream) -> S + Send + 'static,
    ) -> io::Result<Self>
    where
        S: Future<Output: Send> + Send + 'static,
    {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        Ok(Self(tokio::spawn(accept_all(listener, serve))))
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The set of connections belongs to this task, and ends with it.
async fn accept_all<S>(listener: TcpListener, serve: impl Fn(TcpStream) -> S)
where
    S: Future<Output: Send> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let _ = client.set_nodelay(true);
                    connections.spawn(serve(client));
                }
                Err(_) => wait_for_descriptors().await,
            },
            // A connection that breaks concerns its two ends alone.
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Accepting fails when file descriptors run out, and would fail again at once.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing signals that a descriptor is free again"
)]
async fn wait_for_descriptors() {
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
}
