//! What an HTTP server never does to an answer, done on the way to the client.
//!
//! wiremock sends whole answers, or none. So the provider's public address is
//! ours, and each connection to it has one of its own to wiremock behind. Bytes
//! pass as they are, until an answer carries the [`MARK`]: that one is taken out
//! and delivered as the mark says. Nothing is ever allocated for the 50 MB.
//!
//! The wire runs on a thread of its own, like wiremock: a client that blocks the
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

use crate::answer::Delivery;

/// The header by which the server tells the wire; no client ever sees it.
pub(crate) const MARK: &str = "x-mock-delivery";

/// What [`Delivery::Flood`] sends, and [`Delivery::Drip`] promises.
pub(crate) const FLOOD_BYTES: usize = 50 * 1024 * 1024;

/// Short enough that a test sees several, long enough to be no load.
const DRIP_INTERVAL: Duration = Duration::from_millis(20);

/// What drips and floods: it may stand before any JSON.
static FILLER: [u8; 64 * 1024] = [b' '; 64 * 1024];

/// A running wire; dropping it closes every connection and frees the address.
pub(crate) struct Wire {
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

impl Wire {
    /// Carries what arrives at `listener` to `server` and back.
    pub(crate) fn carry(listener: TcpListener, server: SocketAddr) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let running = thread::Builder::new()
            .name("mock-upstream wire".to_owned())
            .spawn(move || run(&runtime, listener, server, stopped))?;
        Ok(Self {
            stop: Some(stop),
            running: Some(running),
        })
    }
}

impl Drop for Wire {
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
    let mut patience = tokio::time::interval(DRIP_INTERVAL);
    loop {
        match listener.accept().await {
            // A client or a server that breaks off is no event of the wire's.
            Ok((client, _)) => drop(tokio::spawn(carry(client, server))),
            // No file descriptor is left, and nothing tells when one is.
            Err(_) => drop(patience.tick().await),
        }
    }
}

async fn carry(client: TcpStream, server: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    // Whoever ends, ends both: neither side speaks to half a connection.
    tokio::select! {
        there = tokio::io::copy(&mut from_client, &mut to_server) => there.map(drop),
        back = carry_back(from_server, to_client) => back,
    }
}

/// Carries answers until the server ends, or one of them is to be spoiled. The
/// server hands a head to the system in one piece, so it is read as one.
async fn carry_back(mut from: impl AsyncRead + Unpin, mut to: OwnedWriteHalf) -> io::Result<()> {
    let mut buffer = vec![0; FILLER.len()];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        match Marked::parse(&buffer[..read]) {
            None => to.write_all(&buffer[..read]).await?,
            Some(marked) => return marked.deliver(to).await,
        }
    }
}

/// An answer that is to be spoiled.
#[derive(Debug, PartialEq, Eq)]
struct Marked<'a> {
    delivery: Delivery,
    /// The status line and the headers, without the mark.
    lines: Vec<&'a str>,
    body: &'a [u8],
}

impl<'a> Marked<'a> {
    fn parse(answer: &'a [u8]) -> Option<Self> {
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&answer[..end]).ok()?;
        let mark = head.lines().find_map(|line| value(line, MARK))?;
        Some(Self {
            delivery: Delivery::parse(mark)?,
            lines: head
                .lines()
                .filter(|line| value(line, MARK).is_none())
                .collect(),
            body: &answer[end + 4..],
        })
    }

    async fn deliver(self, mut to: OwnedWriteHalf) -> io::Result<()> {
        match self.delivery {
            Delivery::Silence => std::future::pending().await,
            Delivery::Closed => Ok(()),
            Delivery::Reset => {
                to.write_all(self.head().as_bytes()).await?;
                to.as_ref().set_zero_linger()?;
                // Else it would say a proper goodbye first.
                to.forget();
                Ok(())
            }
            Delivery::Half => {
                to.write_all(self.head().as_bytes()).await?;
                to.write_all(&self.body[..self.body.len() / 2]).await
            }
            Delivery::Drip => {
                to.write_all(self.endless_head().as_bytes()).await?;
                drip(to).await
            }
            Delivery::Flood => {
                to.write_all(self.endless_head().as_bytes()).await?;
                flood(to).await
            }
            Delivery::Whole => {
                to.write_all(self.head().as_bytes()).await?;
                to.write_all(self.body).await
            }
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

/// The header's value, if `line` is the header `name`; the server writes names in
/// lower case.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?.strip_prefix(": ")
}

#[expect(
    clippy::disallowed_methods,
    reason = "who waits for bytes waits in the machine's time"
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

impl Delivery {
    const SPOILED: [Self; 6] = [
        Self::Silence,
        Self::Closed,
        Self::Reset,
        Self::Half,
        Self::Drip,
        Self::Flood,
    ];

    /// The [`MARK`]'s value; none for an answer that is not spoiled.
    pub(crate) fn mark(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Silence => Some("silence"),
            Self::Closed => Some("closed"),
            Self::Reset => Some("reset"),
            Self::Half => Some("half"),
            Self::Drip => Some("drip"),
            Self::Flood => Some("flood"),
        }
    }

    fn parse(mark: &str) -> Option<Self> {
        Self::SPOILED
            .into_iter()
            .find(|delivery| delivery.mark() == Some(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_the_mark_passes() {
        assert_eq!(Marked::parse(b"HTTP/1.1 200 OK\r\na: b\r\n\r\nbody"), None);
        assert_eq!(Marked::parse(b"x-mock-delivery: drip"), None);
    }

    #[test]
    fn the_mark_is_taken_out_and_the_rest_stays() {
        let answer = b"HTTP/1.1 200 OK\r\nx-mock-delivery: half\r\ncontent-length: 4\r\n\r\nbody";
        let marked = Marked::parse(answer).unwrap();
        assert_eq!(marked.delivery, Delivery::Half);
        assert_eq!(
            marked.head(),
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"
        );
        assert_eq!(marked.body, b"body");
    }

    #[test]
    fn what_has_no_end_promises_another_length() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nx-mock-delivery: drip\r\n\r\nbody";
        let marked = Marked::parse(answer).unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 52428800\r\n\r\n";
        assert_eq!(marked.endless_head(), head);
    }

    #[test]
    fn every_mark_leads_back_to_its_delivery() {
        for delivery in Delivery::SPOILED {
            assert_eq!(delivery.mark().and_then(Delivery::parse), Some(delivery));
        }
    }
}
