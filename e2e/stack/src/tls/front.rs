//! The TLS front of one server: it has the server's public address, decrypts, and copies
//! bytes to and from the server on loopback.
//!
//! It delivers what the server delivers. An orderly end of the server is `close_notify`
//! and FIN for the client, a reset (a fault, or a misbehaviour of an imitated provider)
//! is a reset. A client that ends its sending half still gets its answer.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::accept::Accepting;

/// The time limit of a handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// The type of the first record of a TLS connection (RFC 8446, 5.1).
pub(super) const HANDSHAKE_RECORD: u8 = 22;

/// The bytes of a plain request that are read before its connection is closed.
const MAX_PLAIN_BYTES: u64 = 64 * 1024;

/// The bytes that one read of a client can return; a TLS record has at most as many.
const BUFFER_BYTES: usize = 16 * 1024;

/// A running front. Dropping it closes the listener and every connection.
#[derive(Debug)]
pub(crate) struct TlsFront {
    _accepting: Accepting,
}

impl TlsFront {
    /// Forwards the clients of `listener` to the server at `target`.
    ///
    /// # Errors
    ///
    /// If the listener cannot be used.
    pub(crate) fn start(
        listener: std::net::TcpListener,
        target: SocketAddr,
        config: Arc<ServerConfig>,
    ) -> io::Result<Self> {
        let forward = Forward {
            acceptor: TlsAcceptor::from(config),
            handshake_time: HANDSHAKE_TIME,
            target,
        };
        Self::start_with(listener, forward)
    }

    fn start_with(listener: std::net::TcpListener, forward: Forward) -> io::Result<Self> {
        let serve = move |client| forward.clone().serve(client);
        Ok(Self {
            _accepting: Accepting::start(listener, serve)?,
        })
    }
}

/// The way from a client to the server.
#[derive(Clone)]
struct Forward {
    acceptor: TlsAcceptor,
    handshake_time: Duration,
    target: SocketAddr,
}

impl Forward {
    #[expect(
        clippy::disallowed_methods,
        reason = "a client that sends nothing does not live by our clock"
    )]
    async fn serve(self, client: TcpStream) -> io::Result<()> {
        let handshake = tokio::time::timeout(self.handshake_time, self.handshake(client));
        let Some(client) = handshake.await?? else {
            return Ok(());
        };
        match TcpStream::connect(self.target).await {
            Ok(server) => connect(client, server).await,
            Err(refused) => {
                client.get_ref().0.set_zero_linger()?;
                Err(refused)
            }
        }
    }

    /// Makes the TLS connection, unless the client speaks no TLS.
    async fn handshake(&self, client: TcpStream) -> io::Result<Option<TlsStream<TcpStream>>> {
        let mut first = [0];
        match client.peek(&mut first).await? {
            0 => Ok(None),
            _ if first == [HANDSHAKE_RECORD] => self.acceptor.accept(client).await.map(Some),
            _ => refuse_plain_http(client).await.map(|()| None),
        }
    }
}

/// Answers a client that speaks HTTP where HTTPS is spoken.
async fn refuse_plain_http(mut client: TcpStream) -> io::Result<()> {
    const SENTENCE: &str = "This address speaks https: use https:// in its URL.\n";
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{SENTENCE}",
        SENTENCE.len()
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await?;
    // A connection that is closed before its request was read is reset, and the client
    // may lose the answer.
    tokio::io::copy(&mut client.take(MAX_PLAIN_BYTES), &mut tokio::io::sink()).await?;
    Ok(())
}

/// Copies in both directions until the server ends the connection, or either side breaks
/// it; then the other one is reset.
pub(super) async fn connect(client: TlsStream<TcpStream>, mut server: TcpStream) -> io::Result<()> {
    server.set_nodelay(true)?;
    let (from_server, to_server) = server.split();
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let outcome = tokio::select! {
        ended = copy_responses(from_server, &mut to_client) => ended,
        Err(broken) = copy_requests(&mut from_client, to_server) => Err(broken),
    };
    if outcome.is_err() {
        from_client
            .unsplit(to_client)
            .get_ref()
            .0
            .set_zero_linger()?;
        server.set_zero_linger()?;
    }
    outcome
}

/// Copies until the server ends the connection.
async fn copy_responses(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    tokio::io::copy(&mut from, to).await?;
    to.shutdown().await
}

/// Copies until the client ends its half; an error is the client's.
async fn copy_requests(
    from: &mut (impl AsyncRead + Unpin),
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = match from.read(&mut buffer).await {
            // Many clients close without `close_notify`, and HTTP/1.1 knows by itself
            // whether a request is complete.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => 0,
            read => read?,
        };
        // How the server ends the connection is for the other direction to report, after
        // the last bytes of its answer.
        if read == 0 {
            let _ = to.shutdown().await;
            return Ok(());
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
