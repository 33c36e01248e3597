//! The cookies that nginx passes on: one that the broker's HTTP library cannot read would
//! hide all others.

use super::nginx::{Nginx, Ports};
use super::stub_broker::{NO_CONTENT, StubBroker};

/// The cookies that reach the broker of those in `header`.
async fn passed(nginx: &Nginx, broker: &StubBroker, header: &[u8]) -> Vec<String> {
    let request = nginx.http().get(nginx.url("/livez"));
    request.header("Cookie", header).send().await;
    let head = broker.heads().pop().expect("a request");
    let lines = head
        .lines()
        .filter_map(|line| line.strip_prefix("cookie: "));
    let pairs = lines.flat_map(|line| line.split(';')).map(str::trim);
    let pairs = pairs.filter(|pair| !pair.is_empty());
    pairs.map(ToOwned::to_owned).collect()
}

// Threats: W2.
#[tokio::test]
async fn a_cookie_with_a_byte_beyond_ascii_is_removed_and_no_other() {
    let broker = StubBroker::answering(NO_CONTENT).await;
    let nginx = Nginx::start(Ports::draw(), &[broker.address], &[]);
    for byte in 0x80..=0xFF {
        let bad = [b"caf", &[byte][..], b"=1"].concat();
        for (before, after) in [("", "; a=1; b=2"), ("a=1; ", "; b=2"), ("a=1; b=2; ", "")] {
            let header = [before.as_bytes(), &bad, after.as_bytes()].concat();
            let passed = passed(&nginx, &broker, &header).await;
            assert_eq!(passed, ["a=1", "b=2"], "{byte:x} after {before:?}");
        }
    }
}

#[tokio::test]
async fn four_such_cookies_are_removed_and_the_broker_sees_the_fifth() {
    let broker = StubBroker::answering(NO_CONTENT).await;
    let nginx = Nginx::start(Ports::draw(), &[broker.address], &[]);
    for (bad, expected) in [(4, &["a=1", "b=2"][..]), (5, &["a=1", "x=\u{FFFD}", "b=2"])] {
        let header = [b"a=1; ".to_vec(), b"x=\xe9; ".repeat(bad), b"b=2".to_vec()].concat();
        let passed = passed(&nginx, &broker, &header).await;
        assert_eq!(passed, expected, "{bad}");
    }
}
