//! The clean callback flow, in one tab.

use std::collections::HashSet;

use rocket::http::Status;

use crate::world::{
    CONSUMER, RESULT, SECRET, SESSION, World, ada, failed, ok, pending, refused, succeeded,
};

#[rocket::async_test]
async fn a_login_ends_on_the_profile() {
    let world = World::new().await;
    let browser = world.browser();

    let started = browser.press("/login/google").await;
    assert_eq!(
        started.location(),
        format!("{}/login/a-handle", world.broker.url())
    );
    let back = browser.get("/callback").await;
    assert_eq!(back.location(), "/profile");

    let profile = browser.get("/profile").await;
    assert_eq!(profile.field("subject"), "sub_ada");
    assert_eq!(profile.field("email"), "ada@example.org");
    assert_eq!(profile.field("username"), "null — legitimate");
}

#[rocket::async_test]
async fn both_calls_carry_the_same_key_and_callback() {
    let world = World::new().await;
    let browser = world.browser();
    let key = browser.start_clean("github").await;
    browser.get("/callback").await;

    let session = &world.broker.calls(SESSION)[0];
    assert_eq!(session["provider"], "github");
    assert_eq!(session["client_secret"], SECRET);
    assert_eq!(session["redirect_uri"], format!("{CONSUMER}/callback"));
    let result = &world.broker.calls(RESULT)[0];
    assert_eq!(result["session_key"], key);
    assert_eq!(result["redirect_uri"], session["redirect_uri"]);
}

#[rocket::async_test]
async fn c1_every_login_has_a_key_of_its_own_that_no_browser_sees() {
    let world = World::new().await;
    let browser = world.browser();
    let mut keys = HashSet::new();
    for _ in 0..200 {
        let answer = browser.press("/login/google").await;
        let key = world.broker.calls(SESSION).pop().unwrap();
        let key = key["session_key"].as_str().unwrap().to_owned();
        assert!(!answer.everything().contains(&key));
        assert!(!answer.everything().contains(SECRET));
        keys.insert(key);
    }
    assert_eq!(keys.len(), 200);
    let back = browser.get("/callback").await;
    assert!(keys.iter().all(|key| !back.everything().contains(key)));
}

#[rocket::async_test]
async fn c4_a_callback_without_the_cookie_makes_no_call() {
    let world = World::new().await;
    world.browser().start_clean("google").await;

    let other = world.browser();
    let answer = other.get("/callback").await;
    assert_eq!(answer.problem(), "no_session");
    assert_eq!(answer.status, Status::BadRequest);
    assert_eq!(world.broker.calls(RESULT).len(), 0);
}

#[rocket::async_test]
async fn c4_a_made_up_cookie_is_no_cookie() {
    let world = World::new().await;
    let browser = world.browser();
    browser.set_cookie(Some(("demo_session", "A".repeat(43)).into()));
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    assert_eq!(world.broker.count(), 0);
}

#[rocket::async_test]
async fn c5_what_the_callback_address_says_changes_nothing() {
    let world = World::new().await;
    let browser = world.browser();
    let key = browser.start_clean("google").await;
    let other = "B".repeat(43);
    let address =
        format!("/callback?session_key={other}&code=c&subject=sub_eve&error=access_denied");
    assert_eq!(browser.get(&address).await.location(), "/profile");
    assert_eq!(world.broker.keys_read(), [key]);
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

#[rocket::async_test]
async fn c12_no_parameter_chooses_where_a_browser_goes() {
    let world = World::new().await;
    for wish in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "/%5cevil.example/",
        "/%09/evil.example/",
        "/profile.evil.example",
        "javascript:alert(1)",
    ] {
        let wish: String = url::form_urlencoded::byte_serialize(wish.as_bytes()).collect();
        let wishes = format!("?returnTo={wish}&next={wish}&rd={wish}&redirect={wish}");
        let browser = world.browser();
        let away = browser.press(&format!("/login/google{wishes}")).await;
        assert!(away.location().starts_with("http://127.0.0.1:"), "{wish}");
        assert!(!away.location().contains("evil"), "{wish}");
        let home = browser.get(&format!("/callback{wishes}")).await;
        assert_eq!(home.location(), "/profile", "{wish}");
        let out = browser.press(&format!("/sign-out{wishes}")).await;
        assert_eq!(out.location(), "/", "{wish}");
    }
}

