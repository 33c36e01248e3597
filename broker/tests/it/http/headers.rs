//! The headers of every answer, whoever makes it.

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

#[tokio::test]
async fn a_page_can_load_its_style_and_nothing_else() {
    let broker = TestBroker::start().await;
    let page = broker.browser().get("/login/unknown").await;
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "style-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.split("; ").any(|own| own == part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
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
    assert!(
        !style.text().contains("url("),
        "nothing of others is loaded"
    );
}

/// Each of our routes, asked well and badly, in a broker that is reached by HTTP or
/// by HTTPS.
#[tokio::test]
async fn every_response_of_every_route_has_its_headers() {
    let https = TestBroker::start_with(|config| {
        config.base_url = "https://broker.example".parse().unwrap();
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    })
    .await;
    ask_everything(&https, Some("max-age=31536000")).await;
    let http = TestBroker::start().await;
    ask_everything(&http, None).await;

    // And each of them was asked so that it did what it is for.
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

/// Asks for each path by each method, as a program, as a browser, and as a page of
/// somebody else.
async fn ask_everything(broker: &TestBroker, expected_hsts: Option<&str>) {
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
            for dress in [
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
                let response = dress(broker.request(method.clone(), &path)).send().await;
                response.has_security_headers();
                let hsts = response.header("strict-transport-security");
                assert_eq!(hsts, expected_hsts, "{method} {path}");
            }
        }
    }
}

/// Signs in by both flows, with everything that a backend or a browser can ask for
/// on the way.
async fn sign_in_by_every_route(broker: &TestBroker) {
    let path = broker.session(1).await;
    for (key, action) in [(2, "cancel"), (3, "continue")] {
        let asked = broker.session(key).await;
        let stranger = broker.browser_on("https://evil.example/");
        let page = stranger.get(&asked).await;
        page.has_common_headers();
        let pressed = stranger.press(&format!("{asked}/{action}")).await;
        assert_eq!(pressed.status, 303);
        pressed.has_security_headers();
    }
    let browser = broker.browser();
    let away = browser.get(&path).await;
    let back = back_path(&away, "code=upstream-code");
    browser.get(&back).await.redirects_to(CALLBACK);
    // Over the address that ends a fragment.
    browser.get(&path).await.redirects_to(CALLBACK);
    let token = broker.access_token().await;
    let authorize = authorize_path();
    let mut answers = vec![
        away,
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
        answers.push(broker.get(path).await);
    }
    for path in [&path, &authorize, &back] {
        answers.push(broker.request(Method::HEAD, path).send().await);
    }
    for answer in answers {
        assert!(answer.status < 400, "{answer:?}");
        answer.has_security_headers();
    }
}

/// Sends bytes and returns whatever comes back until the connection closes.
pub(super) async fn raw(broker: &TestBroker, bytes: &[u8]) -> String {
    let address = ("127.0.0.1", broker.port());
    let mut wire = tokio::net::TcpStream::connect(address).await.unwrap();
    wire.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    wire.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap().to_lowercase()
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
        let answer = raw(&broker, line(target).as_bytes()).await;
        assert!(answer.starts_with("http/1.1 40"), "{target}: {answer}");
        assert!(
            answer.contains("\"error\":\"request_failed\""),
            "{target}: {answer}"
        );
        assert!(answer.contains("\r\nx-request-id: "), "{target}: {answer}");
        assert!(
            answer.contains("\r\ncache-control: no-store"),
            "{target}: {answer}"
        );
        assert!(!answer.contains("\r\nlocation:"), "{target}: {answer}");
    }
}

#[tokio::test]
async fn a_header_with_an_underscore_is_not_the_one_with_a_hyphen() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let request = format!(
        "GET /v1/profile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         HTTP_AUTHORIZATION: Bearer {token}\r\nX_Authorization: Bearer {token}\r\n\r\n"
    );
    let answer = raw(&broker, request.as_bytes()).await;
    assert!(answer.starts_with("http/1.1 401"), "{answer}");
}

#[tokio::test]
async fn a_fragment_in_a_request_target_grants_nothing() {
    let broker = TestBroker::start().await;
    let answer = raw(&broker, line("/livez").as_bytes()).await;
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
    for (target, status) in [
        ("/v1/profile#/livez", 401),
        ("/v1/profile?#/livez", 401),
        ("/v1/profile?x=#/livez", 401),
        ("/v1/profile%23/livez", 404),
        ("/v1/profile%3F/livez", 404),
    ] {
        let answer = raw(&broker, line(target).as_bytes()).await;
        let expected = format!("http/1.1 {status}");
        assert!(answer.starts_with(&expected), "{target}: {answer}");
    }
}

/// A whole request for `target`, as no client would write it.
fn line(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}
