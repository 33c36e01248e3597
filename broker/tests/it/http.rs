//! The HTTP interface of a running broker, in raw HTTP and raw JSON. Here are the headers of every
//! response, requests that no client library sends, and headers with bytes that are not
//! UTF-8: Rocket drops those; a dropped one does not count as absent, and a page names a
//! cookie that hides all others.

mod bodies;
mod callback;
mod clean_flow;
mod credentials;
mod legacy_flow;
mod limits;
mod overload;
mod paths;
mod relay_guard;
mod rules;
mod store;
mod upstream_login_cookies;

use std::collections::HashSet;

use reqwest::Method;
use testkit::http::Request;

use crate::test_broker::{BASE, TestBroker, authorize_path};

// Threats: A33.
#[tokio::test]
async fn a_page_has_advice_and_can_load_its_style_and_nothing_else() {
    let broker = TestBroker::start().await;
    let page = broker.browser().get("/login/unknown").await;
    let link = r#"<link rel="stylesheet" href="/style.css">"#;
    assert!(page.text().contains(link), "{page:?}");
    assert!(page.text().contains("Start again"), "{page:?}");
    let style = broker.get("/style.css").await;
    assert_eq!(style.status, 200);
    let media_type = style.header("content-type");
    assert_eq!(media_type, Some("text/css; charset=utf-8"));
    assert!(!style.text().contains("url("), "it loads no other resource");
}

/// Every route, with requests of programs, browsers and foreign pages, over HTTP and HTTPS.
/// The other headers are checked for every response of every test.
// Threats: A4, A17, A33, A35.
#[tokio::test]
async fn every_response_of_every_route_has_its_headers_and_an_id_of_its_own() {
    let https = TestBroker::start_https().await;
    request_everything(&https, Some("max-age=31536000")).await;
    let http = TestBroker::start().await;
    request_everything(&http, None).await;
}

async fn request_everything(broker: &TestBroker, expected_hsts: Option<&str>) {
    let paths = broker.paths.iter().map(String::as_str);
    let paths: HashSet<_> = paths.chain(["/", "/nowhere", "/v1/nowhere"]).collect();
    assert!(paths.len() > 15, "{paths:?}");
    let methods = "GET HEAD POST PUT DELETE PATCH OPTIONS TRACE";
    let methods: Vec<Method> = methods.split(' ').map(|it| it.parse().unwrap()).collect();
    let mut ids = HashSet::from(["mine".to_owned()]);
    for path in paths {
        let path = path.replace("<provider>", "github");
        let path = path
            .replace("<handle>", "unknown")
            .replace("<_>", "unknown");
        for method in &methods {
            for change in [
                |request: Request| request,
                |request: Request| request.header("Accept", "text/html"),
                |request: Request| {
                    request
                        .header("Origin", "https://evil.example")
                        .header("Access-Control-Request-Method", "POST")
                        .header("X-Request-Id", "mine")
                        .json(&"junk")
                },
                |request: Request| request.form(&[("_method", "get")]),
            ] {
                let response = change(broker.request(method.clone(), &path)).send().await;
                let hsts = response.header("strict-transport-security");
                assert_eq!(hsts, expected_hsts, "{method} {path}");
                let id = response.header("x-request-id").unwrap().to_owned();
                assert!(ids.insert(id), "it is the broker's own and unique");
            }
        }
    }
}

#[tokio::test]
async fn a_malformed_request_target_gets_a_complete_refusal() {
    let broker = TestBroker::start().await;
    let targets = "/% /%zz /login/%00 /login/%ff /authorize?state=% /authorize?%ff=%ff // \
                   //evil.test/login/x /login/.. /login/../v1/token http://evil.test/login/x";
    for target in targets.split(' ') {
        let response = broker.send_raw("GET", target, "").await;
        assert!(
            [400, 404].contains(&response.status),
            "{target}: {response:?}"
        );
        response.is_refusal(response.status);
    }
}

/// No header that a proxy would translate, and no fragment, is a credential.
// Threats: A43, A44, CVE-2025-64484, CVE-2026-41059.
#[tokio::test]
async fn an_underscore_is_no_hyphen_and_a_fragment_in_a_request_target_grants_nothing() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    let underscores =
        format!("HTTP_AUTHORIZATION: Bearer {token}\r\nX_Authorization: Bearer {token}\r\n");
    for (target, headers, status) in [
        ("/v1/profile", &*underscores, 401),
        ("/livez", "", 200),
        ("/v1/profile#/livez", "", 401),
        ("/v1/profile?#/livez", "", 401),
        ("/v1/profile?x=#/livez", "", 401),
        ("/v1/profile%23/livez", "", 404),
        ("/v1/profile%3F/livez", "", 404),
    ] {
        let response = broker.send_raw("GET", target, headers).await;
        assert_eq!(response.status, status, "{target}: {response:?}");
    }
}

