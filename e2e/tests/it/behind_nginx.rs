//! The broker as operators run it: off loopback, behind Debian's nginx with the
//! configuration that is shipped, over TLS. Here are the client's address, by one header that
//! only nginx can set; what nginx passes on as it is, the broker's answers and all cookies but
//! one that the broker's HTTP library cannot read, which would hide all others; and several
//! brokers behind one nginx.
//!
//! Needs nginx; `just test` installs it.

mod nginx;
mod refusals;
mod slow;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use broker::config::Config;
use reqwest::header::HeaderValue;
use testkit::backend::Backend;
use testkit::fresh;
use testkit::http::Http;
use testkit::leak_check::log;
use testkit::login::{FLOWS, GOOGLE, PROVIDERS};
use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use nginx::{Change, NAME, NO_CONTENT, Nginx, Ports, ProxiedBrokers, StubBroker, StubResponse};

/// Headers by which a client claims another address.
const CLAIMS: [(&str, &str); 8] = [
    ("X-Real-IP", "198.51.100.1"),
    ("X_Real_IP", "198.51.100.2"),
    ("Forwarded", "for=198.51.100.3"),
    ("X-Forwarded-For", "198.51.100.4"),
    ("X-Forwarded-Host", "evil.example"),
    ("X-Forwarded-Port", "4711"),
    ("X-Forwarded-Proto", "http"),
    ("Connection", "X-Real-IP, keep-alive"),
];

// Threats: A31, A44, CVE-2025-64484, CVE-2026-40575.
#[tokio::test]
async fn a_broker_gets_the_clients_address_from_nginx_and_from_no_client_header() {
    let (broker, nginx) = StubBroker::behind_nginx(NO_CONTENT).await;
    for source in [[127, 0, 0, 2], [127, 0, 0, 3]] {
        let mut request = nginx.http_from(source).get(nginx.url("/livez"));
        for (name, value) in CLAIMS {
            request = request.header(name, value);
        }
        assert_eq!(request.send().await.status, 204);
        let head = broker.heads().pop().expect("a request");
        let address = IpAddr::from(source);
        let mut lines: Vec<_> = head.trim_end().split("\r\n").collect();
        lines.sort_unstable();
        let all = [
            "accept: */*",
            "get /livez http/1.1",
            &format!("host: {NAME}"),
            &format!("x-real-ip: {address}"),
        ];
        assert_eq!(lines, all);
    }
}

// Threats: A38.
#[tokio::test]
async fn a_broker_counts_wrong_secrets_by_the_address_that_nginx_sees() {
    let one = |config: &mut Config| config.limits.wrong_secrets_per_minute = NonZeroU32::MIN;
    let front = ProxiedBrokers::of(1, one, &BEHIND_A_BALANCER).await;
    let here = client_through_balancer(&front.nginx, 90, "203.0.113.90").await;
    let there = client_through_balancer(&front.nginx, 91, "203.0.113.91").await;
    for (guess, expected) in [401, 429, 429, 429].into_iter().enumerate() {
        let status = guessed(&front.backend, &here, guess).await;
        assert_eq!(status, expected, "{guess}");
    }
    assert_eq!(guessed(&front.backend, &there, 0).await, 401);
    let alarms = log::lines_with(&["wrong secrets come too often", "source=203.0.113.90"]);
    assert_eq!(alarms.len(), 1, "{alarms:?}");
}

/// Tries a wrong secret, each time with another claimed address.
async fn guessed(backend: &Backend, client: &Http, guess: usize) -> u16 {
    let mut body = backend.session_body(&fresh::secret(), GOOGLE);
    body["client_secret"] = "wrong".into();
    let url = format!("{}/v1/login/session", backend.broker());
    let mut request = client.post(url).json(&body);
    for (name, _) in CLAIMS {
        request = request.header(name, format!("198.51.100.{guess}"));
    }
    request.send().await.status
}

/// Makes nginx accept the client's address from a balancer in front of it.
const BEHIND_A_BALANCER: [Change<'_>; 2] = [
    (" ssl;\n", " ssl proxy_protocol;\n"),
    (
        "server_name signin.example;",
        "server_name signin.example; set_real_ip_from 127.0.0.0/8; real_ip_header proxy_protocol;",
    ),
];

/// A client that seems to connect from `source` to a balancer in front of nginx,
/// whose own address ends in `host`.
async fn client_through_balancer(nginx: &Nginx, host: u8, source: &'static str) -> Http {
    let inside = nginx.https;
    // Its clients know it by nginx's name and port.
    let address = SocketAddr::from(([127, 0, 0, host], inside.port()));
    let listener = TcpListener::bind(address).await.expect("a free port");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(carry(client, inside, source));
        }
    });
    let client = nginx.trusting_client().resolve(NAME, address).build();
    Http::new().with_client(client.expect("a client"))
}

/// Forwards a connection to nginx, after the line with the client's address that the
/// PROXY protocol prescribes.
async fn carry(mut client: TcpStream, nginx: SocketAddr, source: &str) {
    let mut inside = TcpStream::connect(nginx).await.expect("nginx listens");
    let from = format!("PROXY TCP4 {source} 203.0.113.1 4711 443\r\n");
    inside.write_all(from.as_bytes()).await.expect("it reads");
    let _ = copy_bidirectional(&mut client, &mut inside).await;
}

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

#[tokio::test]
async fn a_user_signs_in_by_either_flow_whichever_broker_serves_a_request() {
    let front = ProxiedBrokers::of(2, |_| (), &[]).await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            front.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    let brokers = front.brokers();
    let written = front.nginx.stop();
    for broker in brokers {
        let line = format!(r#""broker":"{broker}","upstream":"303""#);
        assert!(written.access.contains(&line), "{}", written.access);
    }
}

// Threats: B2, B11.
#[tokio::test]
async fn a_callback_whose_broker_dies_is_not_sent_to_another() {
    let brokers = [
        StubBroker::answering(StubResponse::Closes).await,
        StubBroker::answering(StubResponse::Closes).await,
    ];
    let nginx = Nginx::start(Ports::draw(), &brokers.each_ref().map(|it| it.address), &[]);
    let callback = nginx.url("/callback/google?code=one&state=two");
    let answer = nginx.http().get(callback).send().await;
    assert_eq!(answer.status, 503);
    let requests: Vec<_> = brokers.iter().flat_map(StubBroker::heads).collect();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("get /callback/google?code=one&state=two http/1.1\r\n"));
}

#[tokio::test]
async fn after_a_broker_dies_the_next_request_is_served_by_another() {
    let brokers = [
        StubBroker::answering(StubResponse::Closes).await,
        StubBroker::answering(NO_CONTENT).await,
    ];
    let nginx = Nginx::start(
        Ports::draw(),
        &brokers.each_ref().map(|it| it.address),
        // Each of several workers would find out for itself.
        &[("worker_processes auto;", "worker_processes 1;")],
    );
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let answer = nginx.http().get(nginx.url("/livez")).send();
        statuses.push(answer.await.status);
    }
    let failed = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!(failed, 1, "{statuses:?}");
    assert_eq!(brokers[1].heads().len(), 5, "{statuses:?}");
}
