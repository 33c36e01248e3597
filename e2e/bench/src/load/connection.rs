//! One client's connection to a server, which it keeps.

use std::net::SocketAddr;
use std::time::Duration;

use agent::time::Stopwatch;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderMap, HeaderName, RETRY_AFTER};
use hyper::http::request::Builder;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
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
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    pub(super) body: Bytes,
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

    /// Sends `body`, which is JSON, with a request such as `POST /v1/token`; its answer
    /// must be 200.
    pub(super) async fn post(
        &mut self,
        request: &'static str,
        body: String,
    ) -> Result<Answer, BenchError> {
        let (method, path) = request.split_once(' ').unwrap_or_default();
        let head = self.head(path).method(method);
        let head = head.header("Content-Type", "application/json");
        self.send(request, head, body, StatusCode::OK).await
    }

    /// Sends a GET with these headers, which `request` names in an error; its answer must
    /// have this status.
    pub(super) async fn get(
        &mut self,
        request: &'static str,
        path: &str,
        headers: &[(&str, &str)],
        status: StatusCode,
    ) -> Result<Answer, BenchError> {
        let mut head = self.head(path);
        for (name, value) in headers {
            head = head.header(*name, *value);
        }
        self.send(request, head, String::new(), status).await
    }

    fn head(&self, path: &str) -> Builder {
        Request::builder().uri(path).header(HOST, &self.host)
    }

    async fn send(
        &mut self,
        request: &'static str,
        head: Builder,
        body: String,
        status: StatusCode,
    ) -> Result<Answer, BenchError> {
        let sent = head.body(Full::from(body));
        let sent = sent.map_err(|error| BenchError::because(error.to_string()))?;
        let watch = Stopwatch::start();
        let (head, body) = self.sender.send_request(sent).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.times.push(watch.elapsed());
        let answer = Answer {
            status: head.status,
            headers: head.headers,
            body,
        };
        match answer.status == status {
            true => Ok(answer),
            false => Err(answer.unexpected(request)),
        }
    }
}

impl Answer {
    /// A header as text; empty if it is absent.
    pub(super) fn header(&self, name: HeaderName) -> &str {
        let value = self.headers.get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default()
    }

    /// The error that it is as the answer to `request`.
    pub(super) fn unexpected(&self, request: &'static str) -> BenchError {
        let is_refused = !self.header(RETRY_AFTER).is_empty();
        let answer = format!("{} {}", self.status, String::from_utf8_lossy(&self.body));
        match is_refused {
            true => BenchError::Refused { request, answer },
            false => BenchError::Unexpected { request, answer },
        }
    }
}