#[tokio::test]
async fn a_request_without_one_valid_host_is_refused() {
    let broker = TestBroker::start().await;
    for (hosts, status) in [
        ("Host: x\r\n", 200),
        ("", 400),
        ("Host: x\r\nHost: x\r\n", 400),
        ("Host: x\r\nHost: y\r\n", 400),
        ("Host:\r\n", 400),
        ("Host: x:99999\r\n", 400),
    ] {
        let request = format!("GET /livez HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let response = broker.send_bytes(request).await;
        assert_eq!(response.status, status, "{hosts}: {response:?}");
        let rule = (status == 400).then_some("request.http");
        assert_eq!(broker.last_rule(), rule, "{hosts}");
    }
}

/// Each byte that ends a header of ASCII in bytes that are no UTF-8.
fn high_bytes() -> impl Iterator<Item = u8> {
    0x80..=0xFF
}

/// A header's value that ends in `byte`.
fn value(text: &str, byte: u8) -> Vec<u8> {
    [text.as_bytes(), &[byte]].concat()
}

// Threats: W2.
#[tokio::test]
async fn a_cookie_that_hides_all_others_is_named_at_every_address_of_a_browser() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let (browser, back) = broker.at_provider_in_legacy().await;
    for byte in high_bytes() {
        let cookies = value(&format!("{}; caf", browser.cookie_header()), byte);
        for target in [&path, &authorize_path(), &back] {
            let headers = [("Accept", &b"text/html"[..]), ("Cookie", &cookies)];
            let page = broker.send(Method::GET, target, &headers).await;
            page.is_refusal_page(400, "request.cookies");
            assert!(page.text().contains("Delete the cookies"), "{page:?}");
        }
    }
    assert_eq!(broker.calls_upstream(), 0);
    assert_eq!(browser.get(&back).await.status, 303, "nothing was consumed");
    let api = [("Cookie", b"caf\xe9=1")];
    let providers = broker.send(Method::GET, "/api/providers", &api).await;
    assert_eq!(providers.status, 200, "a backend may send any cookie");
}

// Threats: W2.
#[tokio::test]
async fn a_header_that_was_dropped_is_neither_absent_nor_one_that_counts() {
    let broker = TestBroker::start().await;
    let press = &*format!("{}/continue", broker.session(1).await);
    let bearer = format!("Authorization=Bearer {}", broker.access_token().await);
    let two_bearers = format!("{bearer} | Authorization=Bearer x");
    let two_origins = format!("Origin={BASE} | Origin=http://evil");
    let another_site = format!("Origin={BASE} | Sec-Fetch-Site=cross-site");
    let two_types = "Content-Type=application/json | Content-Type=text/plain; x=";
    // The last header of each is dropped.
    let rows = [
        (press, &*two_origins, 403, "relay.own_page"),
        (press, &another_site, 403, "relay.own_page"),
        ("/v1/revoke", &two_bearers, 400, "bearer.once"),
        ("/v1/revoke", "Authorization=Bearer x", 401, "bearer.shape"),
        ("/v1/token", two_types, 415, "body.media_type"),
        (
            "/v1/token",
            "Content-Type=application/json; x=",
            415,
            "body.media_type",
        ),
    ];
    for (byte, (path, headers, status, rule)) in
        high_bytes().flat_map(|it| rows.map(|row| (it, row)))
    {
        let headers = headers.split(" | ").map(|it| it.split_once('=').unwrap());
        let mut values: Vec<_> = headers.map(|(name, it)| (name, Vec::from(it))).collect();
        values.last_mut().unwrap().1.push(byte);
        let refused = broker.send(Method::POST, path, &values).await;
        broker.has_refused(&refused, status, rule);
    }
}

// Threats: W2.
#[tokio::test]
async fn a_referrer_that_was_dropped_is_a_foreign_page() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    for byte in high_bytes() {
        let referrer = [("Referer", value("https://evil.example/", byte))];
        broker.send(Method::GET, &path, &referrer).await;
        let event = broker.events().pop().unwrap();
        assert_eq!(event.provenance.unwrap().as_str(), "foreign", "{byte:x}");
    }
}
