//! The client's address, by one header that only nginx can set.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use broker::config::Config;
use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::nginx::{Change, NAME, Nginx};
use super::proxied_brokers::ProxiedBrokers;
use super::stub_broker::{NO_CONTENT, StubBroker};
use testkit::backend::Backend;
use testkit::fresh;
use testkit::http::Http;
use testkit::login::GOOGLE;
use testkit::logs;

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
    let front = ProxiedBrokers::start_with(one, &BEHIND_A_BALANCER).await;
    let here = client_through_balancer(&front.nginx, 90, "203.0.113.90").await;
    let there = client_through_balancer(&front.nginx, 91, "203.0.113.91").await;
    for (guess, expected) in [401, 429, 429, 429].into_iter().enumerate() {
        let status = guessed(&front.backend, &here, guess).await;
        assert_eq!(status, expected, "{guess}");
    }
    assert_eq!(guessed(&front.backend, &there, 0).await, 401);
    let alarms = logs::lines_with(&["wrong secrets come too often", "source=203.0.113.90"]);
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
    let inside = nginx.https();
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
