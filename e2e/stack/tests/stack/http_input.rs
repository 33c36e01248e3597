//! Bytes that no HTTP client would send, through the proxy to the broker.

use std::time::Duration;

use testkit::login::GOOGLE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::test_stack::TestStack;

/// The longest wait for a server that waits for more bytes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends `bytes` to the server at `url`, and returns the statuses of the answers until it
/// closes the connection. A client that breaks off closes its side after the bytes.
async fn statuses(url: &str, bytes: &[u8], breaks_off: bool) -> Vec<u16> {
    let address = url.strip_prefix("http://").expect("plain HTTP");
    let stream = TcpStream::connect(address).await.expect("a listener");
    let (mut reads, mut writes) = stream.into_split();
    let sending = async {
        // A server that has seen enough may close while we are still sending.
        let _ = writes.write_all(bytes).await;
        if breaks_off {
            writes.shutdown().await.unwrap_or_default();
        }
    };
    let mut received = Vec::new();
    let both = async { tokio::join!(sending, reads.read_to_end(&mut received)).1 };
    #[expect(
        clippy::disallowed_methods,
        reason = "a server that never answers must not hang the test"
    )]
    let _ = tokio::time::timeout(PATIENCE, both).await;
    let received = String::from_utf8_lossy(&received).into_owned();
    let answers = received.split("HTTP/1.").skip(1);
    answers
        .map(|answer| answer[2..5].parse().expect("a status"))
        .collect()
}

#[tokio::test]
async fn a_request_has_exactly_one_valid_host() {
    let stack = TestStack::start().await;
    let urls = stack.urls();
    for (url, path) in [
        (&urls.broker, "/api/providers"),
        (&urls.control, "/api/stack"),
    ] {
        for (hosts, status) in [
            ("Host: localhost:1\r\n", 200),
            ("", 400),
            ("Host:\r\n", 400),
            ("Host: localhost\r\nHost: localhost\r\n", 400),
            ("Host: local host\r\n", 400),
            ("Host: localhost/x\r\n", 400),
            ("Host: me@localhost\r\n", 400),
            ("Host: localhost:x\r\n", 400),
        ] {
            let request = format!("GET {path} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
            let answers = statuses(url, request.as_bytes(), false).await;
            assert_eq!(answers, [status], "{url} {hosts:?}");
        }
    }
    let old = b"GET /api/providers HTTP/1.0\r\n\r\n";
    let answers = statuses(&urls.broker, old, false).await;
    assert_eq!(answers, [200], "HTTP/1.0 knows no Host");
}

#[tokio::test]
async fn a_connection_serves_the_requests_after_a_refused_one() {
    let stack = TestStack::start().await;
    let broken = "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                  Content-Length: 1\r\n\r\n{";
    let unrouted = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n";
    let last = "GET /api/providers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let all = format!("{broken}{unrouted}{broken}{last}");
    let answers = statuses(stack.broker(), all.as_bytes(), false).await;
    assert_eq!(answers, [400, 404, 400, 200]);
}

#[tokio::test]
async fn what_the_proxy_refuses_is_no_call() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    let before = stack.event_log().events(0, None).len();
    let path = login.authorization_url.replace(stack.broker(), "");
    let post = "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    let chunk = "\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    for request in [
        // The websocket of a page is no call of a program.
        format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n\
             Upgrade: WebSocket\r\nOrigin: https://evil.example\r\n\r\n"
        ),
        format!("{post}Transfer-Encoding: gzip, chunked{chunk}"),
        format!("{post}Transfer-Encoding: chunked, chunked{chunk}"),
        format!("{post}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked{chunk}"),
    ] {
        let answers = statuses(stack.broker(), request.as_bytes(), false).await;
        assert!(matches!(answers[..], [400 | 501]), "{request}: {answers:?}");
        assert_eq!(stack.event_log().events(0, None).len(), before, "{request}");
    }
}

// Threats: A18.
#[tokio::test]
async fn a_chunked_body_is_read_and_a_broken_one_starts_no_login() {
    let stack = TestStack::start().await;
    let key = testkit::fresh::secret();
    let body = stack.backend.session_body(&key, GOOGLE).to_string();
    let (first, second) = body.split_at(20);
    let (one, other) = (first.len(), second.len());
    let head = "POST /v1/login/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                Content-Type: application/json\r\n";
    let longer = format!("Content-Length: {}\r\n\r\n{body}", body.len() + 1);
    for broken in [
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\n{}\r\n0\r\n\r\n",
        &longer,
    ] {
        let request = format!("{head}{broken}");
        let answers = statuses(stack.broker(), request.as_bytes(), true).await;
        let is_refused = answers.iter().all(|status| *status >= 400);
        assert!(is_refused, "{broken:?}: {answers:?}");
    }
    let whole = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n\
         {one:x}\r\n{first}\r\n{other:X};x=y\r\n{second}\r\n0\r\n\r\n"
    );
    let answers = statuses(stack.broker(), whole.as_bytes(), false).await;
    assert_eq!(answers, [200]);
}
