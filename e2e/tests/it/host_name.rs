//! A stack that other machines and containers reach by a name: `--host`.

use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};

use contract::DEVELOPMENT_SECRET;
use reqwest::{Certificate, Client};
use serde_json::json;
use stack::{Stack, StackSettings};
use testkit::browser::{Browser, UNSERVED};
use testkit::http::{Http, client_builder};
use url::Url;

/// A name that resolves nowhere (RFC 6761): each client is given its address.
const NAME: &str = "stack.test";

async fn stack_with_name() -> Stack {
    let settings = StackSettings {
        https: true,
        host: Some(NAME.parse().expect("a name")),
        callbacks: vec!["http://localhost:9/back".parse().expect("a callback")],
        ..StackSettings::for_tests()
    };
    Stack::start(settings).await.expect("free ports")
}

/// The address by which other machines reach this one.
fn address_on_the_network() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    // Connecting a UDP socket sends nothing.
    socket
        .connect("192.0.2.1:9")
        .expect("this test needs a network interface besides loopback");
    let ip = socket.local_addr().expect("an address").ip();
    assert!(!ip.is_loopback(), "a network interface besides loopback");
    ip
}

/// A client on another machine, where `NAME` is this one.
fn client_elsewhere(stack: &Stack) -> Client {
    let pem = std::fs::read(stack.ca_file().expect("the stack has TLS")).expect("a file");
    let ca = Certificate::from_pem(&pem).expect("a certificate");
    let client = client_builder().tls_certs_only([ca]);
    let client = client.resolve(NAME, SocketAddr::new(address_on_the_network(), 0));
    client.build().expect("a client")
}

fn urls_of(stack: &Stack) -> [&str; 5] {
    let urls = stack.urls();
    [
        &urls.consumer,
        &urls.broker,
        &urls.control,
        &urls.google,
        &urls.github,
    ]
}

#[tokio::test]
async fn every_server_is_reached_by_the_name_from_the_network() {
    let stack = stack_with_name().await;
    let http = Http::new().with_client(client_elsewhere(&stack));
    for url in urls_of(&stack) {
        assert!(url.starts_with("https://stack.test:"), "{url}");
        assert!(http.get(url).try_send().await.is_ok(), "{url}");
    }
}

#[tokio::test]
async fn a_user_elsewhere_signs_in_by_both_flows() {
    let stack = stack_with_name().await;
    let http = Http::new().with_client(client_elsewhere(&stack));
    let demo = &stack.urls().consumer;
    for button in ["/login/google", "/login/github", "/legacy/login/google"] {
        let browser = Browser::with_http(http.clone());
        let button = format!("{demo}{button}");
        let home = format!("{demo}/");
        let end = browser.press_until(&home, &button, UNSERVED).await;
        assert_eq!(end.url, format!("{demo}/profile"));
        assert!(
            end.response
                .expect("a page")
                .text()
                .contains("Ada Lovelace")
        );
        // All hops went through the network.
        let hosts = browser.steps().into_iter().map(|step| step.url);
        assert!(
            hosts
                .into_iter()
                .all(|url| url.starts_with("https://stack.test:"))
        );
    }
}

#[tokio::test]
async fn a_stack_on_the_network_has_no_development_secret() {
    let stack = stack_with_name().await;
    let projects = stack.projects().list();
    assert_eq!(projects.len(), 2);
    for project in projects {
        assert_ne!(project.client_secret.expose(), DEVELOPMENT_SECRET);
    }
}

#[tokio::test]
async fn the_control_address_accepts_the_name_and_no_other() {
    let stack = stack_with_name().await;
    let http = Http::new().with_client(client_elsewhere(&stack));
    let control = &stack.urls().control;
    let url = format!("{control}/api/stack");
    let own = http.get(&url).header("Origin", control).send().await;
    assert_eq!(own.status, 200);
    let foreign = http.get(&url).header("Host", "other.test").send().await;
    assert_eq!(foreign.status, 403);
    let foreign = http.get(&url).header("Origin", "https://other.test").send();
    assert_eq!(foreign.await.status, 403);
}

#[tokio::test]
async fn a_stack_without_a_name_is_not_reached_from_the_network() {
    let settings = StackSettings {
        https: true,
        ..StackSettings::for_tests()
    };
    let stack = Stack::start(settings).await.expect("free ports");
    for url in urls_of(&stack) {
        let port = Url::parse(url).expect("a URL").port().expect("a port");
        let address = SocketAddr::new(address_on_the_network(), port);
        assert!(TcpStream::connect(address).is_err(), "{url}");
    }
}

#[tokio::test]
async fn a_sandbox_has_the_name_of_its_stack_and_no_plain_http() {
    let stack = stack_with_name().await;
    let http = Http::new().with_client(client_elsewhere(&stack));
    let sandboxes = format!("{}/api/sandboxes", stack.urls().control);
    let sandbox = http.post(&sandboxes).send().await.json();
    let control = sandbox["control"].as_str().expect("a URL");
    assert!(control.starts_with("https://stack.test:"), "{control}");
    assert_eq!(
        http.get(format!("{control}/api/stack")).send().await.status,
        200
    );

    let plain = http
        .post(&sandboxes)
        .json(&json!({ "https": false }))
        .send()
        .await;
    assert_eq!(plain.status, 400);
    assert!(plain.text().contains("https: "), "{}", plain.text());
}
