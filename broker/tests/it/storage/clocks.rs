//! Two brokers on one database whose clocks differ by half a minute. Whatever is single
//! use stays single use. When something expires, each judges by its own clock, and an
//! end is written down by the broker that begins it.
//!
//! A spent upstream login is remembered for a minute after its end: that is by how much clocks
//! may differ before an upstream login could be spent twice.

use std::sync::Arc;

use broker::model::UnixMs;
use broker::model::login_session::{LoginOutcome, NotAdmitted};
use broker::store::{Consumed, Opened, Store};
use contract::{LoginError, Rule};

use super::bench::{
    Bench, Exchange, Read, ask, handle_of, login, redemption, token_of, upstream_login,
};
use crate::users::ada;

/// Half of what two brokers may be apart: at all of it, no code would live there.
const AHEAD_MS: i64 = 30_000;

/// The broker whose clock is ahead; the one of the bench has the right time.
struct Ahead(Arc<dyn Store>);

impl Ahead {
    async fn beside(bench: &Bench) -> Self {
        Self(bench.engine.open().await)
    }

    /// The time as it believes.
    fn now(&self, bench: &Bench) -> UnixMs {
        bench.now().plus_ms(AHEAD_MS)
    }

    async fn open(&self, bench: &Bench, key: u8) -> Opened {
        let now = self.now(bench);
        let login = login(key, handle_of(key), "ada", now);
        self.0.open(login, now).await.unwrap()
    }

    async fn consume_result(&self, bench: &Bench, key: u8) -> Read {
        let taken = self.0.consume_result(ask(key), self.now(bench)).await;
        taken.unwrap().into()
    }

    async fn redeem(&self, bench: &Bench, code: u8) -> Exchange {
        let now = self.now(bench);
        let redeemed = self.0.redeem(redemption(code, code, now), now).await;
        redeemed.unwrap().into()
    }

    async fn profile(&self, bench: &Bench, token: u8) -> Result<contract::Profile, Rule> {
        let now = self.now(bench);
        match self.0.token(token_of(token), now).await.unwrap() {
            Some(token) => token.open(now),
            None => Err(Rule::BearerKnown),
        }
    }

    async fn sweep(&self, bench: &Bench) {
        while self.0.sweep(self.now(bench)).await.unwrap() > 0 {}
    }
}

fn adas() -> Read {
    Read::Outcome(LoginOutcome::Succeeded(ada()))
}

pub(super) async fn a_result_is_taken_once_by_brokers_whose_clocks_differ(bench: Bench) {
    let ahead = Ahead::beside(&bench).await;
    for key in [1, 2] {
        bench.open(key).await;
        bench.finish(key).await;
    }
    bench.at_ms(569_999);
    assert_eq!(ahead.consume_result(&bench, 1).await, adas());
    assert_eq!(
        bench.consume_result(1).await,
        Read::Refused(Rule::ResultOnce)
    );
    bench.at_ms(570_000);
    let expired = ahead.consume_result(&bench, 2).await;
    assert_eq!(expired, Read::Refused(Rule::ResultExpiry), "it judges so");
    assert_eq!(
        bench.consume_result(2).await,
        adas(),
        "and the other otherwise"
    );
}

pub(super) async fn an_outcome_that_a_broker_ahead_erased_has_expired_for_all(bench: Bench) {
    let ahead = Ahead::beside(&bench).await;
    bench.open(1).await;
    bench.finish(1).await;
    bench.open(2).await;
    let denied = LoginOutcome::Failed(LoginError::AccessDenied);
    bench.complete(2, denied.clone()).await;
    bench.at_ms(570_000);
    ahead.sweep(&bench).await;
    for _ in 0..2 {
        assert_eq!(
            bench.consume_result(1).await,
            Read::Refused(Rule::ResultExpiry)
        );
    }
    let rejected = bench.find(1).await.unwrap().reject(bench.now());
    let is_over = matches!(rejected, NotAdmitted::Over { .. });
    assert!(is_over, "its browser goes back");
    assert_eq!(
        bench.consume_result(2).await,
        Read::Outcome(denied),
        "it is no profile"
    );
}

pub(super) async fn a_code_is_redeemed_once_by_brokers_whose_clocks_differ(bench: Bench) {
    let ahead = Ahead::beside(&bench).await;
    for code in [1, 2] {
        bench.issue(code).await;
    }
    bench.at_ms(29_999);
    assert_eq!(ahead.redeem(&bench, 1).await, Exchange::Token);
    assert_eq!(bench.redeem(1).await, Exchange::Refused(Rule::CodeOnce));
    assert_eq!(ahead.profile(&bench, 1).await, Err(Rule::BearerEnded));
    bench.at_ms(30_000);
    let expired = ahead.redeem(&bench, 2).await;
    assert_eq!(expired, Exchange::Refused(Rule::CodeExpiry), "it judges so");
    assert_eq!(bench.redeem(2).await, Exchange::Token);
    // A third, whose profile the broker ahead erases, is good for no token.
    bench.issue(3).await;
    bench.at_ms(60_000);
    ahead.sweep(&bench).await;
    let erased = bench.redeem(3).await;
    assert_eq!(erased, Exchange::Refused(Rule::CodeExpiry));
    bench.at_ms(929_999);
    assert_eq!(bench.profile(2).await, Ok(ada()));
    assert_eq!(ahead.profile(&bench, 2).await, Err(Rule::BearerExpiry));
}

pub(super) async fn an_upstream_login_is_spent_once_by_brokers_whose_clocks_differ(bench: Bench) {
    let ahead = Ahead::beside(&bench).await;
    let upstream_login = upstream_login(1, bench.now().plus_ms(600_000));
    assert_eq!(
        bench.consume_upstream_login(&upstream_login).await,
        Consumed::Now
    );
    bench.at_ms(599_999);
    ahead.sweep(&bench).await;
    assert_eq!(
        bench.consume_upstream_login(&upstream_login).await,
        Consumed::Before,
        "it still counts"
    );
}

/// The broker ahead believes that the first login has ended. Its key leads to one
/// login all the same.
pub(super) async fn a_key_belongs_to_one_login_whatever_the_clocks_say(bench: Bench) {
    let ahead = Ahead::beside(&bench).await;
    bench.open(1).await;
    bench.finish(1).await;
    bench.at_ms(569_999);
    assert_eq!(ahead.open(&bench, 1).await, Opened::KeyTaken);
    bench.at_ms(570_000);
    assert_eq!(ahead.open(&bench, 1).await, Opened::Fresh);
    assert_eq!(
        bench.consume_result(1).await,
        Read::Pending,
        "the first is gone"
    );
    assert_eq!(bench.open(1).await, Opened::KeyTaken);
    assert_eq!(bench.rows("logins").await, 1);
}
