//! C15, C16 and C17: the legacy flow.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use wiremock::ResponseTemplate;

use crate::browser::Browser;
use crate::scripted_broker::{
    ACCESS_TOKEN, PROFILE, REVOKE, TOKEN, ada, grace, ok, refused, token_answer,
};
use crate::test_consumer::{CONSUMER, SECRET, TestConsumer};

#[rocket::async_test]
async fn a_login_ends_on_the_profile() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("github").await;
    assert_eq!(authorize["client_id"], "demo");
    assert_eq!(authorize["provider"], "github");
    assert_eq!(authorize["code_challenge_method"], "S256");
    assert_eq!(
        authorize["redirect_uri"],
        format!("{CONSUMER}/legacy/callback")
    );
    assert_eq!(authorize.len(), 6, "and nothing else: {authorize:?}");

    let query = format!("code=the-code&state={}", authorize["state"]);
    assert_eq!(browser.return_legacy(&query).await.location(), "/profile");
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");

    let call = &consumer.broker.calls(TOKEN)[0];
    assert_eq!(call["grant_type"], "authorization_code");
    assert_eq!(call["code"], "the-code");
    assert_eq!(call["client_secret"], SECRET);
    assert_eq!(call["redirect_uri"], authorize["redirect_uri"]);
    let verifier = call["code_verifier"].as_str().unwrap();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    assert_eq!(authorize["code_challenge"], challenge);
    let bearer = Some(format!("Bearer {ACCESS_TOKEN}"));
    assert_eq!(consumer.broker.bearers(PROFILE), [bearer]);
}

#[rocket::async_test]
async fn the_browser_goes_to_the_origin_at_which_browsers_reach_the_broker() {
    let origin = "https://signin.example".parse().unwrap();
    let consumer = TestConsumer::with_config(|config| config.authorization_origin = origin).await;
    let redirect = consumer.browser().press("/legacy/login/google").await;
    let location = redirect.location();
    assert!(
        location.starts_with("https://signin.example/authorize?"),
        "{location}"
    );
}

#[rocket::async_test]
async fn starting_makes_no_call() {
    let consumer = TestConsumer::new().await;
    consumer.browser().start_legacy("google").await;
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn no_page_shows_verifier_token_or_secret() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    let query = format!("code=the-code&state={}", authorize["state"]);
    let seen = [
        browser.return_legacy(&query).await.headers_and_body(),
        browser.get("/profile").await.headers_and_body(),
        browser.get("/").await.headers_and_body(),
    ];
    let verifier = consumer.broker.calls(TOKEN)[0]["code_verifier"].to_string();
    for secret in [
        verifier.trim_matches('"'),
        ACCESS_TOKEN,
        SECRET,
        &authorize["state"],
    ] {
        assert!(seen.iter().all(|page| !page.contains(secret)));
    }
}

#[rocket::async_test]
async fn c15_without_the_cookie_no_call_is_made() {
    let consumer = TestConsumer::new().await;
    let authorize = consumer.browser().start_legacy("google").await;
    let query = format!("code=c&state={}", authorize["state"]);
    let answer = consumer.browser().return_legacy(&query).await;
    assert_eq!(answer.problem(), "no_session");
    assert_eq!(consumer.broker.call_count(), 0);
}

// Threats: X8.
#[rocket::async_test]
async fn c15_a_state_counts_only_in_the_browser_that_began() {
    let consumer = TestConsumer::new().await;
    let theirs = consumer.browser().start_legacy("google").await;
    let victim = consumer.browser();
    victim.start_legacy("google").await;
    let query = format!("code=c&state={}", theirs["state"]);
    let page = victim.return_legacy(&query).await;
    assert_eq!(page.status.code, 400);
    assert_eq!(page.problem(), "refused");
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn c15_a_state_counts_once() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    let query = format!("code=c&state={}", authorize["state"]);
    browser.return_legacy(&query).await;
    assert_eq!(browser.return_legacy(&query).await.problem(), "refused");
    assert_eq!(consumer.broker.calls(TOKEN).len(), 1);
    // And the replay has not signed the user out.
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

#[rocket::async_test]
async fn c15_a_state_counts_for_600_seconds() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    consumer.advance(590);
    browser.start_legacy("google").await;
    consumer.advance(10);
    let query = format!("code=c&state={}", authorize["state"]);
    assert_eq!(browser.return_legacy(&query).await.problem(), "expired");
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn c15_two_tabs_find_their_own_transactions() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let first = browser.start_legacy("google").await;
    let second = browser.start_legacy("github").await;
    assert_ne!(first["state"], second["state"]);
    for authorize in [first, second] {
        let query = format!("code=c&state={}", authorize["state"]);
        assert_eq!(browser.return_legacy(&query).await.location(), "/profile");
        let verifier = consumer.broker.calls(TOKEN).pop().unwrap();
        let verifier = verifier["code_verifier"].as_str().unwrap().to_owned();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        assert_eq!(authorize["code_challenge"], challenge);
    }
}

