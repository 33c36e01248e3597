//! C3: the forms that start a login or sign out, and the methods of each path.

use rocket::http::{Header, Method, Status};

use crate::browser::{Answer, Browser};
use crate::test_consumer::{CONSUMER, TestConsumer};

const FORMS: [&str; 5] = [
    "/login/google",
    "/login/github",
    "/legacy/login/google",
    "/note",
    "/sign-out",
];

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const ORIGIN: (&str, &str) = ("Origin", CONSUMER);

type Pair = (&'static str, &'static str);

async fn send(
    browser: &Browser<'_>,
    method: Method,
    path: &str,
    headers: &[Pair],
    body: &str,
) -> Answer {
    let mut request = browser.request(method, path).body(body);
    for (name, value) in headers {
        request.add_header(Header::new(*name, *value));
    }
    browser.send(request).await
}

/// Posts every form with these headers.
async fn check(headers: &[Pair], status: u16) {
    let consumer = TestConsumer::new().await;
    for path in FORMS {
        let all = [&[FORM][..], headers].concat();
        let browser = consumer.browser();
        let answer = send(&browser, Method::Post, path, &all, "note=a+note").await;
        assert_eq!(answer.status.code, status, "{path} {headers:?}");
        if status != 303 {
            assert_eq!(answer.set_cookie(), None);
        }
    }
    assert!(status == 303 || consumer.broker.call_count() == 0);
}

#[rocket::async_test]
async fn c3_a_form_of_our_own_is_accepted() {
    const SITE: Pair = ("Sec-Fetch-Site", "same-origin");
    check(&[ORIGIN], 303).await;
    check(&[SITE], 303).await;
    check(&[ORIGIN, SITE], 303).await;
    check(&[ORIGIN, ("Sec-Fetch-Site", "none")], 303).await;
}

/// The first two are like a form of another page whose headers Rocket has dropped.
#[rocket::async_test]
async fn c3_a_form_that_is_foreign_or_does_not_say_that_it_is_ours_is_refused_without_a_call() {
    check(&[], 403).await;
    check(&[("Sec-Fetch-Site", "none")], 403).await;
    for origin in [
        "http://evil.example",
        "http://localhost:3001",
        "http://localhost:3000.evil.example",
        "https://localhost:3000",
        "http://127.0.0.1:3000",
        "null",
        "",
    ] {
        check(&[("Origin", origin)], 403).await;
    }
    for site in ["cross-site", "same-site", ""] {
        check(&[ORIGIN, ("Sec-Fetch-Site", site)], 403).await;
    }
    check(&[ORIGIN, ("Origin", "http://evil.example")], 403).await;
    check(&[ORIGIN, ("Content-Type", "text/plain")], 415).await;
}

#[rocket::async_test]
async fn c3_a_start_is_not_for_get_and_every_other_method_is_answered_405() {
    use Method::{Delete, Get, Patch, Post, Put};
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let pages = ["/", "/profile", "/callback", "/legacy/callback"];
    let forms = FORMS.map(|path| (path, &[Get, Put, Patch, Delete], "POST"));
    let pages = pages.map(|path| (path, &[Post, Put, Patch, Delete], "GET, HEAD"));
    for (path, others, allow) in forms.into_iter().chain(pages) {
        for method in others {
            let answer = send(&browser, *method, path, &[], "").await;
            assert_eq!(answer.status.code, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        }
    }
    for path in FORMS {
        // Rocket reads the method out of a form's body.
        let answer = send(&browser, Post, path, &[FORM, ORIGIN], "_method=get").await;
        assert_eq!(answer.status.code, 405, "{path}");
    }
    assert_eq!(consumer.broker.call_count(), 0);
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

#[rocket::async_test]
async fn a_request_for_a_callback_that_is_no_visit_consumes_no_login() {
    const ANY: Pair = ("Accept", "*/*");
    let consumer = TestConsumer::new().await;
    for (method, header, body, status) in [
        (Method::Head, ANY, "", 200),
        (Method::Get, ("Sec-Purpose", "prefetch"), "", 503),
        (Method::Get, ("Sec-Purpose", "prefetch;prerender"), "", 503),
        (Method::Get, ("Purpose", "Prefetch"), "", 503),
        (Method::Get, ("X-Moz", "prefetch"), "", 503),
        (Method::Post, FORM, "_method=get", 405),
        (Method::Post, FORM, "_method=GET&code=x", 405),
    ] {
        let browser = consumer.browser();
        browser.start_clean("google").await;
        let login = browser.start_legacy("google").await;
        let legacy = format!("/legacy/callback?code=c&state={}", login["state"]);
        let calls = consumer.broker.call_count();
        for path in ["/callback", &legacy] {
            let answer = send(&browser, method, path, &[header], body).await;
            assert_eq!(answer.status.code, status, "{method} {header:?} {path}");
            assert_eq!(answer.set_cookie(), None, "{method} {header:?} {path}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        assert_eq!(consumer.broker.call_count(), calls, "{method} {header:?}");
        assert_eq!(browser.callback().await.outcome(), "/profile");
        assert_eq!(browser.get(&legacy).await.outcome(), "/profile");
    }
}
