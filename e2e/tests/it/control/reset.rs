//! A new world, in which nothing of the old one is left.

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::json;

use super::{get, put};
use crate::login::{FLOWS, Flow, GOOGLE, PROVIDERS};
use crate::world::World;
use testkit::browser::Browser;

// A new world.

#[tokio::test]
async fn a_reset_begins_a_new_world_in_which_logins_work() {
    let world = World::start().await;
    world.advance_seconds(10_000);
    let settled = world.settled(GOOGLE).await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let (used, used_code) = world.with_code(GOOGLE).await;
    let token = world.backend.token(&used, &used_code).await;
    let demo = Browser::new();
    let home = world.demo("/");
    let end = demo
        .press_until(&home, &world.demo("/login/google"), "nowhere:")
        .await;
    assert_eq!(end.url, world.demo("/profile"));
    put(
        &world,
        "/api/upstreams/google",
        json!({ "mode": "interactive" }),
    )
    .await;
    world.next_goes_wrong(GOOGLE, Misbehaviour::Deny);
    let projects = get(&world, "/api/projects").await;

    world
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");

    assert_eq!(
        get(&world, "/api/clock").await.json()["advanced_seconds"],
        0.0
    );
    world
        .backend
        .result(&settled.session_key)
        .await
        .is_refusal(400);
    world
        .backend
        .redeem(&transaction, &code)
        .await
        .is_refusal(400);
    assert_eq!(world.backend.profile(&token).await.status, 401);
    assert_eq!(demo.type_in(&world.demo("/profile")).await.url, home);
    assert_eq!(
        get(&world, "/api/upstreams/google/requests").await.text(),
        "[]"
    );
    assert_eq!(get(&world, "/api/projects").await.text(), projects.text());
    for flow in FLOWS {
        for provider in PROVIDERS {
            world.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    let end = demo
        .press_until(&home, &world.demo("/login/google"), "nowhere:")
        .await;
    assert_eq!(end.url, world.demo("/profile"));
}

#[tokio::test]
async fn an_upstream_login_of_the_old_world_is_a_strangers_in_the_new_one() {
    let world = World::start().await;
    let begun = world.halfway(Flow::Clean, GOOGLE).await;
    world
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");
    let page = begun.browser.open(&begun.answer).await;
    page.is_page(400, "This sign-in did not begin in this browser");
}

#[tokio::test]
async fn a_key_of_the_old_world_is_fresh_in_the_new_one() {
    let world = World::start().await;
    let login = world.backend.start_login(GOOGLE).await;
    world
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");
    let again = world
        .backend
        .start_with_key(&login.session_key, GOOGLE)
        .await;
    assert_eq!(again.status, 200, "{}", again.text());
}
