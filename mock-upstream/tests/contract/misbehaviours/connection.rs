//! The faults of the connection, read from a bare socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mock_upstream::{Misbehaviour, Next, Provider};

use crate::test_mock::{TestMock, redemption, token_path};

pub(super) const FAULTS: [Misbehaviour; 6] = [
    Misbehaviour::Timeout,
    Misbehaviour::Reset,
    Misbehaviour::ResetAfterHeaders,
    Misbehaviour::CutShort,
    Misbehaviour::Drip,
    Misbehaviour::TokenHuge,
];

/// What a token call received: the head, the body, and the result of the last read.
struct Received {
    head: String,
    body: String,
    end: io::Result<usize>,
}

/// Makes a token call, and reads until the connection ends or this much of a body has arrived.
async fn received(mock: &TestMock, provider: Provider, max_body: usize) -> Received {
    let body = redemption(&mock.code(provider).await).encoded();
    let (path, length) = (token_path(provider), body.len());
    let mut stream = TcpStream::connect(mock.upstream(provider).address()).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: mock\r\nContent-Length: {length}\r\n\
         Accept: application/json\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}"
    )
    .unwrap();
    // A byte would arrive within a millisecond, or within twenty of a drip.
    let silence = Some(Duration::from_millis(500));
    stream.set_read_timeout(silence).unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), [0; 64 * 1024]);
    let end = loop {
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => bytes.extend(&buffer[..read]),
            end => break end,
        }
        let head = bytes.windows(4).position(|it| it == b"\r\n\r\n");
        if head.is_some_and(|head| bytes.len() - head - 4 >= max_body) {
            break Ok(0);
        }
    };
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    Received {
        head: head.to_owned(),
        body: body.to_owned(),
        end,
    }
}

impl Received {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.unwrap_or_default()
    }
}

const HUGE: usize = 50 * 1024 * 1024;

#[tokio::test]
async fn each_fault_of_the_connection_is_on_the_wire_and_the_next_sign_in_is_served() {
    let mock = TestMock::new().await;
    let pairs = FAULTS.map(|fault| Provider::ALL.map(|provider| (provider, fault)));
    for (provider, fault) in pairs.into_iter().flatten() {
        mock.queue(provider, Next::Misbehave(fault));
        let max_body = match fault {
            Misbehaviour::Drip => 3,
            _ => usize::MAX,
        };
        let received = received(&mock, provider, max_body).await;
        let what = format!("{} at {provider}", fault.name());
        let status = mock.upstream(provider).journal().pop().unwrap().status;
        let is_nothing = matches!(fault, Misbehaviour::Timeout | Misbehaviour::Reset);
        assert_eq!(status, (!is_nothing).then_some(200), "{what}");
        let start = received.head.starts_with("HTTP/1.1 200 OK\r\n");
        assert_eq!(start, !is_nothing, "{what}: {}", received.head);
        assert!(!received.head.contains("x-mock"), "{what}");
        let end = received.end.as_ref().map_err(io::Error::kind);
        let length: usize = received.header("content-length").parse().unwrap_or(0);
        match fault {
            Misbehaviour::Timeout => assert!(
                matches!(end, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)),
                "{end:?}"
            ),
            Misbehaviour::Reset => assert_eq!(end, Ok(&0), "{what}"),
            Misbehaviour::ResetAfterHeaders => {
                assert_eq!(end, Err(ErrorKind::ConnectionReset), "{what}");
                assert_eq!(received.body, "");
            }
            Misbehaviour::CutShort => {
                assert_eq!((end, received.body.len()), (Ok(&0), length / 2), "{what}");
                assert!(received.body.starts_with(r#"{"access_token":"#));
            }
            _ => {
                let media_type = "application/json; charset=utf-8";
                assert_eq!(length, HUGE, "{what}");
                assert_eq!(received.header("content-type"), media_type);
                assert!(received.body.bytes().all(|byte| byte == b' '), "{what}");
                let expected = match fault {
                    // A slow reader can receive two bytes at once, never many.
                    Misbehaviour::Drip => 3..100,
                    _ => HUGE..HUGE + 1,
                };
                assert!(expected.contains(&received.body.len()), "{what}");
            }
        }
        assert!(mock.sign_in(provider).await.is_granted(), "{what}");
    }
}
