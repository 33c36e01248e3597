//! All parts of a stack use one clock, and every time in a response is read from it. The
//! ends of lifetimes, to the millisecond, are tests of the broker and of `consistency`.

use serde_json::{Value, json};
use stack::faults::{Fault, FaultInjection};
use stack::{StackClock, StackSettings};
use testkit::browser::{Browser, UNSERVED};
use testkit::login::{FLOWS, Flow, GOOGLE, PROVIDERS};

use crate::control::{get, post};
use crate::test_stack::TestStack;

/// The start of the stack's clock: a whole second, far from the machine's
/// time, 2096-10-02 07:06:40 UTC.
const BEGIN_MS: i64 = 4_000_000_000_000;

#[tokio::test]
async fn whatever_is_written_down_bears_the_time_of_the_stack() {
    let stack = TestStack::start_with(StackSettings {
        clock: StackClock::frozen_at(BEGIN_MS),
        ..StackSettings::for_tests()
    })
    .await;
    let shown = json!({ "now": 4_000_012_345_i64, "advanced_seconds": 12_345.678 });
    let moved = post(
        &stack,
        "/api/clock/advance",
        json!({ "seconds": 12_345.678 }),
    )
    .await;
    moved.is_json(200, &shown);
    for flow in FLOWS {
        for provider in PROVIDERS {
            stack.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    let operation = "GET /api/providers".parse().expect("an operation");
    let fault = FaultInjection::next(operation, Fault::Html502);
    stack.faults().arm(fault);
    assert_eq!(stack.backend.providers().await.status, 502);
    for (path, least) in [
        ("/api/events", 25),
        ("/api/logins", 10),
        ("/api/upstreams/google/requests", 5),
        ("/api/upstreams/github/requests", 5),
    ] {
        let answer = get(&stack, path).await.json();
        let times = all_named("at", &answer);
        assert!(times.len() >= least, "{path} shows {} times", times.len());
        let others = times.iter().find(|at| **at != stack.now_ms());
        assert_eq!(others, None, "{path}");
    }

    get(&stack, "/api/clock").await.is_json(200, &shown);
    let home = stack.demo("/");
    let start = stack.demo("/login/google");
    let end = Browser::new().press_until(&home, &start, UNSERVED).await;
    let page = end.response.expect("a page");
    let seen = r#"data-field="firstSeen">2096-10-02 10:32 UTC<"#;
    assert!(page.text().contains(seen), "{}", page.text());

    stack.reset().await.expect("a fresh broker");
    assert_eq!(stack.now_ms(), BEGIN_MS);
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
}

/// Every number with this name, at any depth.
fn all_named(name: &str, value: &Value) -> Vec<i64> {
    match value {
        Value::Array(all) => all.iter().flat_map(|it| all_named(name, it)).collect(),
        Value::Object(members) => {
            let own = members.get(name).and_then(Value::as_i64);
            let deeper = members.values().flat_map(|it| all_named(name, it));
            own.into_iter().chain(deeper).collect()
        }
        _ => Vec::new(),
    }
}
