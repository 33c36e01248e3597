//! The one clock of all parts of a stack, from which every time in a response is read; and a
//! reset, which leaves nothing of the state before it, as a restart of the broker leaves all. The ends of lifetimes, to the
//! millisecond, are tests of the broker and of `consistency`.

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::{Value, json};
use stack::faults::{Fault, FaultInjection};
use stack::{StackClock, StackSettings};
use testkit::browser::{Browser, UNSERVED};
use testkit::http::Http;
use testkit::login::{FLOWS, Flow, GOOGLE, PROVIDERS};

use super::{get, post, put};
use crate::test_stack::TestStack;

#[tokio::test]
async fn nothing_of_the_time_before_a_reset_is_left() {
    let stack = TestStack::start().await;
    stack.advance_seconds(10_000);
    let started = stack.backend.start_login(GOOGLE).await;
    let completed = stack.completed_login(GOOGLE).await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let (used, used_code) = stack.unredeemed_code(GOOGLE).await;
    let token = stack.backend.token(&used, &used_code).await;
    let halfway = stack.halfway(Flow::Clean, GOOGLE).await;
    let demo = Browser::new();
    let home = stack.demo("/");
    demo.press_until(&home, &stack.demo("/login/google"), UNSERVED)
        .await;
    assert!(is_signed_in(&stack, &demo).await);
    let interactive = json!({ "mode": "interactive" });
    put(&stack, "/api/upstreams/google", interactive).await;
    stack.queue_misbehaviour(GOOGLE, Misbehaviour::Deny);
    let providers = "GET /api/providers".parse().expect("an operation");
    let fault = FaultInjection::next(providers, Fault::Refuse);
    stack.faults().arm(fault);
    let projects = get(&stack, "/api/projects").await;
    let last = stack.event_log().events(0, None).pop().expect("an event");

    let reset = stack.control(Method::POST, "/api/reset", None).await;
    reset.is(204, "");

    assert_eq!(stack.clock().advanced_ms(), 0);
    assert!(stack.event_log().events(0, None).is_empty());
    assert!(stack.event_log().exchange(&last.request_id).is_none());
    let requests = get(&stack, "/api/upstreams/google/requests").await;
    requests.is(200, "[]");
    assert_eq!(get(&stack, "/api/projects").await.text(), projects.text());
    assert_eq!(stack.backend.providers().await.status, 200, "no fault");
    let first = stack.event_log().events(0, None).remove(0);
    assert!(first.seq > last.seq, "a number is never used again");
    let backend = &stack.backend;
    backend.result(&completed.session_key).await.is_refusal(400);
    backend.redeem(&transaction, &code).await.is_refusal(400);
    assert_eq!(backend.profile(&token).await.status, 401);
    let page = halfway.deliver(&halfway.answer).await;
    let page = page.response.expect("a page");
    page.is_page(400, "This sign-in did not begin in this browser");
    let again = backend.start_with_key(&started.session_key, GOOGLE).await;
    assert_eq!(again.status, 200, "{}", again.text());
    assert!(!is_signed_in(&stack, &demo).await);
    for flow in FLOWS {
        for provider in PROVIDERS {
            stack.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    demo.press_until(&home, &stack.demo("/login/google"), UNSERVED)
        .await;
    assert!(is_signed_in(&stack, &demo).await);
}

async fn is_signed_in(stack: &TestStack, browser: &Browser) -> bool {
    let profile = stack.demo("/profile");
    browser.type_in(&profile).await.url == profile
}

#[tokio::test]
async fn logins_that_are_under_way_end_well_at_another_broker() {
    let stack = TestStack::start().await;
    let completed = stack.completed_login(GOOGLE).await;
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    let halfway = stack.halfway(Flow::Clean, GOOGLE).await;
    let before = stack.broker_url_without_proxy().await;

    let restarted = stack.control(Method::POST, "/api/broker/restart", None);
    restarted.await.is(204, "");

    assert_ne!(stack.broker_url_without_proxy().await, before);
    let backend = &stack.backend;
    assert_eq!(backend.result(&completed.session_key).await.status, 200);
    assert_eq!(backend.redeem(&transaction, &code).await.status, 200);
    let arrived = halfway.deliver(&halfway.answer).await;
    assert!(arrived.url.starts_with(UNSERVED), "{}", arrived.url);
}

#[tokio::test]
async fn a_guard_and_an_attack_of_a_lesson_end_with_a_reset() {
    let stack = TestStack::start().await;
    let control = &stack.urls().control;
    let send = async |path: &str, name: &str, value: &str| {
        let form = Http::at(control).post(path).header("Origin", control);
        form.form(&[(name, value)]).send().await.status
    };
    let is_asked = async || {
        let (home, start) = (stack.demo("/"), stack.demo("/login/google"));
        let attacker = Browser::new();
        let bait = attacker.press_until(&home, &start, stack.broker()).await;
        let lure = "https://evil.example/";
        let victim = Browser::new();
        let end = victim.follow_from(lure, &bait.url, UNSERVED).await;
        end.url.starts_with(stack.broker())
    };
    for guard in ["always", "off"] {
        assert_eq!(send("/do/guard", "guard", guard).await, 303, "{guard}");
    }
    assert!(!is_asked().await);
    assert_eq!(send("/do/attack", "flow", "clean").await, 303);
    let login = stack.event_log().logins(1).remove(0);
    assert_eq!(send("/do/attack/read", "login", &login).await, 303);
    for _ in 0..2 {
        let reset = stack.control(Method::POST, "/api/reset", None::<Value>);
        reset.await.is(204, "");
        assert_eq!(send("/do/attack/read", "login", &login).await, 404);
        assert!(is_asked().await);
    }
}

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
