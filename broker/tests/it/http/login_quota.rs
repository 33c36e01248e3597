//! The quota of live login sessions of each project.

use contract::Rule;

use super::limits::{is_rate_limited, limited, many};
use crate::test_broker::{BOB_CALLBACK, BOB_SECRET, all, session_body, sign_in, with};

// Threats: A39.
#[tokio::test]
async fn of_thirty_concurrent_logins_as_many_start_as_the_quota_allows() {
    let broker = limited(|config| config.limits.live_sessions = many(10)).await;
    let mut keys = 0..30;
    let responses = all(30, || {
        let body = session_body(keys.next().unwrap());
        let broker = &broker;
        async move { broker.post("/v1/login/session", &body).await }
    })
    .await;
    let started = responses.iter().filter(|response| response.status == 200);
    assert_eq!(started.count(), 10);
    for refused in responses.iter().filter(|response| response.status != 200) {
        // The current second is not counted.
        is_rate_limited(refused, "601");
    }
    let refused = broker.events();
    let mut refused = refused.iter().filter(|event| event.status == Some(429));
    assert!(refused.all(|event| event.rule == Some(Rule::SessionQuota)));
}

// Threats: A39.
#[tokio::test]
async fn the_quota_is_freed_by_expiry_and_not_by_reading_the_result() {
    let broker = limited(|config| config.limits.live_sessions = many(2)).await;
    let start = async |key| broker.post("/v1/login/session", &session_body(key)).await;
    sign_in(&broker, 1).await;
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
    broker.advance_ms(300_000);
    assert_eq!(start(2).await.status, 200);
    is_rate_limited(&start(3).await, "301");
    broker.advance_ms(300_999);
    is_rate_limited(&start(3).await, "1");
    broker.advance_ms(1);
    assert_eq!(start(3).await.status, 200);
    is_rate_limited(&start(4).await, "300");
}

#[tokio::test]
async fn a_refused_login_uses_no_quota() {
    let broker = limited(|config| config.limits.live_sessions = many(2)).await;
    broker.session(1).await;
    for _ in 0..5 {
        let again = broker.post("/v1/login/session", &session_body(1)).await;
        again.is_refusal(400);
        assert_eq!(broker.last_rule(), Some("session_key.fresh"));
    }
    broker.session(2).await;
    is_rate_limited(
        &broker.post("/v1/login/session", &session_body(3)).await,
        "601",
    );
}

#[tokio::test]
async fn each_project_has_its_own_quota() {
    let broker = limited(|config| config.limits.live_sessions = many(1)).await;
    broker.session(1).await;
    broker
        .post("/v1/login/session", &session_body(2))
        .await
        .is_refusal(429);
    let bobs = with(session_body(3), "client_id", "prj_bob");
    let bobs = with(bobs, "client_secret", BOB_SECRET);
    broker
        .session_with(&with(bobs, "redirect_uri", BOB_CALLBACK))
        .await;
}
