//! The headers of every response, and requests that no client library sends.

use std::collections::HashSet;

use reqwest::Method;
use testkit::http::Request;

use crate::test_broker::TestBroker;

#[tokio::test]
async fn a_request_id_is_the_brokers_own_and_unique() {
    let broker = TestBroker::start().await;
    let mut ids = HashSet::new();
    for _ in 0..20 {
        let mine = [("X-Request-Id", "mine")];
        let response = broker.send(Method::GET, "/api/providers", &mine).await;
        let id = response.header("x-request-id").unwrap();
        assert_ne!(id, "mine");
        assert!(ids.insert(id.to_owned()));
    }
}

// Threats: A33.
#[tokio::test]
async fn a_page_can_load_its_style_and_nothing_else() {
    let broker = TestBroker::start().await;
    let page = broker.browser().get("/login/unknown").await;
    let link = r#"<link rel="stylesheet" href="/style.css">"#;
    assert!(page.text().contains(link), "{page:?}");
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
async fn every_response_of_every_route_has_its_headers() {
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
                        .json(&"junk")
                },
                |request: Request| request.form(&[("_method", "get")]),
            ] {
                let response = change(broker.request(method.clone(), &path)).send().await;
                let hsts = response.header("strict-transport-security");
                assert_eq!(hsts, expected_hsts, "{method} {path}");
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
        ("Host: signin.example:443\r\n", 200),
        ("Host: [::1]:8000\r\n", 200),
        ("", 400),
        ("Host: x\r\nHost: x\r\n", 400),
        ("Host: x\r\nHost: y\r\n", 400),
        ("Host:\r\n", 400),
        ("Host: user@x\r\n", 400),
        ("Host: x:99999\r\n", 400),
    ] {
        let request = format!("GET /livez HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let response = broker.send_bytes(request).await;
        assert_eq!(response.status, status, "{hosts}: {response:?}");
        let rule = (status == 400).then_some("request.http");
        assert_eq!(broker.last_rule(), rule, "{hosts}");
    }
}
