//! The limits of a request, and its form, over bare sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::test_mock::{GOOGLE, TestMock, redemption};

/// The longest body, and the maximum number of parameters.
const BODY_BYTES: usize = 64 * 1024;
const PARAMETERS: usize = 256;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A connection on which a read fails, rather than waits for ever.
fn connect(mock: &TestMock) -> TcpStream {
    let stream = TcpStream::connect(mock.upstream(GOOGLE).address()).unwrap();
    let limit = Some(Duration::from_secs(10));
    stream.set_read_timeout(limit).unwrap();
    stream
}

/// A token call with these further headers and this body.
fn token_call(headers: &str, body: &str) -> String {
    format!("POST /token HTTP/1.1\r\nHost: mock\r\n{FORM}{headers}\r\n{body}")
}

fn token_call_of(body: &str) -> String {
    token_call(&format!("Content-Length: {}\r\n", body.len()), body)
}

/// `body` in chunks of `size` bytes.
fn in_chunks(body: &str, size: usize) -> String {
    let chunks = body.as_bytes().chunks(size);
    let chunks = chunks.map(|it| format!("{:x}\r\n{}\r\n", it.len(), str::from_utf8(it).unwrap()));
    chunks.collect::<String>() + "0\r\n\r\n"
}

fn chunked_token_call(body: &str) -> String {
    let chunks = in_chunks(body, 1000);
    token_call("Transfer-Encoding: chunked\r\n", &chunks)
}

fn parameters(number: usize) -> String {
    let names: Vec<_> = (0..number).map(|n| format!("p{n}=1")).collect();
    names.join("&")
}

/// The answer to `request` until the connection ends.
fn last_answer(mock: &TestMock, request: &str) -> String {
    let mut stream = connect(mock);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Checks that `request` gets this status, and that its connection closes.
#[track_caller]
fn check_refused(mock: &TestMock, request: &str, status: u16) {
    let answer = last_answer(mock, request);
    let expected = format!("HTTP/1.1 {status} ");
    assert!(answer.starts_with(&expected), "{answer} to {request:.200}");
}

#[tokio::test]
async fn a_body_over_its_limits_is_refused() {
    let mock = TestMock::new().await;
    for body in ["a".repeat(BODY_BYTES + 1), parameters(PARAMETERS + 1)] {
        check_refused(&mock, &token_call_of(&body), 413);
        check_refused(&mock, &chunked_token_call(&body), 413);
    }
    let endless = "Content-Length: 99999999999999999999\r\n";
    check_refused(&mock, &token_call(endless, ""), 413);
    let mut journal = mock.upstream(GOOGLE).journal();
    journal.retain(|entry| entry.status.is_some());
    assert_eq!(journal, []);
}

#[tokio::test]
async fn a_head_over_its_limits_is_refused() {
    let mock = TestMock::new().await;
    let head = |target: &str, header: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: mock\r\nX: {header}\r\n\r\n")
    };
    let query = parameters(PARAMETERS + 1);
    check_refused(&mock, &head(&format!("/?{query}"), ""), 414);
    check_refused(&mock, &head("/", &"a".repeat(128 * 1024)), 431);
}

#[tokio::test]
async fn a_request_within_the_limits_is_served() {
    let mock = TestMock::new().await;
    let code = redemption(&mock.code(GOOGLE).await).encoded();
    let missing = "Missing required parameter";
    for (body, part) in [
        ("a".repeat(BODY_BYTES), [missing; 2]),
        (parameters(PARAMETERS), [missing; 2]),
        // The code works once.
        (code, ["access_token", "invalid_grant"]),
    ] {
        for (request, part) in [chunked_token_call(&body), token_call_of(&body)]
            .iter()
            .zip(part)
        {
            let request = request.replace("Host", "Connection: close\r\nHost");
            let answer = last_answer(&mock, &request);
            assert!(answer.contains(part), "{answer}");
        }
    }
    let path = format!("/?{}", parameters(PARAMETERS));
    assert_eq!(mock.get(GOOGLE, &path).await.status, 200);
}

// RFC 9112, sections 3 and 6: each of these could be read in two ways, or in none.
#[tokio::test]
async fn a_request_of_an_ambiguous_form_is_refused() {
    let mock = TestMock::new().await;
    for headers in [
        "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: +1\r\n",
        "Content-Length: \r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
    ] {
        check_refused(&mock, &token_call(headers, "a"), 400);
    }
    for chunks in ["x\r\na\r\n0\r\n\r\n", "1\r\nab\r\n0\r\n\r\n", "\r\n"] {
        let request = token_call("Transfer-Encoding: chunked\r\n", chunks);
        check_refused(&mock, &request, 400);
    }
    for line in ["GET /", "GET a:b HTTP/1.1", "CONNECT 127.0.0.1:1 HTTP/1.1"] {
        check_refused(&mock, &format!("{line}\r\nHost: mock\r\n\r\n"), 400);
    }
    check_refused(&mock, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
}

// RFC 9110, section 10.1.1.
#[tokio::test]
async fn a_client_that_expects_100_continue_gets_it_before_it_sends_the_body() {
    let mock = TestMock::new().await;
    let mut stream = connect(&mock);
    let headers = "Expect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n";
    let head = token_call(headers, "");
    stream.write_all(head.as_bytes()).unwrap();
    let mut interim = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut interim).unwrap();
    assert!(interim.starts_with(b"HTTP/1.1 100 "));
    stream.write_all(b"a").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}
