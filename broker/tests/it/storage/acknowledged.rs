//! One of everything that a store acknowledges, and that it is there later.

use broker::model::login_session::LoginOutcome;
use broker::model::upstream_login::UpstreamLogin;
use broker::store::{Completed, Consumed, Opened};
use contract::Rule;

use super::bench::{Bench, Exchange, Read, upstream_login};
use crate::users::ada;

fn spent_upstream_login(bench: &Bench) -> UpstreamLogin {
    upstream_login(1, bench.now().plus_ms(600_000))
}

/// Takes every step, one after the other.
pub(super) async fn happens(bench: &Bench) {
    for key in [1, 2, 3] {
        bench.open(key).await;
    }
    bench.bind_browser(1, 1).await;
    bench.finish(2).await;
    bench.finish(3).await;
    bench.consume_result(3).await;
    bench
        .consume_upstream_login(&spent_upstream_login(bench))
        .await;
    for code in [1, 2, 3] {
        bench.issue(code).await;
    }
    bench.redeem(2).await;
    bench.redeem(3).await;
    bench.revoke(3).await;
}

/// Checks that each step stands, on a store that was opened since.
pub(super) async fn is_there(bench: &Bench) {
    assert_eq!(bench.open_with(1, 9, "ada").await, Opened::KeyTaken);
    assert!(bench.is_granted(1, 1).await, "its browser is remembered");
    assert!(!bench.is_granted(1, 2).await);
    assert_eq!(bench.finish(1).await, Completed::Now);
    assert_eq!(
        bench.consume_result(2).await,
        Read::Outcome(LoginOutcome::Succeeded(ada()))
    );
    assert_eq!(
        bench.consume_result(3).await,
        Read::Refused(Rule::ResultOnce)
    );
    assert_eq!(
        bench
            .consume_upstream_login(&spent_upstream_login(bench))
            .await,
        Consumed::Before
    );
    assert_eq!(bench.redeem(1).await, Exchange::Token);
    assert_eq!(bench.profile(2).await, Ok(ada()));
    assert_eq!(bench.redeem(2).await, Exchange::Refused(Rule::CodeOnce));
    assert_eq!(bench.profile(3).await, Err(Rule::BearerEnded));
}
