//! Requests as real HTTP allows them, and bytes that are no HTTP.

use reqwest::Method;

use crate::login::{Flow, GOOGLE};
use crate::tcp;
use crate::test_stack::TestStack;
use testkit::fresh;

#[tokio::test]
async fn a_connection_serves_the_requests_after_a_refused_one() {
    let stack = TestStack::start().await;
    let broken = "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                  Content-Length: 1\r\n\r\n{";
    let unrouted = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n";
    let last = "GET /api/providers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let received = tcp::exchange(
        &stack,
        format!("{broken}{unrouted}{broken}{last}").as_bytes(),
    )
    .await;
    assert_eq!(tcp::statuses(&received), [400, 404, 400, 200], "{received}");
}

#[tokio::test]
async fn a_request_has_exactly_one_valid_host() {
    let stack = TestStack::start().await;
    let urls = stack.urls();
    for (url, path) in [
        (&urls.broker, "/api/providers"),
        (&urls.control, "/api/stack"),
    ] {
        let status = async |head: &str| {
            let request = format!("GET {path} {head}Connection: close\r\n\r\n");
            let received = tcp::exchange_at(url, request.as_bytes()).await;
            tcp::statuses(&received)
        };
        assert_eq!(status("HTTP/1.1\r\nHost: localhost:1\r\n").await, [200]);
        for hosts in [
            "",
            "Host:\r\n",
            "Host: localhost\r\nHost: localhost\r\n",
            "Host: local host\r\n",
            "Host: localhost/x\r\n",
            "Host: me@localhost\r\n",
            "Host: localhost:x\r\n",
        ] {
            let head = format!("HTTP/1.1\r\n{hosts}");
            assert_eq!(status(&head).await, [400], "{url} {hosts:?}");
        }
    }
    let old = b"GET /api/providers HTTP/1.0\r\n\r\n";
    let received = tcp::exchange(&stack, old).await;
    assert_eq!(tcp::statuses(&received), [200], "HTTP/1.0 knows no Host");
}

#[tokio::test]
async fn a_body_in_a_coding_that_is_not_read_is_refused_unread() {
    let stack = TestStack::start().await;
    for codings in [
        "gzip, chunked",
        "chunked, chunked",
        "gzip\r\nTransfer-Encoding: chunked",
    ] {
        let request = format!(
            "POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: {codings}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
        );
        let received = tcp::exchange(&stack, request.as_bytes()).await;
        let statuses = tcp::statuses(&received);
        assert!(matches!(statuses[..], [400 | 501]), "{codings}: {received}");
    }
    assert!(stack.event_log().events(0, None).is_empty());
}

#[tokio::test]
async fn the_websocket_of_a_page_is_no_call_of_a_program() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    let before = stack.event_log().events(0, None).len();
    let path = login.authorization_url.replace(stack.broker(), "");
    let handshake = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n\
         Upgrade: WebSocket\r\nOrigin: https://evil.example\r\n\r\n"
    );
    let received = tcp::exchange(&stack, handshake.as_bytes()).await;
    assert_eq!(tcp::statuses(&received), [400], "{received}");
    assert_eq!(stack.event_log().events(0, None).len(), before);
}

#[tokio::test]
async fn a_header_that_connection_names_does_not_reach_the_broker() {
    let stack = TestStack::start().await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&transaction, &code).await;
    for (connection, status) in [("close", 200), ("close, authorization", 401)] {
        let request = format!(
            "GET /v1/profile HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        let received = tcp::exchange(&stack, request.as_bytes()).await;
        assert_eq!(tcp::statuses(&received), [status], "{received}");
    }
}

#[tokio::test]
async fn a_chunked_body_is_read_like_any_other() {
    let stack = TestStack::start().await;
    let body = stack
        .backend
        .session_body(&fresh::secret(), GOOGLE)
        .to_string();
    let (first, second) = body.split_at(20);
    let chunked = |chunks: &str| {
        format!(
            "POST /v1/login/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
        )
    };
    let whole = chunked(&format!(
        "{:x}\r\n{first}\r\n{:X};x=y\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    ));
    let received = tcp::exchange(&stack, whole.as_bytes()).await;
    assert_eq!(tcp::statuses(&received), [200], "{received}");

    for broken in [
        "zz\r\n{}\r\n0\r\n\r\n",
        "-1\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}",
        "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "5\r\n{}\r\n0\r\n\r\n",
    ] {
        let received = tcp::break_off(&stack, chunked(broken).as_bytes()).await;
        let statuses = tcp::statuses(&received);
        assert!(
            statuses.iter().all(|status| *status >= 400),
            "{broken:?}: {received}"
        );
        assert_eq!(stack.backend.providers().await.status, 200);
    }
}

// Threats: A18.
#[tokio::test]
async fn a_truncated_body_starts_no_login() {
    let stack = TestStack::start().await;
    let key = fresh::secret();
    let body = stack.backend.session_body(&key, GOOGLE).to_string();
    let request = format!(
        "POST /v1/login/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len() + 1
    );
    tcp::break_off(&stack, request.as_bytes()).await;
    assert_eq!(stack.backend.start_with_key(&key, GOOGLE).await.status, 200);
}

// Threats: A37.
#[tokio::test]
async fn the_broker_serves_on_after_bytes_that_are_no_http() {
    let stack = TestStack::start().await;
    let long_line = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(1_000_000));
    let long_header = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "a".repeat(1_000_000)
    );
    let many_headers = format!(
        "GET / HTTP/1.1\r\nHost: x\r\n{}\r\n",
        "X: y\r\n".repeat(10_000)
    );
    let noise: Vec<u8> = (0..20_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for bytes in [
        b"\0".as_slice(),
        b"\r\n\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET / HTTP/1.1\r\n: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        long_line.as_bytes(),
        long_header.as_bytes(),
        many_headers.as_bytes(),
        &noise,
    ] {
        let received = tcp::break_off(&stack, bytes).await;
        let statuses = tcp::statuses(&received);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        assert!(
            statuses.iter().all(|status| *status >= 400),
            "{shown}: {received}"
        );
        assert_eq!(stack.backend.providers().await.status, 200);
    }
    stack.sign_in(Flow::Legacy, GOOGLE).await.is_ada(GOOGLE);
}

#[tokio::test]
async fn a_body_of_megabytes_is_413_or_the_end_of_the_connection() {
    let stack = TestStack::start().await;
    let bytes = vec![b' '; 4 * 1024 * 1024];
    for path in ["/v1/login/session", "/v1/login/result", "/v1/token"] {
        let request = stack.backend.request(Method::POST, path);
        let request = request.header("Content-Type", "application/json");
        match request.body(bytes.clone()).try_send().await {
            // 502: the proxy reports that the broker has closed the connection.
            Ok(response) => assert!([413, 502].contains(&response.status)),
            // The server stopped reading while the client was still sending.
            Err(error) => assert!(!error.is_timeout(), "{error}"),
        }
        assert_eq!(stack.backend.providers().await.status, 200);
    }
}
