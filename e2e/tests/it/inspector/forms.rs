//! The forms of the page, and requests that imitate them.

use reqwest::header::{CONTENT_TYPE, ORIGIN, REFERER};

use super::{get, page};
use crate::login::{Flow, GOOGLE};
use crate::test_stack::TestStack;
use testkit::http::Response;
use testkit::http::{Http, Request};

const FORMS: &[(&str, &str)] = &[
    ("/do/advance", "seconds=600"),
    ("/do/misbehave", "provider=google&misbehaviour=deny"),
    ("/do/take-back", "provider=google&id=1"),
    ("/do/disarm", "id=1"),
    ("/do/strike", "operation=POST+%2Fv1%2Ftoken&fault=refuse"),
    ("/do/clear", ""),
    ("/do/send-again", "call=x"),
    ("/do/let-go", "id=1"),
    ("/do/reset", ""),
];

#[tokio::test]
async fn the_clock_is_advanced_and_the_page_shows_by_how_much() {
    let stack = TestStack::start().await;
    assert!(page(&stack, "/").await.contains("the system’s time"));
    for seconds in [60, 600, 900] {
        own(&stack, "/do/advance", &format!("seconds={seconds}"))
            .await
            .redirects_to("/calls");
    }
    assert!(
        page(&stack, "/")
            .await
            .contains("<strong>26 minutes ahead</strong>")
    );
    assert!((1_560_000..1_561_000).contains(&stack.clock().advanced_ms()));
}

#[tokio::test]
async fn a_misbehaviour_is_queued_until_the_next_sign_in() {
    let stack = TestStack::start().await;
    own(&stack, "/do/misbehave", "provider=google&misbehaviour=deny")
        .await
        .redirects_to("/calls");
    assert!(
        page(&stack, "/")
            .await
            .contains("Google: <code>deny</code>")
    );
    stack
        .sign_in(Flow::Clean, GOOGLE)
        .await
        .is_error("access_denied");
    assert!(page(&stack, "/").await.contains("Nothing is planned."));
}

#[tokio::test]
async fn a_fault_is_armed_and_taken_back() {
    let stack = TestStack::start().await;
    let form = "operation=POST+%2Fv1%2Flogin%2Fresult&fault=lose_response";
    own(&stack, "/do/strike", form).await.redirects_to("/calls");
    let standing = get(&stack, "/api/faults").await.json();
    assert_eq!(standing[0]["operation"], "POST /v1/login/result");
    assert_eq!(standing[0]["fault"], "lose_response");
    own(&stack, "/do/clear", "").await.redirects_to("/calls");
    assert_eq!(get(&stack, "/api/faults").await.text(), "[]");
}

#[tokio::test]
async fn a_call_is_sent_again_and_the_broker_refuses_the_second() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let events = get(&stack, "/api/events").await.json();
    let read = events.as_array().expect("a list").last().expect("a read");
    let call = read["request_id"].as_str().expect("an id").to_owned();
    let login = read["login"].as_str().expect("a login");
    let page = format!("{}/logins/{login}", stack.urls().control);
    let again = form(&stack, "/do/send-again", &format!("call={call}"))
        .header(REFERER, format!("{page}?call={call}"));
    let opened = again.send().await;
    let target = opened.header("location").expect("a target").to_owned();
    assert_eq!(opened.status, 303);
    assert!(
        target.starts_with(&format!("/logins/{login}?call=")),
        "{target}"
    );
    assert!(!target.ends_with(&call), "{target}");
    let page = self::page(&stack, &target).await;
    for words in ["is sent again", "The result was read before"] {
        assert!(page.contains(words), "{words} in {page}");
    }
    let unknown = own(&stack, "/do/send-again", "call=nothing").await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn one_of_two_is_taken_back() {
    let stack = TestStack::start().await;
    for name in ["deny", "timeout"] {
        let form = format!("provider=github&misbehaviour={name}");
        own(&stack, "/do/misbehave", &form).await;
        let form = "operation=POST+%2Fv1%2Ftoken&fault=refuse";
        own(&stack, "/do/strike", form).await;
    }
    for (path, form) in [
        ("/do/take-back", "provider=github&id=1"),
        ("/do/disarm", "id=1"),
    ] {
        own(&stack, path, form).await.redirects_to("/calls");
    }
    let page = page(&stack, "/").await;
    assert!(!page.contains("GitHub: <code>deny</code>"), "{page}");
    assert!(page.contains("GitHub: <code>timeout</code>"), "{page}");
    let armed: Vec<_> = stack.faults().armed().into_iter().map(|it| it.id).collect();
    assert_eq!(armed, [2]);
}

