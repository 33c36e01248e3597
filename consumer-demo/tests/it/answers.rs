//! C7, C13 and C14: the answers that the broker, or a proxy before it, may give.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use wiremock::ResponseTemplate;

use crate::scripted_broker::{
    RESULT, SESSION, ScriptedBroker, ada, ok, pending, refused, succeeded,
};
use crate::test_consumer::TestConsumer;

/// Reads a result that is answered with `answer`, and expects it to be lost:
/// one read, a page, and no second read when the user reloads.
async fn check_lost(answer: ResponseTemplate) {
    check_lost_in(&TestConsumer::new().await, answer).await;
}

async fn check_lost_in(consumer: &TestConsumer, answer: ResponseTemplate) {
    let browser = consumer.browser();
    browser.start_clean("google").await;
    consumer.broker.answer_next(RESULT, answer);
    let page = browser.get("/callback").await;
    assert_eq!(page.problem(), "lost");
    assert!(page.body.contains(r#"id="start-again""#));
    assert!(page.body.contains(r#"action="/login/google""#));
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    assert_eq!(consumer.broker.calls(RESULT).len(), 1);
}

#[rocket::async_test]
async fn c7_a_failing_broker_is_called_once() {
    check_lost(ResponseTemplate::new(500)).await;
    check_lost(ResponseTemplate::new(502).set_body_string("<html>Bad gateway")).await;
    check_lost(ResponseTemplate::new(503).insert_header("Retry-After", "0")).await;
}

#[rocket::async_test]
async fn c7_an_answer_that_never_comes_is_not_asked_for_again() {
    let consumer =
        TestConsumer::with_config(|config| config.broker_timeout = Duration::from_secs(1)).await;
    check_lost_in(&consumer, pending().set_delay(Duration::from_secs(30))).await;
}

#[rocket::async_test]
async fn c14_a_200_that_is_not_the_answer_is_a_lost_answer() {
    check_lost(ResponseTemplate::new(200).set_body_string("<html>Hello")).await;
    check_lost(ResponseTemplate::new(200)).await;
    check_lost(ok(json!({"status": "whatever"}))).await;
    check_lost(ok(json!({"status": "succeeded"}))).await;
    check_lost(ok(json!({"status": "failed", "error": "other"}))).await;
}

#[rocket::async_test]
async fn c14_an_answer_of_another_content_type_is_a_lost_answer() {
    let right = json!({"status": "succeeded", "profile": ada()}).to_string();
    let of_type = |media| ResponseTemplate::new(200).set_body_raw(right.clone(), media);
    check_lost(of_type("text/html")).await;
    check_lost(of_type("text/plain; charset=utf-8")).await;
    check_lost(of_type("application/json5")).await;
    // Without any Content-Type.
    check_lost(ResponseTemplate::new(200).set_body_bytes(right.clone())).await;

    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let with_parameter = of_type("Application/JSON; charset=utf-8");
    consumer.broker.answer_next(RESULT, with_parameter);
    assert_eq!(browser.get("/callback").await.location(), "/profile");
}

#[rocket::async_test]
async fn c14_a_profile_without_a_subject_is_a_lost_answer() {
    for subject in [json!(""), json!(null), json!(7)] {
        let mut profile = ada();
        profile["subject"] = subject;
        check_lost(succeeded(&profile)).await;
    }
}

#[rocket::async_test]
async fn c14_no_more_than_64_kib_of_an_answer_are_read() {
    let mut profile = ada();
    profile["name"] = "a".repeat(64 * 1024).into();
    check_lost(succeeded(&profile)).await;
}

#[rocket::async_test]
async fn c7_a_connection_that_breaks_is_not_tried_again() {
    for answered in [0, 1] {
        let broken = Broken::after(answered);
        let consumer = TestConsumer::with_config(|config| {
            config.signin_base_url = broken.url.parse().unwrap();
        });
        let consumer = consumer.await;
        for _ in 0..answered {
            let page = consumer.browser().press("/login/google").await;
            assert_eq!(page.problem(), "refused");
        }
        let page = consumer.browser().press("/login/google").await;
        assert_eq!(page.problem(), "unreachable");
        assert_eq!(page.set_cookie(), None);
        assert_eq!(broken.requests(), answered + 1);
    }
}

/// A broker that answers some requests, and closes the connection instead of
/// answering the next. It counts what arrives at its socket.
struct Broken {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Broken {
    fn after(answered: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let broken = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            requests: Arc::clone(&requests),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let requests = Arc::clone(&requests);
                std::thread::spawn(move || serve_connection(stream, &requests, answered));
            }
        });
        broken
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Serves one connection. Requests for the providers' status do not count.
fn serve_connection(stream: TcpStream, requests: &AtomicUsize, answered: usize) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            stream.read_line(&mut head).ok().filter(|read| *read > 0)?;
        }
        let length = head
            .to_lowercase()
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        stream.read_exact(&mut vec![0; length.unwrap_or(0)]).ok()?;
        if head.starts_with("POST") && requests.fetch_add(1, Ordering::SeqCst) >= answered {
            return None;
        }
        let body = r#"{"error":"request_failed"}"#;
        let length = body.len();
        let no = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.get_mut().write_all(no.as_bytes()).ok()?;
    }
}

#[rocket::async_test]
async fn a_broker_that_is_not_there_is_unreachable() {
    // Bound and closed: nothing listens there any more.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}", taken.local_addr().unwrap());
    drop(taken);
    let consumer =
        TestConsumer::with_config(|config| config.signin_base_url = gone.parse().unwrap()).await;
    let page = consumer.browser().press("/login/google").await;
    assert_eq!(page.problem(), "unreachable");
    assert_eq!(page.set_cookie(), None);
}

#[rocket::async_test]
async fn c14_a_redirect_carries_the_secret_nowhere() {
    let consumer = TestConsumer::new().await;
    let elsewhere = ScriptedBroker::start().await;
    for status in [301, 302, 303, 307, 308] {
        let target = format!("{}{SESSION}", elsewhere.url());
        let redirect = ResponseTemplate::new(status).insert_header("Location", target);
        consumer.broker.answer_next(SESSION, redirect);
        let page = consumer.browser().press("/login/google").await;
        assert_eq!(page.problem(), "unreachable");
    }
    assert_eq!(elsewhere.call_count(), 0);
}

/// A proxy between us and the broker may have refused.
#[rocket::async_test]
async fn a_refusal_that_is_no_api_error_is_a_lost_answer() {
    for answer in [
        ResponseTemplate::new(403).set_body_string("<html>Forbidden"),
        ResponseTemplate::new(408),
        ResponseTemplate::new(400).set_body_json(json!({"message": "no"})),
        ResponseTemplate::new(429).set_body_string(r#"{"error": 429}"#),
    ] {
        check_lost(answer.clone()).await;
        let consumer = TestConsumer::new().await;
        consumer.broker.answer_next(SESSION, answer);
        let page = consumer.browser().press("/login/google").await;
        assert_eq!(page.problem(), "unreachable");
        assert!(!page.body.contains("Forbidden"));
        assert_eq!(consumer.broker.call_count(), 1);
    }
}

#[rocket::async_test]
async fn a_429_at_the_start_is_not_tried_again() {
    let consumer = TestConsumer::new().await;
    consumer.broker.answer_next(SESSION, refused(429));
    let page = consumer.browser().press("/login/google").await;
    assert_eq!(page.problem(), "refused");
    assert_eq!(consumer.broker.call_count(), 1);
}

/// Starts a login whose authorization URL is `url`, where browsers reach the broker
/// at `origin`, and returns whether the browser is sent there.
async fn is_followed(url: &str, origin: &str) -> bool {
    let origin = origin.parse().unwrap();
    let consumer = TestConsumer::with_config(|config| config.authorization_origin = origin).await;
    is_followed_in(&consumer, url).await
}

async fn is_followed_in(consumer: &TestConsumer, url: &str) -> bool {
    let browser = consumer.browser();
    let answer = json!({"authorization_url": url, "expires_in": 600});
    consumer.broker.answer_next(SESSION, ok(answer));
    let answer = browser.press("/login/google").await;
    assert_eq!(answer.set_cookie().is_some(), answer.status.code == 303);
    answer.header("location") == Some(url)
}

#[rocket::async_test]
async fn c13_an_authorization_url_is_followed_only_in_its_shape() {
    let https = "https://signin.example";
    assert!(is_followed("https://signin.example/login/x", https).await);
    for local in ["http://127.0.0.1:8000", "http://[::1]:8000"] {
        assert!(is_followed(&format!("{local}/login/x"), local).await);
    }
    for url in [
        "http://signin.example/login/x",
        "https://user@signin.example/login/x",
        "https://signin.example/login/x?next=1",
        "https://signin.example/login/x#fragment",
        "javascript:alert(1)",
        "//signin.example/login/x",
        "/login/x",
        "https://signin.example/\r\nSet-Cookie: a=b",
        "",
    ] {
        assert!(!is_followed(url, https).await, "{url:?}");
    }
    let long = format!("https://signin.example/{}", "a".repeat(2048));
    assert!(!is_followed(&long, https).await);
}

#[rocket::async_test]
async fn c13_the_brokers_own_origin_is_the_only_one_unless_another_is_named() {
    let consumer = TestConsumer::new().await;
    let ours = format!("{}/login/x", consumer.broker.url());
    assert!(is_followed_in(&consumer, &ours).await);
    assert!(!is_followed_in(&consumer, "https://signin.example/login/x").await);

    let named = "https://signin.example";
    assert!(is_followed("https://signin.example/login/x", named).await);
    assert!(!is_followed("https://evil.example/login/x", named).await);
    assert!(!is_followed("https://signin.example:8443/login/x", named).await);
    assert!(!is_followed("https://signin.example.evil.example/login/x", named).await);
}

#[rocket::async_test]
async fn a_lifetime_other_than_600_is_not_this_contract() {
    let consumer = TestConsumer::new().await;
    let answer = json!({"authorization_url": "https://signin.example/x", "expires_in": 60});
    consumer.broker.answer_next(SESSION, ok(answer));
    let page = consumer.browser().press("/login/google").await;
    assert_eq!(page.problem(), "unreachable");
}
