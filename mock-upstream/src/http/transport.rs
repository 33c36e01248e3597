//! The transport in front of wiremock, which reads requests within limits, and delivers
//! responses as no HTTP server does.
//!
//! wiremock sends complete responses, or none. So the transport owns the provider's public
//! address, and opens a connection to wiremock for each one of a client. It passes on
//! [whole requests](super::whole_request) alone, and responses unchanged, except for a
//! [`FaultyResponse`].
//!
//! The transport has a thread of its own, as wiremock has: a client that blocks the
//! caller's runtime must not wait for itself.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::faulty_response::FaultyResponse;
use super::whole_request::copy_requests;

/// The bytes that one read can return.
const BUFFER_BYTES: usize = 64 * 1024;

/// The wait for a free file descriptor.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A running transport; dropping it closes every connection and frees the address.
pub(super) struct Transport {
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

impl Transport {
    /// Connects every client of `listener` to `server`.
    pub(super) fn start(listener: TcpListener, server: SocketAddr) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let running = thread::Builder::new()
            .name("mock-upstream transport".to_owned())
            .spawn(move || run(&runtime, listener, server, stopped))?;
        Ok(Self {
            stop: Some(stop),
            running: Some(running),
        })
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

fn run(
    runtime: &Runtime,
    listener: TcpListener,
    server: SocketAddr,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        tokio::select! {
            _ = accept(listener, server) => {}
            _ = stopped => {}
        }
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for the operating system, which no clock of ours moves"
)]
async fn accept(listener: TcpListener, server: SocketAddr) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut retry = tokio::time::interval(RETRY_INTERVAL);
    loop {
        match listener.accept().await {
            // A connection that breaks concerns its two ends alone.
            Ok((client, _)) => drop(tokio::spawn(connect(client, server))),
            // No file descriptor is left, and nothing reports when one is.
            Err(_) => drop(retry.tick().await),
        }
    }
}

async fn connect(client: TcpStream, server: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // The end of one direction ends both: neither side talks to half a connection.
    tokio::select! {
        requests = copy_requests(from_client, to_server) => requests,
        responses = copy_responses(from_server, to_client) => responses,
    }
}

/// Copies responses until the server ends, or until one is to be delivered otherwise.
/// The server writes a head in one piece, so one read gets all of it.
async fn copy_responses(
    mut from: impl AsyncRead + Unpin,
    mut to: OwnedWriteHalf,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        match FaultyResponse::parse(&buffer[..read]) {
            None => to.write_all(&buffer[..read]).await?,
            Some(response) => return response.deliver(to).await,
        }
    }
}
