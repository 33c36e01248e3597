//! The faults of the connection, read from a bare socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mock_upstream::{Misbehaviour, Provider};

use super::mock_with;
use crate::test_mock::{TestMock, redemption};

/// Sends a token call; the response is still to be read.
async fn token_call(mock: &TestMock, provider: Provider) -> TcpStream {
    let code = mock.code(provider).await;
    let url = mock.token_url(provider);
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let body = redemption(&code).encoded();
    let length = body.len();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
         Accept: application/json\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

/// Everything until the end of the connection, and the result of the last read.
async fn received(provider: Provider, misbehaviour: Misbehaviour) -> (String, io::Result<usize>) {
    let mock = mock_with(provider, misbehaviour).await;
    let mut stream = token_call(&mock, provider).await;
    let mut received = Vec::new();
    let end = stream.read_to_end(&mut received);
    (String::from_utf8(received).unwrap(), end)
}

/// The status line and headers, and the bytes of the body read so far.
fn head(stream: &mut TcpStream) -> (String, String) {
    let mut received = String::new();
    let mut buffer = [0; 4096];
    while !received.contains("\r\n\r\n") {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the connection ended in the head: {received}");
        received.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[tokio::test]
async fn a_reset_closes_the_token_call_without_a_byte() {
    for provider in Provider::ALL {
        let mock = mock_with(provider, Misbehaviour::Reset).await;
        let mut received = Vec::new();
        let mut stream = token_call(&mock, provider).await;
        assert_eq!(stream.read_to_end(&mut received).unwrap(), 0, "{provider}");
        let last = mock.upstream(provider).journal().pop().unwrap();
        assert_eq!(last.status, None);
    }
}

#[tokio::test]
async fn the_sign_in_after_a_reset_is_served() {
    for provider in Provider::ALL {
        let mock = mock_with(provider, Misbehaviour::Reset).await;
        let mut stream = token_call(&mock, provider).await;
        stream.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(mock.sign_in(provider).await.status, 200);
    }
}

// A byte would arrive within a millisecond; none does in a hundred.
#[tokio::test]
async fn a_timeout_is_silence_on_an_open_connection() {
    for provider in Provider::ALL {
        let mock = mock_with(provider, Misbehaviour::Timeout).await;
        let mut stream = token_call(&mock, provider).await;
        let timeout = Duration::from_millis(100);
        stream.set_read_timeout(Some(timeout)).unwrap();
        let kind = stream.read(&mut [0; 1]).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut));
        let last = mock.upstream(provider).journal().pop().unwrap();
        assert_eq!(last.status, None);
    }
}

#[tokio::test]
async fn a_reset_after_the_headers_resets_the_connection() {
    for provider in Provider::ALL {
        let (received, end) = received(provider, Misbehaviour::ResetAfterHeaders).await;
        assert!(received.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(received.ends_with("\r\n\r\n"));
        assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

#[tokio::test]
async fn a_truncated_response_has_half_of_its_content_length() {
    for provider in Provider::ALL {
        let (received, end) = received(provider, Misbehaviour::CutShort).await;
        let (head, body) = received.split_once("\r\n\r\n").unwrap();
        let promised: usize = header(head, "content-length").unwrap().parse().unwrap();
        assert!(end.is_ok());
        assert!(body.starts_with(r#"{"access_token":"#));
        assert_eq!(body.len(), promised / 2);
    }
}

#[tokio::test]
async fn a_drip_sends_single_bytes() {
    for provider in Provider::ALL {
        let mock = mock_with(provider, Misbehaviour::Drip).await;
        let mut stream = token_call(&mock, provider).await;
        let (head, _) = head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
        assert_eq!(header(&head, "content-length"), Some("52428800"));
        assert_eq!(
            header(&head, "content-type"),
            Some("application/json; charset=utf-8")
        );
        // A slow reader can receive two bytes at once, never many.
        for _ in 0..3 {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).unwrap();
            assert!((1..100).contains(&read), "{read}");
            assert!(buffer[..read].iter().all(|&byte| byte == b' '));
        }
    }
}

#[tokio::test]
async fn a_huge_response_has_50_megabytes() {
    for provider in Provider::ALL {
        let (received, end) = received(provider, Misbehaviour::TokenHuge).await;
        let (head, body) = received.split_once("\r\n\r\n").unwrap();
        assert!(end.is_ok() || body.len() == 50 * 1024 * 1024);
        assert_eq!(header(head, "content-length"), Some("52428800"));
        assert_eq!(body.len(), 50 * 1024 * 1024);
    }
}

#[tokio::test]
async fn no_client_receives_the_delivery_header() {
    for provider in Provider::ALL {
        for misbehaviour in [
            Misbehaviour::ResetAfterHeaders,
            Misbehaviour::CutShort,
            Misbehaviour::TokenHuge,
        ] {
            let (received, _) = received(provider, misbehaviour).await;
            let (head, _) = received.split_once("\r\n\r\n").unwrap();
            assert!(!head.contains("x-mock"), "{head}");
        }
    }
}
