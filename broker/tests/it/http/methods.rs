//! Unknown paths and wrong methods, and the form of their refusals.

use reqwest::Method;

use crate::test_broker::{CALLBACK, TestBroker, authorize_path, back_path};

/// Each path with the value of its `Allow`.
pub(super) const PATHS: [(&str, &str); 17] = [
    ("/v1/login/session", "POST"),
    ("/v1/login/result", "POST"),
    ("/v1/token", "POST"),
    ("/v1/profile", "GET, HEAD"),
    ("/v1/revoke", "POST"),
    ("/api/providers", "GET, HEAD"),
    ("/openapi.json", "GET, HEAD"),
    ("/authorize", "GET, HEAD"),
    ("/login/handle", "GET, HEAD"),
    ("/login/handle/continue", "POST"),
    ("/login/handle/cancel", "POST"),
    ("/return", "GET, HEAD"),
    ("/callback/github", "GET, HEAD, POST"),
    ("/style.css", "GET, HEAD"),
    ("/question.js", "GET, HEAD"),
    ("/livez", "GET, HEAD"),
    ("/readyz", "GET, HEAD"),
];

pub(super) const METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::PATCH,
    Method::OPTIONS,
    Method::TRACE,
];

// Threats: A36.
#[tokio::test]
async fn a_wrong_method_is_405_with_the_allowed_ones() {
    let broker = TestBroker::start().await;
    for (path, allow) in PATHS {
        let is_own = |method: &Method| allow.contains(method.as_str());
        for method in METHODS.into_iter().filter(|method| !is_own(method)) {
            let response = broker.request(method.clone(), path).send().await;
            assert_eq!(response.status, 405, "{method} {path}");
            response.is_refusal(405);
            assert_eq!(response.header("allow"), Some(allow), "{method} {path}");
            assert_eq!(broker.last_rule(), Some("request.method"));
        }
    }
}

// Threats: A35.
#[tokio::test]
async fn a_preflight_is_refused_without_cors_headers() {
    let broker = TestBroker::start().await;
    for (path, _) in PATHS {
        let request = broker
            .request(Method::OPTIONS, path)
            .header("Origin", "https://evil.test")
            .header("Access-Control-Request-Method", "POST");
        let response = request.send().await;
        response.is_refusal(405);
        let cors = |name: &str| name.starts_with("access-control-");
        assert!(!response.headers.keys().any(|name| cors(name.as_str())));
    }
}

// Threats: X5, A36.
#[tokio::test]
async fn head_changes_nothing_anywhere() {
    let broker = TestBroker::start().await;
    let head = async |path: &str| {
        let response = broker.request(Method::HEAD, path).send().await;
        assert_eq!(response.location(), None, "{path}");
        assert_eq!(response.set_cookies(), Vec::<String>::new(), "{path}");
        assert_eq!(response.text(), "");
        response.has_security_headers();
        response.status
    };
    let visit = broker.session(1).await;
    assert_eq!(head(&visit).await, 200);
    assert_eq!(head("/login/unknown").await, 200);
    assert_eq!(head(&authorize_path()).await, 200);
    assert_eq!(head("/api/providers").await, 200);
    assert_eq!(head("/style.css").await, 200);
    assert_eq!(head("/v1/profile").await, 401);
    assert_eq!(head("/nowhere").await, 404);
    for path in [
        "/v1/login/session",
        "/v1/login/result",
        "/v1/token",
        "/v1/revoke",
    ] {
        assert_eq!(head(path).await, 405, "{path}");
    }
    for path in ["/callback/google", "/callback/github"] {
        assert_eq!(head(path).await, 200, "{path}");
    }
    for path in ["/callback/null", "/callback/Google", "/callback/google2"] {
        assert_eq!(head(path).await, 404, "{path}");
        assert_eq!(broker.last_rule(), Some("request.path"), "{path}");
    }

    let browser = broker.browser();
    let redirect = browser.get(&visit).await;
    assert_eq!(redirect.status, 303, "HEAD binds nothing");
    let back = back_path(&redirect, "code=upstream-code");
    let cookies = browser.cookies();
    let cookie = cookies
        .iter()
        .map(|(n, v)| format!("{n}={v}"))
        .next()
        .unwrap();
    let request = broker.request(Method::HEAD, &back).header("Cookie", cookie);
    let response = request.send().await;
    assert_eq!((response.status, response.location()), (200, None));
    assert_eq!(
        broker.calls_upstream().await,
        0,
        "HEAD consumes no upstream login"
    );
    browser.get(&back).await.redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_path_has_one_spelling() {
    let broker = TestBroker::start().await;
    for (path, allow) in PATHS {
        let method = allow.split(',').next().unwrap().parse::<Method>().unwrap();
        let doubled = format!("/{path}");
        let trailing = format!("{path}/");
        let escaped = path.replacen('i', "%69", 1).replacen('o', "%6f", 1);
        for alias in [doubled, trailing, escaped] {
            if alias != path {
                broker
                    .request(method.clone(), &alias)
                    .send()
                    .await
                    .is_refusal(404);
                assert_eq!(broker.last_rule(), Some("request.path"), "{alias}");
            }
        }
    }
}
