//! The stack over TLS, and by a name that other machines and containers know: its URLs, its
//! certificate authority, and the flows behind it.

use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};

use contract::DEVELOPMENT_SECRET;
use reqwest::Certificate;
use serde_json::{Value, json};
use stack::{Stack, StackSettings};
use testkit::browser::{Browser, UNSERVED};
use testkit::http::{Http, client_builder};
use url::Url;

/// A name that resolves nowhere (RFC 6761): each client is given its address.
const NAME: &str = "stack.test";

/// A stack over TLS, and a client that trusts it.
struct TlsStack {
    stack: Stack,
    http: Http,
}

impl TlsStack {
    /// Starts one, and if it has a name, the client is on another machine that knows the name.
    async fn of(name: Option<&str>) -> Self {
        let settings = StackSettings {
            https: true,
            host: name.map(|name| name.parse().expect("a name")),
            callbacks: vec!["http://localhost:9/back".parse().expect("a callback")],
            ..StackSettings::for_tests()
        };
        let stack = Stack::start(settings).await.expect("free ports");
        let authority = authority(stack.ca_file().expect("the stack has TLS"));
        let client = client_builder().tls_certs_only([authority]);
        let client = match name {
            Some(name) => client.resolve(name, SocketAddr::new(address_on_the_network(), 0)),
            None => client,
        };
        let http = Http::new().with_client(client.build().expect("a client"));
        Self { stack, http }
    }

    fn urls(&self) -> [&str; 5] {
        let urls = self.stack.urls();
        let apps = [&urls.consumer, &urls.broker, &urls.control];
        let [consumer, broker, control] = apps.map(String::as_str);
        [consumer, broker, control, &urls.google, &urls.github]
    }

    fn control(&self, path: &str) -> String {
        format!("{}{path}", self.stack.urls().control)
    }
}

