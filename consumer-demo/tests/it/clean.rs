//! The clean callback flow, in one tab.

use std::collections::HashSet;

use rocket::http::Status;

use crate::scripted_broker::{RESULT, SESSION, ada, failed, ok, pending, refused, succeeded};
use crate::test_consumer::{CONSUMER, SECRET, TestConsumer};

#[rocket::async_test]
async fn a_login_ends_on_the_profile() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();

    let started = browser.press("/login/google").await;
    assert_eq!(
        started.location(),
        format!("{}/login/a-handle", consumer.broker.url())
    );
    let back = browser.get("/callback").await;
    assert_eq!(back.location(), "/profile");

    let profile = browser.get("/profile").await;
    assert_eq!(profile.field("subject"), "sub_ada");
    assert_eq!(profile.field("email"), "ada@example.org");
    assert_eq!(profile.field("username"), "not given");
}

#[rocket::async_test]
async fn both_calls_carry_the_same_key_and_callback() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let key = browser.start_clean("github").await;
    browser.get("/callback").await;

    let session = &consumer.broker.calls(SESSION)[0];
    assert_eq!(session["provider"], "github");
    assert_eq!(session["client_secret"], SECRET);
    assert_eq!(session["redirect_uri"], format!("{CONSUMER}/callback"));
    let result = &consumer.broker.calls(RESULT)[0];
    assert_eq!(result["session_key"], key);
    assert_eq!(result["redirect_uri"], session["redirect_uri"]);
}

#[rocket::async_test]
async fn c1_every_login_has_a_key_of_its_own_that_no_browser_sees() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut keys = HashSet::new();
    for _ in 0..200 {
        let answer = browser.press("/login/google").await;
        let key = consumer.broker.calls(SESSION).pop().unwrap();
        let key = key["session_key"].as_str().unwrap().to_owned();
        assert!(!answer.headers_and_body().contains(&key));
        assert!(!answer.headers_and_body().contains(SECRET));
        keys.insert(key);
    }
    assert_eq!(keys.len(), 200);
    let back = browser.get("/callback").await;
    assert!(
        keys.iter()
            .all(|key| !back.headers_and_body().contains(key))
    );
}

// Threats: M8.
#[rocket::async_test]
async fn c4_a_callback_without_the_cookie_makes_no_call() {
    let consumer = TestConsumer::new().await;
    consumer.browser().start_clean("google").await;

    let other = consumer.browser();
    let answer = other.get("/callback").await;
    assert_eq!(answer.problem(), "no_session");
    assert_eq!(answer.status, Status::BadRequest);
    assert_eq!(consumer.broker.calls(RESULT).len(), 0);
}

#[rocket::async_test]
async fn c4_a_made_up_cookie_is_no_cookie() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.set_cookie(Some(("demo_session", "A".repeat(43)).into()));
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn c5_parameters_of_the_callback_change_nothing() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let key = browser.start_clean("google").await;
    let other = "B".repeat(43);
    let address =
        format!("/callback?session_key={other}&code=c&subject=sub_eve&error=access_denied");
    assert_eq!(browser.get(&address).await.location(), "/profile");
    assert_eq!(consumer.broker.keys_read(), [key]);
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

// Threats: d91abd90, CVE-2021-21291, GHSA-5m6c, GHSA-j7px, GHSA-qqxw.
#[rocket::async_test]
async fn c12_no_parameter_chooses_where_a_browser_goes() {
    let consumer = TestConsumer::new().await;
    for target in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "/%5cevil.example/",
        "/%09/evil.example/",
        "/profile.evil.example",
        "javascript:alert(1)",
    ] {
        let target: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
        let query = format!("?returnTo={target}&next={target}&rd={target}&redirect={target}");
        let browser = consumer.browser();
        let started = browser.press(&format!("/login/google{query}")).await;
        assert!(
            started.location().starts_with("http://127.0.0.1:"),
            "{target}"
        );
        assert!(!started.location().contains("evil"), "{target}");
        let finished = browser.get(&format!("/callback{query}")).await;
        assert_eq!(finished.location(), "/profile", "{target}");
        let signed_out = browser.press(&format!("/sign-out{query}")).await;
        assert_eq!(signed_out.location(), "/", "{target}");
    }
}

