//! The headers of every response, and requests that no client library sends.

use std::collections::HashSet;

use broker::cookie_cipher::CookieKey;
use reqwest::Method;
use testkit::http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::test_broker::{CALLBACK, TestBroker, authorize_path, back_path};

#[tokio::test]
async fn a_request_id_is_the_brokers_own_and_unique() {
    let broker = TestBroker::start().await;
    let mut ids = HashSet::new();
    for _ in 0..20 {
        let request = broker
            .request(Method::GET, "/api/providers")
            .header("X-Request-Id", "mine");
        let id = request
            .send()
            .await
            .header("x-request-id")
            .unwrap()
            .to_owned();
        assert_ne!(id, "mine");
        assert!(ids.insert(id));
    }
}

// Threats: A33.
#[tokio::test]
async fn a_page_can_load_its_style_and_nothing_else() {
    let broker = TestBroker::start().await;
    let page = broker.browser().get("/login/unknown").await;
    assert!(
        page.text()
            .contains(r#"<link rel="stylesheet" href="/style.css">"#)
    );
    let style = broker.get("/style.css").await;
    assert_eq!(style.status, 200);
    assert_eq!(
        style.header("content-type"),
        Some("text/css; charset=utf-8")
    );
    assert!(!style.text().contains("url("), "it loads no other resource");
}

/// Every route, with valid and invalid requests, over HTTP and HTTPS.
// Threats: A4, A17, A33, A35.
#[tokio::test]
async fn every_response_of_every_route_has_its_headers() {
    let https = TestBroker::start_with(|config| {
        config.base_url = "https://broker.example".parse().unwrap();
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    })
    .await;
    request_everything(&https, Some("max-age=31536000")).await;
    let http = TestBroker::start().await;
    request_everything(&http, None).await;

    // Every route also has a request that succeeds.
    sign_in_by_every_route(&http).await;
    let done: HashSet<_> = http
        .every_event()
        .into_iter()
        .filter(|event| event.status.is_some_and(|status| status < 400))
        .map(|event| event.operation)
        .collect();
    for (method, path) in &http.routes {
        assert!(
            done.contains(&format!("{method} {path}")),
            "{method} {path}"
        );
    }
}

const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::PATCH,
    Method::OPTIONS,
    Method::TRACE,
];

/// Requests each path with each method, as a program, as a browser, and from a foreign
/// page.
async fn request_everything(broker: &TestBroker, expected_hsts: Option<&str>) {
    let paths = broker.routes.iter().map(|(_, path)| path.as_str());
    let paths: HashSet<_> = paths.chain(["/", "/nowhere", "/v1/nowhere"]).collect();
    assert!(paths.len() > 15, "{paths:?}");
    let with_secret = paths.iter().map(|path| format!("{path}?session_key=x"));
    let with_secret: Vec<_> = with_secret.collect();
    for path in paths
        .into_iter()
        .chain(with_secret.iter().map(String::as_str))
    {
        let path = path
            .replace("{handle}", "unknown")
            .replace("{provider}", "github")
            .replace("{_}", "unknown");
        for method in METHODS {
            for change in [
                |request: Request| request,
                |request: Request| request.header("Accept", "text/html"),
                |request: Request| {
                    request
                        .header("Origin", "https://evil.example")
                        .header("Access-Control-Request-Method", "POST")
                        .json(&"junk")
                },
                |request: Request| request.form(&[("_method", "get")]),
            ] {
                let response = change(broker.request(method.clone(), &path)).send().await;
                response.has_security_headers();
                let hsts = response.header("strict-transport-security");
                assert_eq!(hsts, expected_hsts, "{method} {path}");
            }
        }
    }
}