fn authority(path: impl AsRef<std::path::Path>) -> Certificate {
    let pem = std::fs::read(path).expect("a file");
    Certificate::from_pem(&pem).expect("a certificate")
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

/// Signs in at a demo, from its button to the profile.
async fn sign_in(http: &Http, demo: &str, button: &str) -> Browser {
    let browser = Browser::with_http(http.clone());
    let (home, button) = (format!("{demo}/"), format!("{demo}{button}"));
    let end = browser.press_until(&home, &button, UNSERVED).await;
    assert_eq!(end.url, format!("{demo}/profile"));
    let page = end.response.expect("a page");
    assert!(page.text().contains("Ada Lovelace"), "{}", page.text());
    browser
}

#[tokio::test]
async fn every_server_is_reached_by_https_and_only_by_a_client_that_trusts_the_authority() {
    let tls = TlsStack::of(None).await;
    let untrusting = client_builder().build().expect("a client");
    let untrusting = Http::new().with_client(untrusting);
    for url in tls.urls() {
        assert!(url.starts_with("https://"), "{url}");
        assert!(tls.http.get(url).try_send().await.is_ok(), "{url}");
        assert!(untrusting.get(url).try_send().await.is_err(), "{url}");
        let plain = url.replace("https://", "http://");
        assert_eq!(Http::new().get(plain).send().await.status, 400, "{url}");
        // Without a name it is not reached from the network.
        let port = Url::parse(url).expect("a URL").port().expect("a port");
        let address = SocketAddr::new(address_on_the_network(), port);
        assert!(TcpStream::connect(address).is_err(), "{url}");
    }
    let described = tls.http.get(tls.control("/api/stack")).send().await.json();
    let path = tls.stack.ca_file().expect("the stack has TLS");
    assert_eq!(described["ca_file"], path.to_str().expect("text"));
}

#[tokio::test]
async fn the_control_address_accepts_its_own_origin_and_name_alone() {
    let (plain, named) = (TlsStack::of(None).await, TlsStack::of(Some(NAME)).await);
    for tls in [plain, named] {
        let control = tls.stack.urls().control.as_str();
        let without_tls = control.replace("https://", "http://");
        for (header, value, status) in [
            ("Origin", control, 200),
            ("Origin", &without_tls, 403),
            ("Origin", "https://other.test", 403),
            ("Host", "other.test", 403),
        ] {
            let request = tls.http.get(tls.control("/api/stack"));
            let response = request.header(header, value).send().await;
            assert_eq!(response.status, status, "{header}: {value}");
        }
    }
}

#[tokio::test]
async fn sandboxes_beside_a_stack_on_http_have_one_authority_in_common() {
    let stack = Stack::start(StackSettings::for_tests()).await;
    let stack = stack.expect("free ports");
    assert_eq!(stack.ca_file(), None);
    let control = Http::at(&stack.urls().control);
    let described = control.get("/api/stack").send().await.json();
    assert_eq!(described["ca_file"], Value::Null);
    let mut files = Vec::new();
    for _ in 0..2 {
        let wish = json!({ "https": true, "consumer": true });
        let made = control.post("/api/sandboxes").json(&wish).send().await;
        assert_eq!(made.status, 201, "{}", made.text());
        let sandbox = made.json();
        let ca = authority(sandbox["ca_file"].as_str().expect("a path"));
        let client = client_builder().tls_certs_only([ca]).build();
        let http = Http::new().with_client(client.expect("a client"));
        let demo = sandbox["consumer"].as_str().expect("a URL");
        assert!(demo.starts_with("https://"), "{demo}");
        sign_in(&http, demo, "/login/google").await;
        files.push(sandbox["ca_file"].clone());
    }
    assert_eq!(files[0], files[1]);
    let plain = control.post("/api/sandboxes").send().await.json();
    assert_eq!(plain["ca_file"], Value::Null);
    let broker = plain["broker"].as_str().expect("a URL");
    assert!(broker.starts_with("http://"), "{broker}");
}

#[tokio::test]
async fn a_stack_with_a_name_is_used_from_the_network_by_the_name_alone_also_after_a_reset() {
    let tls = TlsStack::of(Some(NAME)).await;
    for url in tls.urls() {
        assert!(url.starts_with("https://stack.test:"), "{url}");
        assert!(tls.http.get(url).try_send().await.is_ok(), "{url}");
    }
    let demo = &tls.stack.urls().consumer;
    for button in [
        "/login/google",
        "/login/github",
        "/legacy/login/google",
        "/legacy/login/github",
    ] {
        let browser = sign_in(&tls.http, demo, button).await;
        let cookies = browser.cookies(demo);
        let is_of_host = |name: &String| name.starts_with("__Host-");
        assert!(cookies.keys().all(is_of_host), "{cookies:?}");
        // All hops went through the network.
        for step in browser.steps() {
            assert!(step.url.starts_with("https://stack.test:"), "{}", step.url);
        }
    }
    tls.stack.reset().await.expect("a fresh broker");
    sign_in(&tls.http, demo, "/login/google").await;
    let projects = tls.stack.projects().list();
    assert_eq!(projects.len(), 2);
    for project in projects {
        assert_ne!(project.client_secret.expose(), DEVELOPMENT_SECRET);
    }
}

#[tokio::test]
async fn a_sandbox_has_the_authority_and_the_name_of_its_stack() {
    let tls = TlsStack::of(Some(NAME)).await;
    let sandboxes = tls.control("/api/sandboxes");
    let sandbox = tls.http.post(&sandboxes).send().await.json();
    let path = tls.stack.ca_file().expect("the stack has TLS");
    assert_eq!(sandbox["ca_file"], path.to_str().expect("text"));
    let control = sandbox["control"].as_str().expect("a URL");
    assert!(control.starts_with("https://stack.test:"), "{control}");
    let described = tls.http.get(format!("{control}/api/stack")).send().await;
    assert_eq!(described.status, 200);

    let plain = tls.http.post(&sandboxes).json(&json!({ "https": false }));
    let plain = plain.send().await;
    assert_eq!(plain.status, 400);
    assert!(plain.text().contains("https: "), "{}", plain.text());
}
