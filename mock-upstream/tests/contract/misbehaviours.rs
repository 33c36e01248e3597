//! The misbehaviours: each one sends what its description says, and nothing else changes.
//!
//! What a client of the mock makes of it is a matter of the client's tests.

mod observed;

use std::collections::HashSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, Provider};

use crate::test_mock::{GITHUB, GOOGLE, TestMock, token_path};
use observed::Observed;

/// The table of what each misbehaviour changes in a good sign-in: a block for each, with
/// its provider or `both` and its name above the changes.
const CHANGES: &str = include_str!("misbehaviours.txt");

/// The changes of a misbehaviour, in alphabetical order.
fn changes(provider: Provider, misbehaviour: Misbehaviour) -> Vec<&'static str> {
    let heads = [provider.name(), "both"].map(|it| format!("{it} {}", misbehaviour.name()));
    let mut blocks = CHANGES.split("\n\n").map(|block| block.trim().lines());
    let is_its = |head: &str| heads.iter().any(|it| it == head);
    let block = blocks.find(|block| block.clone().next().is_some_and(is_its));
    let lines = block.into_iter().flatten().skip(1).map(str::trim);
    let mut lines: Vec<_> = lines.filter(|line| !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines
}

#[tokio::test]
async fn each_misbehaviour_changes_in_a_good_sign_in_what_the_table_says() {
    let mock = TestMock::new().await;
    let mut wrong = Vec::new();
    for provider in Provider::ALL {
        let good = Observed::sign_in(&mock, provider, None).await;
        for &misbehaviour in Misbehaviour::of(provider) {
            if FAULTS.contains(&misbehaviour) {
                continue;
            }
            mock.upstreams.reset();
            let observed = Observed::sign_in(&mock, provider, Some(misbehaviour)).await;
            let (seen, expected) = (observed.changes(&good), changes(provider, misbehaviour));
            if seen != expected || seen.is_empty() {
                let name = misbehaviour.name();
                wrong.push(format!("{provider} {name}: {seen:#?}, not {expected:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_block_of_the_table_is_about_a_misbehaviour() {
    let all = Provider::ALL.into_iter().flat_map(Misbehaviour::of);
    let names: HashSet<_> = all.map(|it| it.name()).collect();
    for block in CHANGES.split("\n\n") {
        let head = block.trim().lines().next().unwrap_or_default();
        let name = head.split(' ').next_back().unwrap();
        assert!(names.contains(name), "{head}");
    }
}

#[tokio::test]
async fn a_misbehaviour_is_parsed_and_queued_by_its_own_provider_alone() {
    let mock = TestMock::new().await;
    for (provider, other) in [(GOOGLE, GITHUB), (GITHUB, GOOGLE)] {
        for &known in Misbehaviour::of(provider) {
            assert_eq!(Misbehaviour::parse(provider, known.name()), Ok(known));
            let is_others = Misbehaviour::of(other).contains(&known);
            let parsed = Misbehaviour::parse(other, known.name());
            assert_eq!(parsed.is_ok(), is_others, "{}", known.name());
            let queued = mock.upstream(other).queue(Next::Misbehave(known));
            assert_eq!(queued.is_ok(), is_others, "{}", known.name());
        }
    }
    let refused = Misbehaviour::parse(GITHUB, "wrong_nonce").unwrap_err();
    let refused = refused.to_string();
    assert!(refused.starts_with("GitHub can misbehave as: deny, server_error, "));
    assert!(refused.contains("profile_refused") && !refused.contains("bad_signature"));
}

#[test]
fn each_misbehaviour_has_a_sentence_of_its_own_and_an_error_unless_it_is_merely_odd() {
    let errors = "access_denied invalid_provider_response provider_unavailable";
    for provider in Provider::ALL {
        let known = Misbehaviour::of(provider);
        let descriptions: HashSet<_> = known.iter().map(|it| it.description(provider)).collect();
        assert!(descriptions.iter().all(|it| it.ends_with('.')));
        assert_eq!(descriptions.len(), known.len());
        for known in known {
            let is_odd = known.group() == Group::Odd;
            assert_eq!(known.error().is_none(), is_odd, "{}", known.name());
            let is_error = |error| errors.split(' ').any(|it| it == error);
            assert!(known.error().is_none_or(is_error), "{}", known.name());
        }
    }
}

#[tokio::test]
async fn a_misbehaviour_affects_its_own_sign_in_alone() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        mock.queue(provider, Next::Misbehave(Misbehaviour::TokenEmpty));
        let corrupted = mock.redemption(provider).await;
        assert!(mock.sign_in(provider).await.is_granted());
        assert_eq!(mock.token(provider, &corrupted).await.body, "");
    }
}

#[tokio::test]
async fn no_misbehaviour_hides_an_error_in_the_request() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        for &misbehaviour in Misbehaviour::of(provider) {
            if misbehaviour.group() == Group::Callback {
                continue;
            }
            mock.queue(provider, Next::Misbehave(misbehaviour));
            let form = mock.redemption(provider).await.changed("-code_verifier");
            let error = mock.token(provider, &form).await.text("error");
            assert_eq!(error, "invalid_grant", "{}", misbehaviour.name());
        }
    }
}

/// The faults of the connection, which are read from a bare socket.
const FAULTS: [Misbehaviour; 6] = [
    Misbehaviour::Timeout,
    Misbehaviour::Reset,
    Misbehaviour::ResetAfterHeaders,
    Misbehaviour::CutShort,
    Misbehaviour::Drip,
    Misbehaviour::TokenHuge,
];

/// The answer to a token call: the head, the body, and the result of the last read.
struct Received {
    head: String,
    body: String,
    end: io::Result<usize>,
}

/// Makes a token call, and reads until the connection ends or this much of a body has arrived.
async fn received(mock: &TestMock, provider: Provider, max_body: usize) -> Received {
    let body = mock.redemption(provider).await.encoded();
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
        mock.upstreams.reset();
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
