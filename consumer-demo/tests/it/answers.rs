//! C7, C13 and C14: what the broker, or a proxy before it, answers to a call, and what the
//! user reads then.

use std::time::Duration;

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::scripted_broker::{
    ACCESS_TOKEN, PROFILE, RESULT, REVOKE, SESSION, TOKEN, ada, failed, ok, pending, refused,
    succeeded, token_answer,
};
use crate::test_consumer::{NOBODY, TestConsumer};

/// A call, its answer, and the outcome for the user: the name of the problem, or the page
/// that follows a sign-in.
type Row = (&'static str, ResponseTemplate, &'static str);

const SIGNED_IN: &str = "/profile";

/// Plays a login for each row. After a problem the user is signed out, may start the same
/// login again, and neither the page nor a reload has made the call a second time.
async fn check(consumer: &TestConsumer, rows: impl IntoIterator<Item = Row>) {
    for (row, (path, answer, outcome)) in rows.into_iter().enumerate() {
        let name = format!("row {row}: {path} and then {outcome}");
        let broker = &consumer.broker;
        let (calls, revoked) = (broker.calls(path).len(), broker.calls(REVOKE).len());
        let browser = consumer.browser();
        broker.answer_next(path, answer);
        let (page, reload, again) = match path {
            SESSION => {
                let page = browser.press("/login/google").await;
                (page, browser.callback().await, "/login/google")
            }
            RESULT => {
                browser.start_clean("google").await;
                let page = browser.callback().await;
                (page, browser.callback().await, "/login/google")
            }
            _ => {
                let login = browser.start_legacy("google").await;
                let page = browser.finish_legacy(&login).await;
                let reload = browser.finish_legacy(&login).await;
                (page, reload, "/legacy/login/google")
            }
        };
        assert_eq!(page.outcome(), outcome, "{name}");
        assert_eq!(broker.calls(path).len(), calls + 1, "{name}");
        if outcome == SIGNED_IN {
            continue;
        }
        let status = match outcome {
            "lost" | "unreachable" => 502,
            "refused" => 400,
            _ => 200,
        };
        assert_eq!(page.status.code, status, "{name}");
        assert_eq!(page.set_cookie(), None, "{name}");
        let has = |text: &str| page.body.contains(text);
        assert!(has(r#"id="start-again""#), "{name}");
        assert!(has(&format!(r#"action="{again}""#)), "{name}");
        assert!(!has("of a proxy"), "{name}");
        let is_legacy = matches!(path, TOKEN | PROFILE);
        let gone = if is_legacy { "refused" } else { "no_session" };
        assert_eq!(reload.outcome(), gone, "{name}");
        assert_eq!(browser.user().await, NOBODY, "{name}");
        let unused = usize::from(path == PROFILE);
        assert_eq!(broker.calls(REVOKE).len(), revoked + unused, "{name}");
    }
}

fn html(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_string("<html>A page of a proxy")
}

/// `object` with another value of `field`.
fn with(mut object: Value, field: &str, value: impl Into<Value>) -> Value {
    object[field] = value.into();
    object
}

#[rocket::async_test]
async fn c7_a_call_whose_answer_is_lost_is_not_made_again() {
    let one_second = Duration::from_secs(1);
    let consumer = TestConsumer::with_config(|it| it.broker_timeout = one_second).await;
    let status = ResponseTemplate::new;
    let retry_at_once = status(503).insert_header("Retry-After", "0");
    let rows = [
        (RESULT, status(500), "lost"),
        (RESULT, html(502), "lost"),
        (RESULT, retry_at_once, "lost"),
        (RESULT, pending().set_delay(one_second * 30), "lost"),
        (TOKEN, html(502), "lost"),
        (TOKEN, html(200), "lost"),
        (TOKEN, ok(json!({})), "lost"),
        (PROFILE, status(500), "lost"),
    ];
    check(&consumer, rows).await;
}

#[rocket::async_test]
async fn c7_a_connection_that_breaks_is_not_tried_again() {
    let consumer = TestConsumer::new().await;
    let press = async || consumer.browser().press("/login/google").await;
    for calls in [1, 3] {
        consumer.broker.hang_up_on_next(SESSION).await;
        let page = press().await;
        assert_eq!(page.outcome(), "unreachable");
        assert_eq!(page.set_cookie(), None);
        assert_eq!(consumer.broker.calls(SESSION).len(), calls);
        // The next break is that of a connection which has been used before.
        assert!(press().await.outcome().starts_with(&consumer.broker.url()));
    }
}

#[rocket::async_test]
async fn c14_an_answer_that_is_not_the_contracts_is_a_lost_answer() {
    let consumer = TestConsumer::new().await;
    let right = json!({"status": "succeeded", "profile": ada()});
    let raw = |media| ResponseTemplate::new(200).set_body_raw(right.to_string(), media);
    let untyped = ResponseTemplate::new(200).set_body_bytes(right.to_string());
    let profile = |field, value: Value| succeeded(&with(ada(), field, value));
    let token = |field, value: Value| ok(with(token_answer(), field, value));
    let url = format!("{}/login/x", consumer.broker.url());
    let short = json!({"authorization_url": url, "expires_in": 60});
    let huge = "a".repeat(64 * 1024);
    let rows = [
        (RESULT, html(200), "lost"),
        (RESULT, ResponseTemplate::new(200), "lost"),
        (RESULT, ok(json!({"status": "whatever"})), "lost"),
        (RESULT, raw("text/html"), "lost"),
        (RESULT, raw("text/plain; charset=utf-8"), "lost"),
        (RESULT, raw("application/json5"), "lost"),
        (RESULT, untyped, "lost"),
        (RESULT, raw("Application/JSON; charset=utf-8"), SIGNED_IN),
        (RESULT, profile("subject", json!("")), "lost"),
        (RESULT, profile("provider", json!("github")), "lost"),
        (RESULT, profile("name", huge.into()), "lost"),
        (PROFILE, ok(with(ada(), "subject", "")), "lost"),
        (PROFILE, ok(with(ada(), "provider", "github")), "lost"),
        (TOKEN, token("token_type", json!("mac")), "lost"),
        (TOKEN, token("scope", json!("admin")), "lost"),
        (TOKEN, token("expires_in", json!(3600)), "lost"),
        (SESSION, ok(short), "unreachable"),
    ];
    check(&consumer, rows).await;
}

#[rocket::async_test]
async fn any_prefix_of_a_token_will_do_and_any_other_shape_will_not() {
    let consumer = TestConsumer::new().await;
    let key = ACCESS_TOKEN.split_once('_').unwrap().1;
    let rows = [
        (format!("acme_{key}"), SIGNED_IN),
        (format!("a-b_c_{key}"), SIGNED_IN),
        (format!("_{key}"), "lost"),
        (key.to_owned(), "lost"),
        (format!("acme_{key}a"), "lost"),
        (format!("acme{key}"), "lost"),
        (format!("ac me_{key}"), "lost"),
        (String::new(), "lost"),
    ];
    let answer = |token: String| ok(with(token_answer(), "access_token", token));
    let rows = rows.map(|(token, outcome)| (TOKEN, answer(token), outcome));
    check(&consumer, rows).await;
}

#[rocket::async_test]
async fn only_a_4xx_with_an_api_error_is_a_refusal_and_each_failure_has_its_page() {
    let consumer = TestConsumer::new().await;
    let no_api_error = ResponseTemplate::new(400).set_body_json(json!({"message": "no"}));
    let no_word = ResponseTemplate::new(429).set_body_json(json!({"error": 429}));
    for answer in [html(403), ResponseTemplate::new(408), no_api_error, no_word] {
        let rows = [
            (RESULT, answer.clone(), "lost"),
            (SESSION, answer, "unreachable"),
        ];
        check(&consumer, rows).await;
    }
    let rows = [(SESSION, 401), (SESSION, 429), (RESULT, 400), (TOKEN, 400)];
    let rows = rows.map(|(path, status)| (path, refused(status), "refused"));
    check(&consumer, rows).await;
    let failures = contract::LoginError::ALL.map(contract::LoginError::as_str);
    check(&consumer, failures.map(|it| (RESULT, failed(it), it))).await;
}

/// Whether the browser is sent to the authorization URL `url`, where browsers reach the
/// broker at `origin`: that of its base address, if it is empty.
async fn is_followed(origin: &str, url: &str) -> bool {
    let consumer = TestConsumer::with_config(|config| {
        if !origin.is_empty() {
            config.authorization_origin = origin.parse().unwrap();
        }
    });
    let consumer = consumer.await;
    let answer = json!({"authorization_url": url, "expires_in": 600});
    consumer.broker.answer_next(SESSION, ok(answer));
    let answer = consumer.browser().press("/login/google").await;
    assert_eq!(answer.set_cookie().is_some(), answer.status.code == 303);
    answer.outcome() == url
}

#[rocket::async_test]
async fn c13_an_authorization_url_is_followed_only_in_its_shape_and_to_the_origin_of_the_broker() {
    const HTTPS: &str = "https://signin.example";
    for (origin, url) in [
        (HTTPS, "https://signin.example/login/x"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/login/x"),
        ("http://[::1]:8000", "http://[::1]:8000/login/x"),
    ] {
        assert!(is_followed(origin, url).await, "{url}");
    }
    for (origin, url) in [
        ("", "https://signin.example/login/x"),
        (HTTPS, "https://evil.example/login/x"),
        (HTTPS, "https://signin.example:8443/login/x"),
        (HTTPS, "https://signin.example.evil.example/login/x"),
        (HTTPS, "http://signin.example/login/x"),
        (HTTPS, "https://signin.example/login/x?next=1"),
        (HTTPS, "javascript:alert(1)"),
    ] {
        assert!(!is_followed(origin, url).await, "{url:?}");
    }
}
