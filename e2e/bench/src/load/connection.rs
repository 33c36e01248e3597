//! One client's connection to a server, which it keeps.

use std::net::SocketAddr;
use std::time::Duration;

use agent::http::Response;
use agent::time::Stopwatch;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, RETRY_AFTER};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use url::Url;

use crate::BenchError;

/// An open connection.
pub(crate) struct Connection {
    /// The address of the server.
    pub(crate) url: Url,
    sender: SendRequest<Full<Bytes>>,
    /// From each request to the end of its answer.
    pub(crate) times: Vec<Duration>,
}

/// A complete answer.
pub(crate) type Answer = Response<String>;

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            url: Url::parse(&format!("http://{address}"))?,
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
        let url = self.url.join(path)?;
        let mut head = Request::builder().method(method).uri(path);
        head = head.header(HOST, self.url.authority());
        for (name, value) in headers {
            head = head.header(*name, *value);
        }
        let sent = head.body(Full::from(body))?;
        let watch = Stopwatch::start();
        let (head, body) = self.sender.send_request(sent).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        self.times.push(watch.elapsed());
        Ok(Answer {
            url,
            status: head.status.as_u16(),
            headers: head.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}

/// Fails unless an answer is as expected; `request` is what it answers, without secrets.
pub(crate) fn expect(is_so: bool, answer: &Answer, request: &str) -> Result<(), BenchError> {
    let what = || format!("{request} was answered {} {}", answer.status, answer.body);
    match answer.headers.contains_key(RETRY_AFTER) {
        _ if is_so => Ok(()),
        true => Err(BenchError::Refused(what())),
        false => Err(BenchError::Failed(what())),
    }
}

/// A member of an answer's JSON; empty if it has none.
pub(crate) fn member(answer: &Answer, name: &str) -> String {
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    body[name].as_str().unwrap_or_default().to_owned()
}
