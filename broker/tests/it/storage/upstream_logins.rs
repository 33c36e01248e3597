//! UpstreamLogins: spent once.

use broker::store::Consumed;

use super::bench::{Bench, upstream_login};

pub(super) async fn an_upstream_login_is_spent_once(bench: Bench) {
    let upstream_login = upstream_login(1, bench.now().plus_ms(600_000));
    assert_eq!(
        bench.consume_upstream_login(&upstream_login).await,
        Consumed::Now
    );
    assert_eq!(
        bench.consume_upstream_login(&upstream_login).await,
        Consumed::Before
    );
    assert_eq!(
        bench.consume_upstream_login(&upstream_login).await,
        Consumed::Before
    );
}

pub(super) async fn two_upstream_logins_are_spent_independently(bench: Bench) {
    let ends = bench.now().plus_ms(600_000);
    assert_eq!(
        bench.consume_upstream_login(&upstream_login(1, ends)).await,
        Consumed::Now
    );
    assert_eq!(
        bench.consume_upstream_login(&upstream_login(2, ends)).await,
        Consumed::Now
    );
    assert_eq!(
        bench.consume_upstream_login(&upstream_login(1, ends)).await,
        Consumed::Before
    );
}

pub(super) async fn an_upstream_login_that_comes_back_at_its_end_is_still_remembered(bench: Bench) {
    let upstream_login = upstream_login(1, bench.now().plus_ms(600_000));
    bench.consume_upstream_login(&upstream_login).await;
    bench.at_ms(599_999);
    bench.sweep().await;
    assert_eq!(
        bench.consume_upstream_login(&upstream_login).await,
        Consumed::Before
    );
}
