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
    broker.has_status(1, "succeeded").await;
    // A refused login uses no quota.
    for _ in 0..5 {
        let again = start(1).await;
        broker.has_refused(&again, 400, "session_key.fresh");
    }
    broker.advance_ms(300_000);
    assert_eq!(start(2).await.status, 200);
    is_rate_limited(&start(3).await, "301");
    broker.advance_ms(300_999);
    is_rate_limited(&start(3).await, "1");
    broker.advance_ms(1);
    assert_eq!(start(3).await.status, 200);
    is_rate_limited(&start(4).await, "300");

    let bobs = with(session_body(5), "client_id", "prj_bob");
    let bobs = with(bobs, "client_secret", BOB_SECRET);
    let bobs = with(bobs, "redirect_uri", BOB_CALLBACK);
    // Each project has its own.
    broker.session_with(&bobs).await;
}