#[rocket::async_test]
async fn c8_a_pending_result_is_asked_for_three_times_and_then_left_to_the_person() {
    let world = World::new().await;
    let browser = world.browser();
    let key = browser.start_clean("google").await;
    world.broker.will_for(&key, pending());

    let answer = browser.get("/callback").await;
    assert_eq!(answer.problem(), "pending");
    assert_eq!(world.broker.calls(RESULT).len(), 3);

    // Their click, not ours: and now it has ended.
    world.broker.will_for(&key, succeeded(&ada()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(world.broker.calls(RESULT).len(), 4);
}

#[rocket::async_test]
async fn a_result_that_becomes_ready_while_we_wait_is_taken() {
    let world = World::new().await;
    let browser = world.browser();
    browser.start_clean("google").await;
    world.broker.will(RESULT, pending());
    world.broker.will(RESULT, pending());
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(world.broker.calls(RESULT).len(), 3);
}

#[rocket::async_test]
async fn each_of_the_three_failures_has_its_page_and_a_way_to_start_again() {
    for error in [
        "access_denied",
        "invalid_provider_response",
        "provider_unavailable",
    ] {
        let world = World::new().await;
        let browser = world.browser();
        browser.start_clean("github").await;
        world.broker.will(RESULT, failed(error));
        let answer = browser.get("/callback").await;
        assert_eq!(answer.problem(), error);
        assert_eq!(answer.status, Status::Ok);
        assert!(answer.body.contains(r#"action="/login/github""#));
        assert!(answer.body.contains(r#"id="start-again""#));
        // It has ended: nothing is left to ask about.
        assert_eq!(browser.get("/callback").await.problem(), "no_session");
        assert_eq!(world.broker.calls(RESULT).len(), 1);
    }
}

#[rocket::async_test]
async fn a_refused_key_is_dropped() {
    let world = World::new().await;
    let browser = world.browser();
    browser.start_clean("google").await;
    world.broker.will(RESULT, refused(400));
    let answer = browser.get("/callback").await;
    assert_eq!(answer.problem(), "refused");
    assert!(answer.body.contains(r#"action="/login/google""#));
    browser.get("/callback").await;
    assert_eq!(world.broker.calls(RESULT).len(), 1);
}

#[rocket::async_test]
async fn a_login_is_forgotten_after_600_seconds() {
    let world = World::new().await;
    let browser = world.browser();
    browser.start_clean("google").await;
    world.advance(599);
    let cookie = browser.cookie();
    let early = world.browser();
    early.start_clean("google").await;
    world.advance(1);
    browser.set_cookie(cookie);
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    assert_eq!(world.broker.calls(RESULT).len(), 0);
    assert_eq!(early.get("/callback").await.location(), "/profile");
}

#[rocket::async_test]
async fn a_login_that_has_ended_is_not_asked_about_while_a_later_one_is() {
    let world = World::new().await;
    let browser = world.browser();
    browser.start_clean("google").await;
    world.advance(300);
    let later = browser.start_clean("google").await;
    world.advance(300);
    world.broker.will_for(&later, refused(400));
    assert_eq!(browser.get("/callback").await.problem(), "refused");
    assert_eq!(world.broker.keys_read(), [later]);
}

#[rocket::async_test]
async fn a_reload_after_signing_in_shows_the_profile_and_asks_nothing() {
    let world = World::new().await;
    let browser = world.signed_in(&ada()).await;
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(world.broker.calls(RESULT).len(), 1);
}

#[rocket::async_test]
async fn a_start_that_the_broker_refuses_leaves_no_session() {
    let world = World::new().await;
    let browser = world.browser();
    world.broker.will(SESSION, refused(401));
    let answer = browser.press("/login/google").await;
    assert_eq!(answer.problem(), "refused");
    assert_eq!(answer.set_cookie(), None);
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    assert_eq!(world.broker.count(), 1);
}

#[rocket::async_test]
async fn a_result_for_a_profile_without_subject_signs_nobody_in() {
    let world = World::new().await;
    let browser = world.browser();
    browser.start_clean("google").await;
    let mut nobody = ada();
    nobody.as_object_mut().unwrap().remove("subject");
    world.broker.will(
        RESULT,
        ok(serde_json::json!({"status": "succeeded", "profile": nobody})),
    );
    assert_eq!(browser.get("/callback").await.problem(), "lost");
    assert_eq!(browser.get("/profile").await.location(), "/");
}
