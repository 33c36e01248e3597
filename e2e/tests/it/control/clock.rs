//! The clock of the stack, which is only ever moved ahead.

use serde_json::{Value, json};

use super::{get, post, refuses};
use crate::login::GOOGLE;
use crate::world::World;

#[tokio::test]
async fn the_clock_flows_and_is_moved_ahead() {
    let world = World::start().await;
    let before = get(&world, "/api/clock").await.json();
    assert_eq!(before["advanced_seconds"], 0.0);
    let moved = post(&world, "/api/clock/advance", json!({ "seconds": 599.5 })).await;
    assert_eq!(moved.status, 200);
    assert_eq!(moved.json()["advanced_seconds"], 599.5);
    let now = |time: &Value| time["now"].as_i64().expect("seconds");
    assert!(now(&moved.json()) - now(&before) >= 599);

    let login = world.settled(GOOGLE).await;
    post(&world, "/api/clock/advance", json!({ "seconds": 600 })).await;
    world
        .backend
        .result(&login.session_key)
        .await
        .is_refusal(400);
}

#[tokio::test]
async fn the_clock_never_goes_back() {
    let world = World::start().await;
    for seconds in [
        json!(-1),
        json!(-0.001),
        json!(1e300),
        json!("600"),
        json!(null),
    ] {
        let response = post(&world, "/api/clock/advance", json!({ "seconds": seconds })).await;
        refuses(&response, 400, "");
    }
    refuses(
        &post(&world, "/api/clock/advance", json!({})).await,
        400,
        "seconds",
    );
    let time = get(&world, "/api/clock").await.json();
    assert_eq!(time["advanced_seconds"], 0.0);
}
