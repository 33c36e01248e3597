//! The clients of a test broker: one that checks the headers of every response, and one
//! that sends bytes.

use std::fmt::Display;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use testkit::http::{Http, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::TestBroker;

/// A client of a broker with this base URL that listens at `address`. Besides what
/// testkit checks, every response must carry the headers that all of the broker's do.
pub(crate) fn checked_http(base_url: &str, address: impl Display) -> Http {
    let http = Http::at(base_url).listening_at(address);
    http.with_observer(|_, _, response| check_headers(response))
}

#[track_caller]
fn check_headers(response: &Response) {
    // The confirmation page has policies of its own.
    if String::from_utf8_lossy(&response.body).contains("data-question=\"relay\"") {
        response.has_common_headers();
    } else {
        response.has_security_headers();
    }
}

impl TestBroker {
    /// Sends bytes that no client library would send, and reads until the broker closes
    /// the connection.
    pub(crate) async fn send_bytes(&self, bytes: impl AsRef<[u8]>) -> Response {
        let address = ("127.0.0.1", self.port());
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes.as_ref()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let response = response_in(&text);
        check_headers(&response);
        response
    }

    /// Sends a request of these parts, byte for byte. Each header ends its line.
    pub(crate) async fn send_raw(&self, method: &str, target: &str, headers: &str) -> Response {
        let start = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        self.send_bytes(format!("{start}{headers}\r\n")).await
    }
}

fn response_in(text: &str) -> Response {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers: HeaderMap = lines.map(header_in).collect();
    Response {
        status: status.parse().unwrap(),
        headers,
        body: body.into(),
    }
}

fn header_in(line: &str) -> (HeaderName, HeaderValue) {
    let (name, value) = line.split_once(": ").unwrap();
    (name.parse().unwrap(), value.parse().unwrap())
}