#[rocket::async_test]
async fn c15_a_fifth_transaction_evicts_the_oldest() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut states = Vec::new();
    for _ in 0..5 {
        states.push(browser.start_legacy("google").await["state"].clone());
    }
    for (index, state) in states.iter().enumerate() {
        let answer = browser
            .return_legacy(&format!("code=c&state={state}"))
            .await;
        assert_eq!(answer.status.code == 303, index > 0);
    }
}

#[rocket::async_test]
async fn c16_an_error_answer_consumes_the_transaction() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("github").await;
    let state = &authorize["state"];
    let denied = browser
        .return_legacy(&format!("error=access_denied&state={state}"))
        .await;
    assert_eq!(denied.problem(), "access_denied");
    assert!(denied.body.contains(r#"action="/legacy/login/github""#));
    let late = browser
        .return_legacy(&format!("code=c&state={state}"))
        .await;
    assert_eq!(late.problem(), "refused");
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn an_unknown_error_word_is_not_repeated() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("github").await;
    let query = format!("error=shrubbery&state={}", authorize["state"]);
    let answer = browser.return_legacy(&query).await;
    assert_eq!(answer.problem(), "refused");
    assert!(!answer.body.contains("shrubbery"));
}

/// Visits the callback with `query`, in which `{state}` stands for the right one, and
/// expects a refusal without a call.
async fn check_refused(query: &str) {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    let query = query.replace("{state}", &authorize["state"]);
    let answer = browser.return_legacy(&query).await;
    assert_eq!(answer.problem(), "refused", "{query}");
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn a_callback_with_something_twice_or_missing_is_refused() {
    check_refused("").await;
    check_refused("code=c").await;
    check_refused("state={state}").await;
    check_refused("code=c&state=").await;
    check_refused("code=c&state={state}x").await;
    check_refused("code=&state={state}").await;
    check_refused("code=c&state={state}&state={state}").await;
    check_refused("code=c&code=c&state={state}").await;
    check_refused("code=c&error=access_denied&state={state}").await;
    check_refused("error=access_denied&error=access_denied&state={state}").await;
    check_refused("code=c&code=c&error=access_denied&state={state}").await;
    check_refused("code=c&error=access_denied&error=access_denied&state={state}").await;
    check_refused(&format!("code={}&state={{state}}", "c".repeat(201))).await;
}

#[rocket::async_test]
async fn other_parameters_are_ignored() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    let query = format!("iss=x&foo=1&foo=2&code=c&state={}", authorize["state"]);
    assert_eq!(browser.return_legacy(&query).await.location(), "/profile");
}

#[rocket::async_test]
async fn c7_a_lost_exchange_is_not_repeated() {
    let html = ResponseTemplate::new(200).set_body_string("<html>");
    for answer in [ResponseTemplate::new(502), html, ok(json!({}))] {
        let consumer = TestConsumer::new().await;
        let browser = consumer.browser();
        let authorize = browser.start_legacy("google").await;
        consumer.broker.answer_next(TOKEN, answer);
        let query = format!("code=c&state={}", authorize["state"]);
        assert_eq!(browser.return_legacy(&query).await.problem(), "lost");
        assert_eq!(browser.return_legacy(&query).await.problem(), "refused");
        assert_eq!(consumer.broker.calls(TOKEN).len(), 1);
        assert_eq!(consumer.broker.calls(PROFILE).len(), 0);
    }
}

#[rocket::async_test]
async fn a_refused_exchange_signs_no_user_in() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    consumer.broker.answer_next(TOKEN, refused(400));
    let query = format!("code=c&state={}", authorize["state"]);
    assert_eq!(browser.return_legacy(&query).await.problem(), "refused");
    assert_eq!(browser.get("/profile").await.location(), "/");
}

#[rocket::async_test]
async fn a_token_without_a_profile_is_revoked() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    consumer
        .broker
        .answer_next(PROFILE, ResponseTemplate::new(500));
    let query = format!("code=c&state={}", authorize["state"]);
    assert_eq!(browser.return_legacy(&query).await.problem(), "lost");
    assert_eq!(consumer.broker.calls(REVOKE).len(), 1);
}

