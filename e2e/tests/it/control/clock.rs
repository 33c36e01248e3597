//! The control API for the stack's clock, which only moves ahead.

use serde_json::{Value, json};

use super::{get, post, refuses};
use crate::login::GOOGLE;
use crate::test_stack::TestStack;

#[tokio::test]
async fn the_clock_flows_and_is_moved_ahead() {
    let stack = TestStack::start().await;
    let before = get(&stack, "/api/clock").await.json();
    assert_eq!(before["advanced_seconds"], 0.0);
    let moved = post(&stack, "/api/clock/advance", json!({ "seconds": 599.5 })).await;
    assert_eq!(moved.status, 200);
    assert_eq!(moved.json()["advanced_seconds"], 599.5);
    let now = |time: &Value| time["now"].as_i64().expect("seconds");
    assert!(now(&moved.json()) - now(&before) >= 599);

    let login = stack.completed_login(GOOGLE).await;
    post(&stack, "/api/clock/advance", json!({ "seconds": 600 })).await;
    stack
        .backend
        .result(&login.session_key)
        .await
        .is_refusal(400);
}

#[tokio::test]
async fn the_clock_never_goes_back() {
    let stack = TestStack::start().await;
    for seconds in [
        json!(-1),
        json!(-0.001),
        json!(1e300),
        json!("600"),
        json!(null),
    ] {
        let response = post(&stack, "/api/clock/advance", json!({ "seconds": seconds })).await;
        refuses(&response, 400, "");
    }
    refuses(
        &post(&stack, "/api/clock/advance", json!({})).await,
        400,
        "seconds",
    );
    let time = get(&stack, "/api/clock").await.json();
    assert_eq!(time["advanced_seconds"], 0.0);
}
