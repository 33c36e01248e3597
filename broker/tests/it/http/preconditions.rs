//! The preconditions of every path: no secret in the URL, and no prefetch.

use reqwest::Method;

use crate::test_broker::{CALLBACK, TestBroker, authorize_path, back_path};

const ANYWHERE: [&str; 12] = [
    "/v1/login/session",
    "/v1/login/result",
    "/v1/token",
    "/v1/profile",
    "/v1/revoke",
    "/api/providers",
    "/authorize",
    "/login/handle",
    "/callback/github",
    "/style.css",
    "/",
    "/nowhere/at/all",
];

// Threats: A16.
#[tokio::test]
async fn a_secret_in_the_query_of_any_path_is_refused_before_anything_else() {
    let broker = TestBroker::start().await;
    for path in ANYWHERE {
        // The table of malformed requests has other spellings.
        for query in ["client_secret=x", "session_key=x", "code_verifier=x"] {
            for method in [Method::GET, Method::POST, Method::PUT, Method::OPTIONS] {
                let request = broker.request(method, &format!("{path}?{query}"));
                request.send().await.is_refusal(400);
                let rule = match query.contains("code_verifier") {
                    true => "request.verifier_in_url",
                    false => "request.secret_in_url",
                };
                assert_eq!(broker.last_rule(), Some(rule));
            }
        }
    }
}

#[tokio::test]
async fn an_authorization_request_with_a_secret_in_its_url_is_refused() {
    let broker = TestBroker::start().await;
    for (name, rule) in [
        ("client_secret", "request.secret_in_url"),
        ("session_key", "request.secret_in_url"),
        ("code_verifier", "request.verifier_in_url"),
    ] {
        let path = format!("{}&{name}=x", authorize_path());
        let response = broker.browser().get(&path).await;
        response.is_refusal_page(400, rule);
        assert!(!response.text().contains("state"), "{response:?}");
    }
}

// Threats: A43.
#[tokio::test]
async fn any_other_parameter_is_ignored() {
    let broker = TestBroker::start().await;
    for query in [
        "foo=1",
        "Client_Secret=x",
        "client_secret2=x",
        "next=https://evil.test/",
        "redirect=//evil.test",
        "a=client_secret",
    ] {
        let response = broker.get(&format!("/api/providers?{query}")).await;
        assert_eq!(response.status, 200, "{query}");
    }
}

// Threats: X5.
#[tokio::test]
async fn a_prefetch_is_answered_503_and_changes_nothing() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let names = [
        ("Sec-Purpose", "prefetch"),
        ("Sec-Purpose", "prefetch;prerender"),
        ("Sec-Purpose", "prefetch; anonymous-client-ip"),
        ("Sec-Purpose", "PREFETCH"),
        ("Sec-Purpose", "Prefetch;Prerender"),
        ("Sec-Purpose", " prefetch ; anonymous-client-ip"),
        ("Sec-Purpose", "prefetch;prerender;x=1"),
        ("Purpose", "prefetch"),
        ("purpose", "Prefetch"),
        ("X-Moz", "prefetch"),
        ("X-Moz", "PREFETCH"),
    ];
    for (header, value) in names {
        for path in [&path, &authorize_path()] {
            let browser = broker.browser().with_header(header, value);
            let response = browser.get(path).await;
            response.is_refusal_page(503, "request.prefetch");
            assert_eq!(response.header("cache-control"), Some("no-store"));
        }
    }
    let redirect = browser.get(&path).await;
    assert_eq!(redirect.status, 303, "no browser is bound");
    let back = back_path(&redirect, "code=upstream-code");
    let cookie = browser.cookies().into_iter().next().unwrap();
    for (header, value) in names {
        let request = broker
            .request(Method::GET, &back)
            .header("Cookie", format!("{}={}", cookie.0, cookie.1))
            .header(header, value);
        request.send().await.is_refusal(503);
    }
    assert_eq!(broker.calls_upstream().await, 0);
    browser.get(&back).await.redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn another_purpose_is_no_prefetch() {
    let broker = TestBroker::start().await;
    for (header, value) in [
        ("Sec-Purpose", ""),
        ("Sec-Purpose", "preview"),
        ("Purpose", "navigation;prefetch"),
        ("X-Moz", "prefetched"),
    ] {
        let path = "/api/providers";
        let request = broker.request(Method::GET, path).header(header, value);
        assert_eq!(request.send().await.status, 200, "{header}: {value}");
    }
}