/// Signs in through both flows, with every request that a backend or a browser can
/// send.
async fn sign_in_by_every_route(broker: &TestBroker) {
    let path = broker.session(1).await;
    for (key, action) in [(2, "cancel"), (3, "continue")] {
        let path = broker.session(key).await;
        let visitor = broker.browser_on("https://evil.example/");
        let page = visitor.get(&path).await;
        page.has_common_headers();
        let pressed = visitor.press(&format!("{path}/{action}")).await;
        assert_eq!(pressed.status, 303);
        pressed.has_security_headers();
    }
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    let back = back_path(&redirect, "code=upstream-code");
    browser.get(&back).await.redirects_to(CALLBACK);
    // Over `/return`.
    browser.get(&path).await.redirects_to(CALLBACK);
    let browser = broker.browser();
    let back = back_path(&browser.get(&authorize_path()).await, "code=upstream-code");
    assert_eq!(browser.answer(&back, "continue").await.status, 303);
    let token = broker.access_token().await;
    let authorize = authorize_path();
    let mut responses = vec![
        redirect,
        broker.result(1).await,
        broker.profile(&token).await,
        broker.revoke(&token).await,
        broker.browser().get(&authorize).await,
    ];
    for path in [
        "/api/providers",
        "/livez",
        "/readyz",
        "/style.css",
        "/question.js",
    ] {
        responses.push(broker.get(path).await);
    }
    for path in [&path, &authorize, &back] {
        responses.push(broker.request(Method::HEAD, path).send().await);
    }
    for response in responses {
        assert!(response.status < 400, "{response:?}");
        response.has_security_headers();
    }
}

/// Sends bytes and returns all that the broker sends, in lower case.
pub(super) async fn raw(broker: &TestBroker, bytes: &[u8]) -> String {
    let address = ("127.0.0.1", broker.port());
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    String::from_utf8(response).unwrap().to_lowercase()
}

#[tokio::test]
async fn a_malformed_request_target_gets_a_complete_refusal() {
    let broker = TestBroker::start().await;
    for target in [
        "/%",
        "/%zz",
        "/login/%00",
        "/login/%ff",
        "/authorize?state=%",
        "/authorize?%ff=%ff",
        "//",
        "//evil.test/login/x",
        "/login/..",
        "/login/../v1/token",
        "http://evil.test/login/x",
    ] {
        let response = raw(&broker, get(target).as_bytes()).await;
        assert!(response.starts_with("http/1.1 40"), "{target}: {response}");
        assert!(
            response.contains("\"error\":\"request_failed\""),
            "{target}: {response}"
        );
        assert!(
            response.contains("\r\nx-request-id: "),
            "{target}: {response}"
        );
        assert!(
            response.contains("\r\ncache-control: no-store"),
            "{target}: {response}"
        );
        assert!(!response.contains("\r\nlocation:"), "{target}: {response}");
    }
}

// Threats: A44, CVE-2025-64484.
#[tokio::test]
async fn a_header_with_an_underscore_is_not_the_one_with_a_hyphen() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let request = format!(
        "GET /v1/profile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         HTTP_AUTHORIZATION: Bearer {token}\r\nX_Authorization: Bearer {token}\r\n\r\n"
    );
    let response = raw(&broker, request.as_bytes()).await;
    assert!(response.starts_with("http/1.1 401"), "{response}");
}

// Threats: A43, CVE-2026-41059.
#[tokio::test]
async fn a_fragment_in_a_request_target_grants_nothing() {
    let broker = TestBroker::start().await;
    let response = raw(&broker, get("/livez").as_bytes()).await;
    assert!(response.starts_with("http/1.1 200"), "{response}");
    for (target, status) in [
        ("/v1/profile#/livez", 401),
        ("/v1/profile?#/livez", 401),
        ("/v1/profile?x=#/livez", 401),
        ("/v1/profile%23/livez", 404),
        ("/v1/profile%3F/livez", 404),
    ] {
        let response = raw(&broker, get(target).as_bytes()).await;
        let expected = format!("http/1.1 {status}");
        assert!(response.starts_with(&expected), "{target}: {response}");
    }
}

/// A request for `target`, byte for byte.
fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_request_without_one_valid_host_is_refused() {
    let broker = TestBroker::start().await;
    let request = |hosts: &str| format!("GET /livez HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
    for good in [
        "x",
        "signin.example:443",
        "127.0.0.1:8000",
        "[::1]",
        "[::1]:8000",
    ] {
        let response = raw(&broker, request(&format!("Host: {good}\r\n")).as_bytes()).await;
        assert!(response.starts_with("http/1.1 200"), "{good}: {response}");
    }
    for hosts in [
        "",
        "Host: x\r\nHost: x\r\n",
        "Host: x\r\nHost: y\r\n",
        "Host:\r\n",
        "Host: a b\r\n",
        "Host: a/b\r\n",
        "Host: user@x\r\n",
        "Host: x:port\r\n",
        "Host: x:99999\r\n",
        "Host: [::1\r\n",
    ] {
        let response = raw(&broker, request(hosts).as_bytes()).await;
        assert!(response.starts_with("http/1.1 400"), "{hosts}: {response}");
        assert_eq!(broker.last_rule(), Some("request.http"), "{hosts}");
    }
}
