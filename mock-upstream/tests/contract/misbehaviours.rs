//! The misbehaviours: each one sends what its description says, and nothing else changes.
//!
//! What a client of the mock makes of it is a matter of the client's tests.

mod observed;

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, Provider};

use crate::test_mock::{GITHUB, GOOGLE, TestMock, token_path};
use observed::Observed;

/// The table of what each misbehaviour changes in a good sign-in: a block for each, with
/// its provider or `both` and its name above the changes, which are in alphabetical order here.
fn table() -> BTreeMap<String, Vec<String>> {
    let mut table = BTreeMap::new();
    for block in include_str!("misbehaviours.txt").split("\n\n") {
        let mut lines = block.trim().lines();
        let (whose, name) = lines.next().unwrap().split_once(' ').unwrap();
        let lines = lines.map(str::trim).filter(|line| !line.starts_with('#'));
        let mut changes: Vec<_> = lines.map(str::to_owned).collect();
        changes.sort_unstable();
        for provider in Provider::ALL {
            if [provider.name(), "both"].contains(&whose) {
                table.insert(format!("{provider} {name}"), changes.clone());
            }
        }
    }
    table
}

#[tokio::test]
async fn each_misbehaviour_changes_in_a_good_sign_in_what_the_table_says() {
    let mock = TestMock::new().await;
    let mut table = table();
    for provider in Provider::ALL {
        let good = Observed::sign_in(&mock, provider, None).await;
        for &misbehaviour in Misbehaviour::of(provider) {
            let what = format!("{provider} {}", misbehaviour.name());
            let expected = table.remove(&what);
            if FAULTS.iter().any(|(fault, _)| *fault == misbehaviour) {
                continue;
            }
            mock.upstreams.reset();
            let observed = Observed::sign_in(&mock, provider, Some(misbehaviour)).await;
            assert_eq!(Some(observed.changes(&good)), expected, "{what}");
        }
    }
    assert_eq!(table, BTreeMap::new(), "these are about no misbehaviour");
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

/// The faults of the connection, which are read from a bare socket, and how it ends.
const FAULTS: [(Misbehaviour, Result<(), ErrorKind>); 6] = [
    (Misbehaviour::Timeout, Err(ErrorKind::WouldBlock)),
    (Misbehaviour::Reset, Ok(())),
    (
        Misbehaviour::ResetAfterHeaders,
        Err(ErrorKind::ConnectionReset),
    ),
    (Misbehaviour::CutShort, Ok(())),
    (Misbehaviour::Drip, Ok(())),
    (Misbehaviour::TokenHuge, Ok(())),
];

/// The answer to a token call up to this much of its body: the head, the body, and how the
/// connection ends.
async fn received(
    mock: &TestMock,
    provider: Provider,
    max_body: u64,
) -> (String, String, Result<(), ErrorKind>) {
    let form = mock.redemption(provider).await.encoded();
    let (path, length) = (token_path(provider), form.len());
    let mut stream = TcpStream::connect(mock.upstream(provider).address()).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: mock\r\nContent-Length: {length}\r\n\
         Accept: application/json\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}"
    )
    .unwrap();
    // A byte would arrive within a millisecond, or within twenty of a drip.
    let silence = Some(Duration::from_millis(500));
    stream.set_read_timeout(silence).unwrap();
    let mut stream = BufReader::new(stream);
    let (mut head, mut body) = (String::new(), String::new());
    let end = loop {
        match stream.read_line(&mut head) {
            // The blank line below the head.
            Ok(2) => break stream.take(max_body).read_to_string(&mut body),
            Ok(read) if read > 0 => {}
            end => break end,
        }
    };
    (head, body, end.map(drop).map_err(|error| error.kind()))
}

const HUGE: usize = 50 * 1024 * 1024;

#[tokio::test]
async fn each_fault_of_the_connection_is_on_the_wire_and_the_next_sign_in_is_served() {
    let mock = TestMock::new().await;
    let pairs = FAULTS.map(|fault| Provider::ALL.map(|provider| (provider, fault)));
    for (provider, (fault, expected_end)) in pairs.into_iter().flatten() {
        mock.upstreams.reset();
        mock.queue(provider, Next::Misbehave(fault));
        let is_drip = fault == Misbehaviour::Drip;
        let max_body = if is_drip { 3 } else { u64::MAX };
        let (head, body, end) = received(&mock, provider, max_body).await;
        let what = format!("{} at {provider}: {head}", fault.name());
        let status = mock.upstream(provider).journal().pop().unwrap().status;
        let is_nothing = matches!(fault, Misbehaviour::Timeout | Misbehaviour::Reset);
        assert_eq!(status, (!is_nothing).then_some(200), "{what}");
        assert_eq!(
            head.starts_with("HTTP/1.1 200 OK\r\n"),
            !is_nothing,
            "{what}"
        );
        assert!(!head.contains("x-mock"), "{what}");
        let header = |name| head.lines().find_map(|line| line.strip_prefix(name));
        let length = header("content-length: ").map_or(0, |it| it.parse().unwrap());
        let (sent, start) = match fault {
            Misbehaviour::CutShort => (length / 2, r#"{"access_token":"#),
            Misbehaviour::Drip => (3, " "),
            Misbehaviour::TokenHuge => (HUGE, " "),
            _ => (0, ""),
        };
        assert_eq!((end, body.len()), (expected_end, sent), "{what}");
        assert!(body.starts_with(start), "{what}");
        if start == " " {
            let media_type = header("content-type: ");
            assert_eq!(media_type, Some("application/json; charset=utf-8"));
            assert_eq!((length, body.trim()), (HUGE, ""), "{what}");
        }
        assert!(mock.sign_in(provider).await.is_granted(), "{what}");
    }
}
