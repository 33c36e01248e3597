//! One client's connection to a server, which it keeps.

use std::net::SocketAddr;
use std::time::Duration;

use agent::time::Stopwatch;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderMap, HeaderName, RETRY_AFTER};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::BenchError;

/// An open connection.
pub(crate) struct Connection {
    host: String,
    sender: SendRequest<Full<Bytes>>,
    /// From each request to the end of its answer.
    pub(crate) times: Vec<Duration>,
}

/// A complete answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
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
            times: Vec::new(),
        })
    }

    /// Whether the server has not closed it.
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request, and waits for the whole answer.
    pub(crate) async fn send(
        &mut self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Answer, BenchError> {
        let mut head = Request::builder().method(method).uri(path);
        head = head.header(HOST, &self.host);
        for (name, value) in headers {
            head = head.header(*name, *value);
        }
        let sent = head.body(Full::from(body));
        let sent = sent.map_err(|error| BenchError::because(error.to_string()))?;
        let watch = Stopwatch::start();
        let (head, body) = self.sender.send_request(sent).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.times.push(watch.elapsed());
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }
}

impl Answer {
    /// The same, if it has this status; else the error that it is as the answer to `request`.
    pub(super) fn expect(self, status: u16, request: &'static str) -> Result<Self, BenchError> {
        match self.status == status {
            true => Ok(self),
            false => Err(self.unexpected(request)),
        }
    }

    /// A header as text; empty if it is absent.
    pub(crate) fn header(&self, name: HeaderName) -> &str {
        let value = self.headers.get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default()
    }

    /// A member of its JSON; empty if it has none.
    pub(crate) fn member(&self, name: &str) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        body[name].as_str().unwrap_or_default().to_owned()
    }

    /// The error that it is as the answer to `request`.
    pub(crate) fn unexpected(&self, request: &'static str) -> BenchError {
        BenchError::Unexpected {
            request,
            answer: format!("{} {}", self.status, String::from_utf8_lossy(&self.body)),
            is_refused: self.headers.contains_key(RETRY_AFTER),
        }
    }
}