#[rocket::async_test]
async fn any_prefix_of_a_token_will_do_and_any_other_shape_will_not() {
    let key = "a".repeat(43);
    for (token, is_one) in [
        (format!("acme_{key}"), true),
        (format!("a-b_c_{key}"), true),
        (format!("_{key}"), false),
        (key.clone(), false),
        (format!("acme_{key}a"), false),
        (format!("acme{key}"), false),
        (format!("ac me_{key}"), false),
        (String::new(), false),
    ] {
        let consumer = TestConsumer::new().await;
        let browser = consumer.browser();
        let authorize = browser.start_legacy("google").await;
        let mut answer = token_answer();
        answer["access_token"] = token.clone().into();
        consumer.broker.answer_next(TOKEN, ok(answer));
        let query = format!("code=c&state={}", authorize["state"]);
        let answer = browser.return_legacy(&query).await;
        assert_eq!(answer.status.code == 303, is_one, "{token:?}");
    }
}

#[rocket::async_test]
async fn a_token_of_another_type_scope_or_lifetime_is_not_this_contract() {
    for (field, value) in [
        ("token_type", json!("mac")),
        ("scope", json!("admin")),
        ("expires_in", json!(3600)),
    ] {
        let consumer = TestConsumer::new().await;
        let browser = consumer.browser();
        let authorize = browser.start_legacy("google").await;
        let mut answer = token_answer();
        answer[field] = value;
        consumer.broker.answer_next(TOKEN, ok(answer));
        let query = format!("code=c&state={}", authorize["state"]);
        assert_eq!(browser.return_legacy(&query).await.problem(), "lost");
    }
}

/// A browser that has signed in by the legacy flow as Ada.
async fn signed_in(consumer: &TestConsumer) -> Browser<'_> {
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    let query = format!("code=c&state={}", authorize["state"]);
    assert_eq!(browser.return_legacy(&query).await.location(), "/profile");
    browser
}

#[rocket::async_test]
async fn c17_signing_out_revokes_the_token_once() {
    let consumer = TestConsumer::new().await;
    let browser = signed_in(&consumer).await;
    assert_eq!(browser.press("/sign-out").await.location(), "/");
    let bearer = Some(format!("Bearer {ACCESS_TOKEN}"));
    assert_eq!(consumer.broker.bearers(REVOKE), [bearer]);
    browser.press("/sign-out").await;
    assert_eq!(consumer.broker.calls(REVOKE).len(), 1);
}

#[rocket::async_test]
async fn c17_signing_out_works_when_the_broker_does_not() {
    for answer in [
        ResponseTemplate::new(503),
        refused(401),
        ok(json!({})).set_delay(std::time::Duration::from_secs(30)),
    ] {
        let consumer = TestConsumer::with_config(|config| {
            config.best_effort_timeout = std::time::Duration::from_millis(500);
        })
        .await;
        let browser = signed_in(&consumer).await;
        let cookie = browser.cookie();
        consumer.broker.answer_next(REVOKE, answer);
        assert_eq!(browser.press("/sign-out").await.location(), "/");
        browser.set_cookie(cookie);
        assert_eq!(browser.get("/profile").await.location(), "/");
        assert_eq!(consumer.broker.calls(REVOKE).len(), 1);
    }
}

#[rocket::async_test]
async fn c17_a_token_that_ended_ends_no_session() {
    let consumer = TestConsumer::new().await;
    let browser = signed_in(&consumer).await;
    consumer.advance(901);
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

#[rocket::async_test]
async fn c10_the_token_of_a_replaced_user_is_revoked() {
    let consumer = TestConsumer::new().await;
    let browser = signed_in(&consumer).await;
    let authorize = browser.start_legacy("google").await;
    consumer.broker.answer_next(PROFILE, ok(grace()));
    let query = format!("code=c&state={}", authorize["state"]);
    browser.return_legacy(&query).await;
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_grace");
    assert_eq!(consumer.broker.calls(REVOKE).len(), 1);
}

/// The user signs out in another tab while the profile is on its way here.
#[rocket::async_test]
async fn a_token_whose_session_has_ended_meanwhile_is_revoked() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let authorize = browser.start_legacy("google").await;
    let slow = ok(ada()).set_delay(std::time::Duration::from_secs(1));
    consumer.broker.answer_next(PROFILE, slow);
    let query = format!("code=c&state={}", authorize["state"]);
    let other_tab = async {
        while consumer.broker.bearers(PROFILE).is_empty() {
            tokio::task::yield_now().await;
        }
        browser.press("/sign-out").await
    };
    let (page, _) = tokio::join!(browser.return_legacy(&query), other_tab);
    assert_eq!(page.problem(), "no_session");
    let bearer = Some(format!("Bearer {ACCESS_TOKEN}"));
    assert_eq!(consumer.broker.bearers(REVOKE), [bearer]);
}
