//! Reading a result: whatever is refused is 400, and terminal ones go once.

use reqwest::Method;
use serde_json::json;

use super::world::{
    Answer, BOB_CALLBACK, BOB_SECRET, Browser, CALLBACK, LOCAL_CALLBACK, World, adas_profile, key,
    result_body, session_body, sign_in, with,
};

#[tokio::test]
async fn a_pending_read_does_not_consume_the_session() {
    let world = World::start().await;
    let path = world.session(1).await;
    for _ in 0..3 {
        let answer = world.result(1).await;
        assert_eq!(answer.body, r#"{"status":"pending"}"#);
        answer.is(200, &json!({ "status": "pending" }));
        answer.is_complete();
    }
    let browser = Browser::of(&world);
    let away = browser.get(&path).await;
    browser.come_back(&away, "code=upstream-code").await;
    assert_eq!(world.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_profile_is_read_once() {
    let world = World::start().await;
    sign_in(&world, 1).await.goes_to(CALLBACK);
    let expected = json!({ "status": "succeeded", "profile": adas_profile() });
    world.result(1).await.is(200, &expected);
    world.result(1).await.is_refused(400);
    assert_eq!(world.last_rule(), Some("result.once"));
}

#[tokio::test]
async fn a_failure_is_read_once() {
    let world = World::start().await;
    let path = world.session(1).await;
    let browser = Browser::of(&world);
    let away = browser.get(&path).await;
    let home = browser.come_back(&away, "error=access_denied").await;
    home.goes_to(CALLBACK);
    let answer = world.result(1).await;
    assert_eq!(
        answer.body,
        r#"{"status":"failed","error":"access_denied"}"#
    );
    assert_eq!(answer.status, 200);
    world.result(1).await.is_refused(400);
}

#[tokio::test]
async fn every_refused_read_is_the_same_400_and_consumes_nothing() {
    let world = World::start().await;
    sign_in(&world, 1).await;
    let good = || result_body(1);
    let by_bob = json!({
        "client_id": "prj_bob", "client_secret": BOB_SECRET,
        "session_key": key(1), "redirect_uri": BOB_CALLBACK,
    });
    let mut bodies = Vec::new();
    for (body, rule) in [
        (with(good(), "client_secret", "wrong"), "client.recognised"),
        (with(good(), "client_id", "prj_nobody"), "client.recognised"),
        (by_bob, "result.known"),
        (with(good(), "session_key", key(2)), "result.known"),
        (
            with(good(), "redirect_uri", LOCAL_CALLBACK),
            "result.callback",
        ),
        (
            with(good(), "redirect_uri", "https://other.example/"),
            "result.callback",
        ),
        (with(good(), "session_key", "short"), "session_key.pattern"),
    ] {
        let answer = world.post("/v1/login/result", &body).await;
        answer.is_refused(400);
        assert_eq!(world.last_rule(), Some(rule));
        bodies.push(answer.body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    assert_eq!(world.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_login_session_lives_600_seconds() {
    let world = World::start().await;
    sign_in(&world, 1).await;
    sign_in(&world, 2).await;
    world.session(3).await;
    world.pass_ms(590_000);
    assert_eq!(world.result(1).await.json()["status"], "succeeded");
    assert_eq!(world.result(3).await.json()["status"], "pending");
    world.pass_ms(10_000);
    for key in [2, 3] {
        world.result(key).await.is_refused(400);
        assert_eq!(world.last_rule(), Some("result.expiry"));
    }
}

#[tokio::test]
async fn a_key_is_fresh_again_after_600_seconds() {
    let world = World::start().await;
    world.session(1).await;
    let again = || {
        world
            .request(Method::POST, "/v1/login/session")
            .json(&session_body(1))
    };
    Answer::to(again()).await.is_refused(400);
    assert_eq!(world.last_rule(), Some("session_key.fresh"));
    world.pass_ms(600_000);
    assert_eq!(Answer::to(again()).await.status, 200);
}
