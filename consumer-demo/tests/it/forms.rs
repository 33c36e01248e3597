//! C3: the forms that start a login or sign out, and the methods of each path.

use rocket::http::{ContentType, Header, Method, Status};
use rocket::local::asynchronous::LocalRequest;

use crate::browser::Browser;
use crate::scripted_broker::{RESULT, ada};
use crate::test_consumer::{CONSUMER, TestConsumer};

const FORMS: [&str; 5] = [
    "/login/google",
    "/login/github",
    "/legacy/login/google",
    "/note",
    "/sign-out",
];

/// Posts to `path` with `headers`, and returns the status.
async fn post(path: &str, headers: &[(&'static str, &'static str)]) -> Status {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut request = browser
        .request(Method::Post, path)
        .header(ContentType::Form)
        .body("note=a+note");
    for (name, value) in headers {
        request.add_header(Header::new(*name, *value));
    }
    let answer = browser.send(request).await;
    if answer.status == Status::Forbidden {
        assert_eq!(consumer.broker.call_count(), 0);
        assert_eq!(answer.set_cookie(), None);
    }
    answer.status
}

#[rocket::async_test]
async fn c3_a_form_of_our_own_is_accepted() {
    for path in FORMS {
        assert_eq!(post(path, &[("Origin", CONSUMER)]).await, Status::SeeOther);
        let current = [("Origin", CONSUMER), ("Sec-Fetch-Site", "same-origin")];
        assert_eq!(post(path, &current).await, Status::SeeOther);
        assert_eq!(
            post(path, &[("Sec-Fetch-Site", "same-origin")]).await,
            Status::SeeOther
        );
        let typed = [("Origin", CONSUMER), ("Sec-Fetch-Site", "none")];
        assert_eq!(post(path, &typed).await, Status::SeeOther);
    }
}

/// As the form of another page, when Rocket has dropped its headers.
#[rocket::async_test]
async fn c3_a_form_that_does_not_say_that_it_is_ours_is_refused() {
    for path in FORMS {
        assert_eq!(post(path, &[]).await, Status::Forbidden);
        let typed = [("Sec-Fetch-Site", "none")];
        assert_eq!(post(path, &typed).await, Status::Forbidden);
    }
}

#[rocket::async_test]
async fn a_form_of_two_content_types_is_refused() {
    for path in FORMS {
        let second = [("Origin", CONSUMER), ("Content-Type", "text/plain")];
        assert_eq!(post(path, &second).await, Status::UnsupportedMediaType);
    }
}

#[rocket::async_test]
async fn c3_a_foreign_form_is_refused_without_a_call() {
    for path in FORMS {
        for origin in [
            "http://evil.example",
            "http://localhost:3001",
            "http://localhost:3000.evil.example",
            "https://localhost:3000",
            "http://127.0.0.1:3000",
            "null",
            "",
        ] {
            assert_eq!(post(path, &[("Origin", origin)]).await, Status::Forbidden);
        }
        for site in ["cross-site", "same-site", ""] {
            let headers = [("Origin", CONSUMER), ("Sec-Fetch-Site", site)];
            assert_eq!(post(path, &headers).await, Status::Forbidden, "{site}");
        }
        let twice = [("Origin", CONSUMER), ("Origin", "http://evil.example")];
        assert_eq!(post(path, &twice).await, Status::Forbidden);
    }
}

#[rocket::async_test]
async fn a_foreign_form_signs_no_user_out() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    let request = browser
        .request(Method::Post, "/sign-out")
        .header(Header::new("Origin", "http://evil.example"));
    assert_eq!(browser.send(request).await.status, Status::Forbidden);
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

#[rocket::async_test]
async fn c3_a_start_is_not_for_get() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    for path in FORMS {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, Status::MethodNotAllowed);
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn a_form_that_claims_to_be_a_get_does_nothing() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    let calls = consumer.broker.call_count();
    for path in FORMS {
        let request = browser
            .request(Method::Post, path)
            .header(ContentType::Form)
            .header(Header::new("Origin", CONSUMER))
            .body("_method=get");
        assert_eq!(browser.send(request).await.status, Status::MethodNotAllowed);
    }
    assert_eq!(consumer.broker.call_count(), calls);
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

#[rocket::async_test]
async fn other_methods_are_answered_405() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    for path in ["/", "/profile", "/callback", "/legacy/callback"] {
        for method in [Method::Post, Method::Put, Method::Patch, Method::Delete] {
            let answer = browser.send(browser.request(method, path)).await;
            assert_eq!(answer.status, Status::MethodNotAllowed, "{method} {path}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"));
        }
    }
}

#[rocket::async_test]
async fn an_unknown_provider_is_an_unknown_page() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    for path in [
        "/login/twitter",
        "/legacy/login/Google",
        "/login/",
        "/nowhere",
    ] {
        assert_eq!(browser.press(path).await.status, Status::NotFound, "{path}");
    }
    assert_eq!(consumer.broker.call_count(), 0);
}

async fn check_harmless(method: Method, header: Option<(&'static str, &'static str)>, status: u16) {
    check_visit_harmless(status, |browser, path| {
        let mut request = browser.request(method, path);
        if let Some((name, value)) = header {
            request.add_header(Header::new(name, value));
        }
        request
    })
    .await;
}

async fn check_form_harmless(body: &str) {
    check_visit_harmless(405, |browser, path| {
        let request = browser.request(Method::Post, path);
        request.header(ContentType::Form).body(body)
    })
    .await;
}

/// Visits both callbacks in a way that must change nothing, with a clean and a
/// legacy login under way; then finishes both.
async fn check_visit_harmless(
    status: u16,
    visit: impl for<'b> Fn(&'b Browser, &str) -> LocalRequest<'b>,
) {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let authorize = browser.start_legacy("google").await;
    let legacy = format!("/legacy/callback?code=c&state={}", authorize["state"]);
    let calls = consumer.broker.call_count();

    for path in ["/callback", &legacy] {
        let answer = browser.send(visit(&browser, path)).await;
        assert_eq!(answer.status.code, status, "{path}");
        assert_eq!(answer.set_cookie(), None);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_eq!(consumer.broker.call_count(), calls);
    assert_eq!(consumer.broker.calls(RESULT).len(), 0);

    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(browser.get(&legacy).await.location(), "/profile");
}

#[rocket::async_test]
async fn a_head_changes_nothing() {
    check_harmless(Method::Head, None, 200).await;
}

#[rocket::async_test]
async fn a_form_that_claims_to_be_a_get_consumes_no_login() {
    // Rocket reads the method out of a form's body, and runs the GET's handler.
    check_form_harmless("_method=get").await;
    check_form_harmless("_method=GET&code=x").await;
}

#[rocket::async_test]
async fn a_prefetch_changes_nothing() {
    check_harmless(Method::Get, Some(("Sec-Purpose", "prefetch")), 503).await;
    check_harmless(
        Method::Get,
        Some(("Sec-Purpose", "prefetch;prerender")),
        503,
    )
    .await;
    check_harmless(Method::Get, Some(("Purpose", "Prefetch")), 503).await;
    check_harmless(Method::Get, Some(("X-Moz", "prefetch")), 503).await;
}
