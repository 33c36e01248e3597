//! The transport in front of wiremock, which reads requests within limits, and delivers
//! responses as no HTTP server does.
//!
//! wiremock sends complete responses, or none. So the transport owns the provider's public
//! address, and opens a connection to wiremock for each one of a client. It passes on
//! [whole requests](super::whole_request) alone, and responses unchanged, except for a
//! [`FaultyResponse`]: the server marks it with the [`DELIVERY_HEADER`], which no client
//! receives, and the transport delivers it as the header says.
//!
//! The transport has a thread of its own, as wiremock has: a client that blocks the
//! caller's runtime must not wait for itself.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::message::Delivery;
use super::whole_request::copy_requests;

/// The header in which the server names a [`Delivery`].
pub(super) const DELIVERY_HEADER: &str = "x-mock-delivery";

/// The bytes that one read can return.
const BUFFER_BYTES: usize = 64 * 1024;

/// The wait for a free file descriptor.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The Content-Length of [`Delivery::Flood`] and [`Delivery::Drip`].
const FLOOD_BYTES: usize = 50 * 1024 * 1024;

/// Short enough for a test to receive several bytes, long enough to cause no load.
const DRIP_INTERVAL: Duration = Duration::from_millis(20);

/// The bytes that drip and flood: blanks, which are valid before any JSON.
static FILLER: [u8; 64 * 1024] = [b' '; 64 * 1024];

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

/// A response that is not to be delivered completely.
struct FaultyResponse<'a> {
    delivery: Delivery,
    /// The status line and the headers, without the [`DELIVERY_HEADER`].
    lines: Vec<&'a str>,
    body: &'a [u8],
}

impl<'a> FaultyResponse<'a> {
    /// Reads a response; `None` if it lacks the [`DELIVERY_HEADER`].
    fn parse(response: &'a [u8]) -> Option<Self> {
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&response[..end]).ok()?;
        let delivery = head.lines().find_map(|line| value(line, DELIVERY_HEADER))?;
        Some(Self {
            delivery: Delivery::of_header(delivery)?,
            lines: head
                .lines()
                .filter(|line| value(line, DELIVERY_HEADER).is_none())
                .collect(),
            body: &response[end + 4..],
        })
    }

    /// Writes what the client receives. The 50 MB of a flood are never allocated.
    async fn deliver(self, mut to: OwnedWriteHalf) -> io::Result<()> {
        let head = match self.delivery {
            Delivery::Silence => return std::future::pending().await,
            Delivery::Closed => return Ok(()),
            Delivery::Drip | Delivery::Flood => self.endless_head(),
            Delivery::Reset | Delivery::Half | Delivery::Whole => self.head(),
        };
        to.write_all(head.as_bytes()).await?;
        match self.delivery {
            Delivery::Reset => {
                to.as_ref().set_zero_linger()?;
                // Without this, tokio would shut the connection down properly first.
                to.forget();
                Ok(())
            }
            Delivery::Half => to.write_all(&self.body[..self.body.len() / 2]).await,
            Delivery::Drip => drip(to).await,
            Delivery::Flood => flood(to).await,
            _ => to.write_all(self.body).await,
        }
    }

    fn head(&self) -> String {
        format!("{}\r\n\r\n", self.lines.join("\r\n"))
    }

    /// A head that promises [`FLOOD_BYTES`].
    fn endless_head(&self) -> String {
        let mut lines = self.lines.clone();
        lines.retain(|line| value(line, "content-length").is_none());
        let length = format!("content-length: {FLOOD_BYTES}");
        format!("{}\r\n{length}\r\n\r\n", lines.join("\r\n"))
    }
}

/// The value, if `line` is the header `name`; the server writes names in lower case.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?.strip_prefix(": ")
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for a client, which no clock of ours moves"
)]
async fn drip(mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut interval = tokio::time::interval(DRIP_INTERVAL);
    loop {
        interval.tick().await;
        to.write_all(&FILLER[..1]).await?;
    }
}

async fn flood(mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    for _ in 0..FLOOD_BYTES / FILLER.len() {
        to.write_all(&FILLER).await?;
    }
    Ok(())
}
