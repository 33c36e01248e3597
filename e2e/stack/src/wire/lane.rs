//! One client's connection to the broker.

use std::error::Error;
use std::net::SocketAddr;

use hyper::client::conn::http1::{Builder as Client, SendRequest};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::body::Body;
use super::{MOST_HEADERS, Target};

type Broken = Box<dyn Error + Send + Sync>;

/// The way to wherever the broker is, opened when it is needed.
#[derive(Debug)]
pub(super) struct Lane {
    target: Target,
    open: Mutex<Option<(SocketAddr, SendRequest<Body>)>>,
}

impl Lane {
    pub(super) fn to(target: Target) -> Self {
        Self {
            target,
            open: Mutex::new(None),
        }
    }

    /// Asks the broker; on the open connection, or on a new one if the broker has
    /// closed it before a byte was written.
    pub(super) async fn ask(&self, request: Request<Body>) -> Result<Response<Incoming>, Broken> {
        let mut open = self.open.lock().await;
        let asked = send(&mut open, self.target.now(), request).await;
        if asked.is_err() {
            *open = None;
        }
        asked
    }
}

async fn send(
    open: &mut Option<(SocketAddr, SendRequest<Body>)>,
    target: SocketAddr,
    request: Request<Body>,
) -> Result<Response<Incoming>, Broken> {
    let request = match open {
        Some((to, sender)) if *to == target => {
            // One that is closed says so again, and hands the request back.
            let _ = sender.ready().await;
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok(answer),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
        _ => request,
    };
    let (_, sender) = open.insert((target, connect(target).await?));
    Ok(sender.send_request(request).await?)
}

async fn connect(target: SocketAddr) -> Result<SendRequest<Body>, Broken> {
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = Client::new()
        .max_headers(MOST_HEADERS)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(connection);
    Ok(sender)
}
