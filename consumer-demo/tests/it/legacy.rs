//! C15, C16 and C17: the legacy flow.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use wiremock::ResponseTemplate;

use crate::scripted_broker::{ACCESS_TOKEN, PROFILE, REVOKE, TOKEN, ada, grace, ok, refused};
use crate::test_consumer::{Browser, CONSUMER, NOBODY, SECRET, TestConsumer};

#[rocket::async_test]
async fn a_login_ends_on_the_profile_and_no_page_shows_its_secrets() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    assert_eq!(consumer.broker.call_count(), 0);
    let redirect_uri = format!("{CONSUMER}/legacy/callback");
    for (name, value) in [
        ("client_id", "demo"),
        ("provider", "google"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", &redirect_uri),
    ] {
        assert_eq!(authorize[name], value);
    }
    assert_eq!(authorize.len(), 6, "and nothing else: {authorize:?}");

    // Parameters that are no part of the contract are ignored.
    let state = &authorize["state"];
    let query = format!("iss=x&foo=1&foo=2&code=the-code&state={state}");
    let back = browser.return_legacy(&query).await;
    assert_eq!(back.outcome(), "/profile");
    assert_eq!(browser.user().await, "sub_ada");

    let call = &consumer.broker.calls(TOKEN)[0];
    for (name, value) in [
        ("grant_type", "authorization_code"),
        ("code", "the-code"),
        ("client_secret", SECRET),
        ("redirect_uri", &redirect_uri),
    ] {
        assert_eq!(call[name], value);
    }
    let verifier = call["code_verifier"].as_str().unwrap();
    assert_eq!(consumer.broker.bearers(PROFILE), [bearer()]);
    for page in [back, browser.get("/profile").await, browser.get("/").await] {
        let seen = page.headers_and_body();
        for secret in [verifier, ACCESS_TOKEN, SECRET, state] {
            assert!(!seen.contains(secret));
        }
    }
}

/// The `Authorization` header with the access token.
fn bearer() -> Option<String> {
    Some(format!("Bearer {ACCESS_TOKEN}"))
}

#[rocket::async_test]
async fn the_browser_goes_to_the_origin_at_which_browsers_reach_the_broker() {
    let origin = "https://signin.example".parse().unwrap();
    let consumer = TestConsumer::with_config(|config| config.authorization_origin = origin).await;
    let redirect = consumer.browser().press("/legacy/login/google").await;
    let authorize = "https://signin.example/authorize?";
    assert!(redirect.outcome().starts_with(authorize));
}

// Threats: X8.
#[rocket::async_test]
async fn c15_a_state_counts_only_in_the_browser_that_began() {
    let consumer = TestConsumer::new().await;
    let theirs = consumer.browser().start_legacy("google").await;
    let victim = consumer.browser();
    let page = victim.finish_legacy(&theirs).await;
    assert_eq!(page.outcome(), "no_session");
    victim.start_legacy("google").await;
    let page = victim.finish_legacy(&theirs).await;
    assert_eq!(page.outcome(), "refused");
    assert_eq!(page.status.code, 400);
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn c15_a_state_counts_once() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let login = browser.start_legacy("google").await;
    browser.finish_legacy(&login).await;
    assert_eq!(browser.finish_legacy(&login).await.outcome(), "refused");
    assert_eq!(consumer.broker.calls(TOKEN).len(), 1);
    // And the replay has not signed the user out.
    assert_eq!(browser.user().await, "sub_ada");
}

#[rocket::async_test]
async fn c15_a_state_counts_for_600_seconds() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let login = browser.start_legacy("google").await;
    consumer.advance(1);
    let later = browser.start_legacy("google").await;
    consumer.advance(599);
    let late = browser.finish_legacy(&login).await;
    assert_eq!(late.outcome(), "expired");
    assert!(late.body.contains(r#"action="/legacy/login/google""#));
    // A later start forgets that it has expired.
    browser.start_legacy("google").await;
    assert_eq!(browser.finish_legacy(&login).await.outcome(), "refused");
    assert_eq!(consumer.broker.call_count(), 0);
    assert_eq!(browser.finish_legacy(&later).await.outcome(), "/profile");
}

#[rocket::async_test]
async fn c15_four_tabs_find_their_own_transactions_and_a_fifth_evicts_the_oldest() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut logins = Vec::new();
    for _ in 0..5 {
        logins.push(browser.start_legacy("google").await);
    }
    let oldest = browser.finish_legacy(&logins[0]).await;
    assert_eq!(oldest.outcome(), "refused");
    for login in &logins[1..] {
        assert_eq!(browser.finish_legacy(login).await.outcome(), "/profile");
        let call = consumer.broker.calls(TOKEN).pop().unwrap();
        let verifier = call["code_verifier"].as_str().unwrap();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        assert_eq!(login["code_challenge"], challenge);
    }
}

