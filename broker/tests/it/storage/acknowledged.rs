//! One of everything that a store acknowledges, and the check that it is stored.

use broker::model::upstream_login::UpstreamLogin;
use broker::store::{Completed, Consumed, Opened};
use contract::Rule;

use super::test_store::{CONSUMED, Exchange, TestStore, adas_profile, upstream_login};
use crate::test_broker::ada;

fn consumed_upstream_login(store: &TestStore) -> UpstreamLogin {
    upstream_login(1, store.now().plus_ms(600_000))
}

/// Takes every step, one after the other.
pub(super) async fn take_every_step(store: &TestStore) {
    for key in [1, 2, 3] {
        store.open(key).await;
    }
    store.bind_browser(1, 1).await;
    store.succeed(2).await;
    store.succeed(3).await;
    store.consume_result(3).await;
    store
        .consume_upstream_login(&consumed_upstream_login(store))
        .await;
    for code in [1, 2, 3] {
        store.issue(code).await;
    }
    store.redeem(2).await;
    store.redeem(3).await;
    store.revoke(3).await;
}

/// Checks the effect of each step, on a store that was opened since.
pub(super) async fn assert_every_step_is_stored(store: &TestStore) {
    assert_eq!(store.open_with(1, 9, "ada").await, Opened::KeyTaken);
    assert!(store.is_granted(1, 1).await, "its browser is remembered");
    assert!(!store.is_granted(1, 2).await);
    assert_eq!(store.succeed(1).await, Completed::Now);
    assert_eq!(store.consume_result(2).await, adas_profile());
    assert_eq!(store.consume_result(3).await, CONSUMED);
    assert_eq!(
        store
            .consume_upstream_login(&consumed_upstream_login(store))
            .await,
        Consumed::Before
    );
    assert_eq!(store.redeem(1).await, Exchange::Token);
    assert_eq!(store.profile(2).await, Ok(ada()));
    assert_eq!(store.redeem(2).await, Exchange::Refused(Rule::CodeOnce));
    assert_eq!(store.profile(3).await, Err(Rule::BearerEnded));
}