#[tokio::test]
async fn after_a_reset_the_inspector_shows_the_first_page() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    own(&stack, "/do/reset", "").await.redirects_to("/");
    assert!(page(&stack, "/").await.contains("No login yet"));
}

#[tokio::test]
async fn what_no_form_offers_is_refused_by_the_name_of_its_field() {
    let stack = TestStack::start().await;
    for (path, body, word) in [
        ("/do/advance", "seconds=-1", "seconds"),
        ("/do/advance", "seconds=NaN", "seconds"),
        (
            "/do/misbehave",
            "provider=gitlab&misbehaviour=deny",
            "provider",
        ),
        (
            "/do/misbehave",
            "provider=google&misbehaviour=den",
            "Did you mean deny?",
        ),
        ("/do/strike", "operation=x&fault=refuse", "operation"),
        (
            "/do/strike",
            "operation=POST+%2Fv1%2Ftoken&fault=x",
            "fault",
        ),
    ] {
        let response = own(&stack, path, body).await;
        assert_eq!(response.status, 400, "{body}");
        assert!(response.text().contains(word), "{}", response.text());
    }
    assert_eq!(stack.clock().advanced_ms(), 0);
}

#[tokio::test]
async fn no_other_page_can_send_them() {
    let stack = TestStack::start().await;
    stack.advance_seconds(10);
    let control = stack.urls().control.clone();
    for &(path, body) in FORMS {
        for origin in [
            None,
            Some("null"),
            Some("https://evil.example"),
            Some("http://127.0.0.1:1"),
        ] {
            let form = Http::new()
                .post(format!("{control}{path}"))
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body);
            let form = match origin {
                Some(origin) => form.header(ORIGIN, origin),
                None => form,
            };
            assert_eq!(form.send().await.status, 403, "{path} {origin:?}");
        }
    }
    assert_eq!(stack.clock().advanced_ms(), 10_000);
    assert!(stack.upstream().google().queued().is_empty());
    assert_eq!(get(&stack, "/api/faults").await.text(), "[]");
}

#[tokio::test]
async fn a_form_is_sent_as_a_form() {
    let stack = TestStack::start().await;
    let control = &stack.urls().control;
    let json = Http::new()
        .post(format!("{control}/do/advance"))
        .header(ORIGIN, control)
        .header(CONTENT_TYPE, "application/json")
        .body(r#"{"seconds":600}"#);
    assert_eq!(json.send().await.status, 415);
    assert_eq!(stack.clock().advanced_ms(), 0);
}

#[tokio::test]
async fn a_form_never_redirects_to_a_foreign_page() {
    let stack = TestStack::start().await;
    let control = &stack.urls().control;
    for referer in [
        "https://evil.example/",
        "",
        &format!("{control}//evil.example"),
        // No address: it was once answered 500, with the form obeyed.
        &format!("{control}/logins/{{x}} y"),
    ] {
        let form = form(&stack, "/do/clear", "").header(REFERER, referer);
        form.send().await.redirects_to("/");
    }
}

/// Sends the form as the page at `/calls` would.
async fn own(stack: &TestStack, path: &str, body: &str) -> Response {
    let page = format!("{}/calls", stack.urls().control);
    form(stack, path, body).header(REFERER, page).send().await
}

fn form(stack: &TestStack, path: &str, body: &str) -> Request {
    let control = &stack.urls().control;
    Http::new()
        .post(format!("{control}{path}"))
        .header(ORIGIN, control)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(body.to_owned())
}
