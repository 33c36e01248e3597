//! One client's connection to a server, which it keeps.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderMap, HeaderName};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::error::BenchError;

/// An open connection.
pub(crate) struct Connection {
    host: String,
    sender: SendRequest<Full<Bytes>>,
}

/// A complete answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// From the request to the end of the answer.
    pub(crate) took: Duration,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            host: address.to_string(),
            sender,
        })
    }

    /// Whether the server has not closed it.
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request with these headers; with a body, it is a POST of JSON.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    pub(crate) async fn send(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Answer, BenchError> {
        let mut request = Request::builder().uri(path).header(HOST, &self.host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if body.is_some() {
            request = request.method("POST");
            request = request.header("Content-Type", "application/json");
        }
        let request = request.body(Full::from(body.unwrap_or_default()));
        let request = request.map_err(|error| BenchError::because(error.to_string()))?;
        let began = Instant::now();
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
            took: began.elapsed(),
        })
    }
}

impl Answer {
    /// A header as text; empty if it is absent.
    pub(crate) fn header(&self, name: HeaderName) -> &str {
        let value = self.headers.get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default()
    }
}
