//! The time that the proxy adds to a call: one client on one connection calls the broker
//! directly and through the proxy in turn, because only times of one run can be compared.

use std::io::Write as _;
use std::time::{Duration, Instant};

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use stack::{Stack, StackSettings};
use testkit::http::client;

/// The number of measured calls of each, after as many to warm up.
const ROUNDS: usize = 5_000;

#[tokio::main]
async fn main() {
    let stack = Stack::start(StackSettings::for_tests())
        .await
        .expect("free ports");
    let (direct, proxied) = (
        stack.broker_url_without_proxy().await,
        stack.urls().broker.clone(),
    );
    let (client, result) = (client(), pending_login(&stack).await);
    let list = |broker: &str| client.get(format!("{broker}/api/providers"));
    let read = |broker: &str| {
        client
            .post(format!("{broker}/v1/login/result"))
            .json(&result)
    };
    say("", "broker alone", "through the proxy", "added");
    compare("GET /api/providers", list(&direct), list(&proxied)).await;
    compare(
        "POST /v1/login/result (pending)",
        read(&direct),
        read(&proxied),
    )
    .await;
    stack.stop().await;
}

/// Starts a login that stays pending, and returns the body that reads its result.
async fn pending_login(stack: &Stack) -> Value {
    let project = stack.projects().list().remove(0);
    let mut body = json!({
        "client_id": project.client_id,
        "client_secret": project.client_secret,
        "session_key": "A".repeat(43),
        "redirect_uri": project.redirect_uris[0],
    });
    let question = body.clone();
    body["provider"] = "google".into();
    let start = format!("{}/v1/login/session", stack.urls().broker);
    let answer = client()
        .post(start)
        .json(&body)
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 200);
    question
}

async fn compare(what: &str, direct: RequestBuilder, proxied: RequestBuilder) {
    for _ in 0..ROUNDS {
        time(&direct).await;
        time(&proxied).await;
    }
    let (mut alone, mut through) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(time(&direct).await);
        through.push(time(&proxied).await);
    }
    let (alone, through) = (median(alone), median(through));
    let added = through.saturating_sub(alone);
    say(what, &micros(alone), &micros(through), &micros(added));
}

/// The time of one call, to the end of its response.
#[expect(clippy::disallowed_methods, reason = "measures")]
async fn time(request: &RequestBuilder) -> Duration {
    let request = request.try_clone().expect("a body in memory");
    let start = Instant::now();
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    answer.bytes().await.expect("a whole answer");
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

fn say(what: &str, alone: &str, through: &str, added: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{what:<34}{alone:>14}{through:>18}{added:>12}");
}
