//! What nginx passes on as it is: the broker's answers, and all cookies but one that the
//! broker's HTTP library cannot read, which would hide all others.

use reqwest::header::HeaderValue;

use super::nginx::Nginx;
use super::stub_broker::{NO_CONTENT, StubBroker, StubResponse};

#[tokio::test]
async fn an_answer_of_the_broker_is_passed_on_as_it_is() {
    // An address that nginx would take for its own, and text that it could compress.
    let (_broker, nginx) = StubBroker::behind_nginx(StubResponse::This(
        "HTTP/1.1 200 OK\r\nLocation: http://broker/back\r\n\
         Content-Type: text/html\r\nStrict-Transport-Security: max-age=1\r\n\
         Cache-Control: no-store\r\nContent-Length: 26\r\nConnection: close\r\n\r\n\
         abcdefghijklmnopqrstuvwxyz",
    ))
    .await;
    let request = nginx.http().get(nginx.url("/authorize"));
    let response = request.header("Accept-Encoding", "gzip").send().await;
    assert_eq!((response.status, response.text().len()), (200, 26));
    let headers = response.headers.iter();
    let headers = headers.filter(|(name, _)| *name != "date");
    let text = |value: &HeaderValue| value.to_str().expect("it is ASCII").to_owned();
    let mut headers: Vec<_> = headers
        .map(|(name, value)| (name.as_str(), text(value)))
        .collect();
    headers.sort_unstable();
    let all = [
        ("cache-control", "no-store"),
        ("connection", "keep-alive"),
        ("content-length", "26"),
        ("content-type", "text/html"),
        ("location", "http://broker/back"),
        ("server", "nginx"),
        ("strict-transport-security", "max-age=1"),
    ];
    assert_eq!(headers, all.map(|(name, value)| (name, value.to_owned())));
}

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
async fn up_to_four_cookies_with_a_byte_beyond_ascii_are_removed_and_no_other() {
    let (broker, nginx) = StubBroker::behind_nginx(NO_CONTENT).await;
    for byte in 0x80..=0xFF {
        let bad = [b"caf", &[byte][..], b"=1"].concat();
        for (before, after) in [("", "; a=1; b=2"), ("a=1; ", "; b=2"), ("a=1; b=2; ", "")] {
            let header = [before.as_bytes(), &bad, after.as_bytes()].concat();
            let passed = passed(&nginx, &broker, &header).await;
            assert_eq!(passed, ["a=1", "b=2"], "{byte:x} after {before:?}");
        }
    }
    // Four of them; the broker sees the fifth.
    for (bad, expected) in [(4, &["a=1", "b=2"][..]), (5, &["a=1", "x=\u{FFFD}", "b=2"])] {
        let header = [b"a=1; ".to_vec(), b"x=\xe9; ".repeat(bad), b"b=2".to_vec()].concat();
        let passed = passed(&nginx, &broker, &header).await;
        assert_eq!(passed, expected, "{bad}");
    }
}
