//! Each time in a response, a cookie, an ID token or a journal is the stack's.

use std::sync::Arc;

use reqwest::Method;
use reqwest::header::SET_COOKIE;
use serde_json::{Value, json};
use stack::faults::{Fault, FaultInjection};

use super::direct::Direct;
use super::{BEGIN_MS, HOUR_MS, with_standing_clock};
use crate::demo::User;
use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::fresh;
use testkit::http::Response;

/// The advance of the clock before anything is read: no round number.
const MOVED_MS: i64 = 12_345_678;

async fn advanced_stack() -> TestStack {
    let stack = with_standing_clock().await;
    stack.advance_to(BEGIN_MS + MOVED_MS);
    stack
}

#[tokio::test]
async fn the_control_api_shows_the_time_of_the_stack() {
    let stack = advanced_stack().await;
    let clock = async |method, path, body| stack.control(method, path, body).await.json();
    let step = json!({ "seconds": 54.322 });
    let answers = [
        clock(Method::GET, "/api/clock", None).await,
        clock(Method::POST, "/api/clock/advance", Some(step)).await,
    ];
    assert_eq!(
        answers[0],
        json!({ "now": 1_790_012_345, "advanced_seconds": 12_345.678 })
    );
    assert_eq!(
        answers[1],
        json!({ "now": 1_790_012_400, "advanced_seconds": 12_400.0 })
    );
}

#[tokio::test]
async fn whatever_is_written_down_bears_the_time_of_the_stack() {
    let stack = advanced_stack().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            stack.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    let operation = "GET /api/providers".parse().expect("an operation");
    stack
        .faults()
        .arm(FaultInjection::next(operation, Fault::Html502));
    assert_eq!(stack.backend.providers().await.status, 502);

    for (path, least) in [
        ("/api/events", 25),
        ("/api/logins", 10),
        ("/api/upstreams/google/requests", 5),
        ("/api/upstreams/github/requests", 5),
    ] {
        let answer = stack.control(Method::GET, path, None).await.json();
        let times = all_named("at", &answer);
        assert!(times.len() >= least, "{path} shows {} times", times.len());
        let others = times.iter().find(|at| **at != BEGIN_MS + MOVED_MS);
        assert_eq!(others, None, "{path}");
    }
}

#[tokio::test]
async fn tokens_of_the_imitated_providers_bear_the_time_of_the_stack() {
    let stack = advanced_stack().await;
    let now_seconds = stack.now_ms() / 1000;
    let claims = Direct::to(&stack, GOOGLE).claims().await;
    assert_eq!(claims["iat"], now_seconds);
    assert_eq!(claims["exp"], now_seconds + 3600);

    let github = Direct::to(&stack, GITHUB);
    let response = github.who_is(&github.access_token().await).await;
    let resets_seconds = (stack.now_ms() + HOUR_MS) / 1000;
    assert_eq!(
        response.header("x-ratelimit-reset"),
        Some(&*resets_seconds.to_string())
    );
}

#[tokio::test]
async fn lifetimes_in_responses_do_not_change_with_time() {
    for stack in [with_standing_clock().await, advanced_stack().await] {
        let started = stack.backend.start_with_key(&fresh::secret(), GOOGLE).await;
        assert_eq!(started.json()["expires_in"], 600);
        let (transaction, code) = stack.unredeemed_code(GITHUB).await;
        let redeemed = stack.backend.redeem(&transaction, &code).await;
        assert_eq!(redeemed.json()["expires_in"], 900);
        let upstream_login = stack.halfway(Flow::Clean, GOOGLE).await;
        let redirect = upstream_login
            .browser
            .last_step_to(upstream_login.login.url());
        assert_eq!(max_age_seconds(&redirect.response), [1200]);
    }
}

#[tokio::test]
async fn the_demo_shows_the_time_of_a_sign_in_by_the_stacks_clock() {
    let stack = with_standing_clock().await;
    let browser = Arc::new(Browser::new());
    let user = User::with(&stack, &browser);
    user.sign_in(Flow::Clean, GOOGLE).await;
    stack.advance_to(BEGIN_MS + HOUR_MS);
    let page = user.sign_in(Flow::Clean, GOOGLE).await;
    let page = page.response.expect("a page");
    let page = page.text();
    assert!(
        page.contains(r#"data-field="firstSeen">2026-09-21 14:13 UTC<"#),
        "{page}"
    );
    assert!(
        page.contains(r#"data-field="lastSeen">2026-09-21 15:13 UTC<"#),
        "{page}"
    );
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

/// The `Max-Age` of each cookie that is set.
fn max_age_seconds(response: &Response) -> Vec<u32> {
    let cookies = response.headers.get_all(SET_COOKIE).iter();
    cookies
        .map(|cookie| {
            let cookie = cookie.to_str().expect("our cookies are ASCII");
            let (_, age) = cookie.split_once("; Max-Age=").expect("it says how long");
            let age = age.split(';').next().expect("a first part");
            age.parse().expect("seconds")
        })
        .collect()
}
