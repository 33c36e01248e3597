//! Upstream logins: consumed once, and remembered until after their end.

use broker::store::Consumed;

use super::test_store::{TestStore, upstream_login};

pub(super) async fn each_upstream_login_is_consumed_once(store: TestStore) {
    let ends = store.now().plus_ms(600_000);
    for (seed, consumed) in [
        (1, Consumed::Now),
        (1, Consumed::Before),
        (2, Consumed::Now),
        (1, Consumed::Before),
    ] {
        let upstream_login = upstream_login(seed, ends);
        assert_eq!(
            store.consume_upstream_login(&upstream_login).await,
            consumed
        );
    }
}