// Threats: M8.
#[rocket::async_test]
async fn c8_a_pending_result_is_read_three_times_and_then_left_to_the_user() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let key = browser.start_clean("google").await;
    consumer.broker.answer_reads_of(&key, pending());

    let answer = browser.get("/callback").await;
    assert_eq!(answer.problem(), "pending");
    assert_eq!(consumer.broker.calls(RESULT).len(), 3);

    // The user's click, not ours: and now it has ended.
    consumer.broker.answer_reads_of(&key, succeeded(&ada()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.calls(RESULT).len(), 4);
}

#[rocket::async_test]
async fn a_result_that_becomes_ready_while_we_wait_signs_the_user_in() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    consumer.broker.answer_next(RESULT, pending());
    consumer.broker.answer_next(RESULT, pending());
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.calls(RESULT).len(), 3);
}

#[rocket::async_test]
async fn each_of_the_three_failures_has_its_page_and_a_button_that_starts_again() {
    for error in [
        "access_denied",
        "invalid_provider_response",
        "provider_unavailable",
    ] {
        let consumer = TestConsumer::new().await;
        let browser = consumer.browser();
        browser.start_clean("github").await;
        consumer.broker.answer_next(RESULT, failed(error));
        let answer = browser.get("/callback").await;
        assert_eq!(answer.problem(), error);
        assert_eq!(answer.status, Status::Ok);
        assert!(answer.body.contains(r#"action="/login/github""#));
        assert!(answer.body.contains(r#"id="start-again""#));
        // It has ended: nothing is left to ask about.
        assert_eq!(browser.get("/callback").await.problem(), "no_session");
        assert_eq!(consumer.broker.calls(RESULT).len(), 1);
    }
}

#[rocket::async_test]
async fn a_refused_key_is_dropped() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    consumer.broker.answer_next(RESULT, refused(400));
    let answer = browser.get("/callback").await;
    assert_eq!(answer.problem(), "refused");
    assert!(answer.body.contains(r#"action="/login/google""#));
    browser.get("/callback").await;
    assert_eq!(consumer.broker.calls(RESULT).len(), 1);
}

#[rocket::async_test]
async fn a_login_is_forgotten_after_600_seconds() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    consumer.advance(599);
    let cookie = browser.cookie();
    let early = consumer.browser();
    early.start_clean("google").await;
    consumer.advance(1);
    browser.set_cookie(cookie);
    let late = browser.get("/callback").await;
    assert_eq!(late.problem(), "expired");
    assert!(late.body.contains(r#"action="/login/google""#));
    assert_eq!(consumer.broker.calls(RESULT).len(), 0);
    assert_eq!(early.get("/callback").await.location(), "/profile");
    consumer.advance(60 * 60);
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
}

#[rocket::async_test]
async fn a_later_start_forgets_that_a_login_has_expired() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_legacy("github").await;
    consumer.advance(600);
    let late = browser.return_legacy("code=c&state=unknown").await;
    assert_eq!(late.problem(), "expired");
    assert!(late.body.contains(r#"action="/legacy/login/github""#));
    browser.start_legacy("github").await;
    let late = browser.return_legacy("code=c&state=unknown").await;
    assert_eq!(late.problem(), "refused");
}

#[rocket::async_test]
async fn a_login_that_has_expired_is_not_read_while_a_later_one_is() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    consumer.advance(300);
    let later = browser.start_clean("google").await;
    consumer.advance(300);
    consumer.broker.answer_reads_of(&later, refused(400));
    assert_eq!(browser.get("/callback").await.problem(), "refused");
    assert_eq!(consumer.broker.keys_read(), [later]);
}

#[rocket::async_test]
async fn a_reload_after_signing_in_shows_the_profile_without_a_call() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.calls(RESULT).len(), 1);
}

#[rocket::async_test]
async fn a_start_that_the_broker_refuses_leaves_no_session() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    consumer.broker.answer_next(SESSION, refused(401));
    let answer = browser.press("/login/google").await;
    assert_eq!(answer.problem(), "refused");
    assert_eq!(answer.set_cookie(), None);
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    assert_eq!(consumer.broker.call_count(), 1);
}

#[rocket::async_test]
async fn a_profile_without_a_subject_signs_no_user_in() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let mut profile = ada();
    profile.as_object_mut().unwrap().remove("subject");
    consumer.broker.answer_next(
        RESULT,
        ok(serde_json::json!({"status": "succeeded", "profile": profile})),
    );
    assert_eq!(browser.get("/callback").await.problem(), "lost");
    assert_eq!(browser.get("/profile").await.location(), "/");
}