/// Begins a login and comes back with `query`, in which `{state}` stands for the right one.
/// Makes no call.
async fn check_return(consumer: &TestConsumer, query: &str, outcome: &str) {
    let browser = consumer.browser();
    let login = browser.start_legacy("github").await;
    let query = query.replace("{state}", &login["state"]);
    let page = browser.return_legacy(&query).await;
    assert_eq!(page.outcome(), outcome, "{query}");
    assert!(!page.body.contains("shrubbery"), "{query}");
    assert_eq!(consumer.broker.call_count(), 0, "{query}");
}

#[rocket::async_test]
async fn c16_an_error_answer_consumes_the_transaction_and_only_known_words_are_shown() {
    let consumer = TestConsumer::new().await;
    for (error, outcome) in [
        ("access_denied", "access_denied"),
        ("provider_unavailable", "provider_unavailable"),
        ("shrubbery", "refused"),
    ] {
        let query = format!("error={error}&state={{state}}");
        check_return(&consumer, &query, outcome).await;
    }
    let browser = consumer.browser();
    let login = browser.start_legacy("github").await;
    let query = format!("error=access_denied&state={}", login["state"]);
    let denied = browser.return_legacy(&query).await;
    assert!(denied.body.contains(r#"action="/legacy/login/github""#));
    assert_eq!(browser.finish_legacy(&login).await.outcome(), "refused");
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn a_callback_with_something_twice_or_missing_is_refused() {
    let consumer = TestConsumer::new().await;
    for query in [
        "",
        "code=c",
        "state={state}",
        "code=c&state=",
        "code=c&state={state}x",
        "code=&state={state}",
        "code=c&state={state}&state={state}",
        "code=c&code=c&state={state}",
        "code=c&error=access_denied&state={state}",
        "error=access_denied&error=access_denied&state={state}",
        "code=c&code=c&error=access_denied&state={state}",
        "code=c&error=access_denied&error=access_denied&state={state}",
        &format!("code={}&state={{state}}", "c".repeat(201)),
    ] {
        check_return(&consumer, query, "refused").await;
    }
}

/// A browser that has signed in by the legacy flow as Ada.
async fn signed_in(consumer: &TestConsumer) -> Browser<'_> {
    let browser = consumer.browser();
    let login = browser.start_legacy("google").await;
    assert_eq!(browser.finish_legacy(&login).await.outcome(), "/profile");
    browser
}

#[rocket::async_test]
async fn c17_signing_out_revokes_the_token_once() {
    let consumer = TestConsumer::new().await;
    let browser = signed_in(&consumer).await;
    for _ in 0..2 {
        assert_eq!(browser.press("/sign-out").await.outcome(), "/");
        assert_eq!(consumer.broker.bearers(REVOKE), [bearer()]);
    }
}

#[rocket::async_test]
async fn c17_signing_out_works_when_the_broker_does_not() {
    let limit = Duration::from_millis(500);
    let consumer = TestConsumer::with_config(|config| config.best_effort_timeout = limit).await;
    for answer in [
        ResponseTemplate::new(503),
        refused(401),
        ok(json!({})).set_delay(limit * 60),
    ] {
        let browser = signed_in(&consumer).await;
        let cookie = browser.cookie();
        let revoked = consumer.broker.calls(REVOKE).len();
        consumer.broker.answer_next(REVOKE, answer);
        assert_eq!(browser.press("/sign-out").await.outcome(), "/");
        browser.set_cookie(cookie);
        assert_eq!(browser.user().await, NOBODY);
        assert_eq!(consumer.broker.calls(REVOKE).len(), revoked + 1);
    }
}

#[rocket::async_test]
async fn c17_a_token_that_ended_ends_no_session() {
    let consumer = TestConsumer::new().await;
    let browser = signed_in(&consumer).await;
    consumer.advance(901);
    assert_eq!(browser.user().await, "sub_ada");
}

#[rocket::async_test]
async fn c10_the_token_of_a_replaced_user_is_revoked() {
    let consumer = TestConsumer::new().await;
    let browser = signed_in(&consumer).await;
    let login = browser.start_legacy("google").await;
    consumer.broker.answer_next(PROFILE, ok(grace()));
    browser.finish_legacy(&login).await;
    assert_eq!(browser.user().await, "sub_grace");
    assert_eq!(consumer.broker.calls(REVOKE).len(), 1);
}

/// The user signs out in another tab while the profile is on its way here.
#[rocket::async_test]
async fn a_token_whose_session_has_ended_meanwhile_is_revoked() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let login = browser.start_legacy("google").await;
    let slow = ok(ada()).set_delay(Duration::from_secs(1));
    consumer.broker.answer_next(PROFILE, slow);
    let other_tab = async {
        while consumer.broker.bearers(PROFILE).is_empty() {
            tokio::task::yield_now().await;
        }
        browser.press("/sign-out").await
    };
    let (page, _) = tokio::join!(browser.finish_legacy(&login), other_tab);
    assert_eq!(page.outcome(), "no_session");
    assert_eq!(consumer.broker.bearers(REVOKE), [bearer()]);
}
