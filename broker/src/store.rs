//! Everything that must be single-use, and nothing else.
//!
//! Only the store decides which of two requests came first: each step is one atomic
//! statement (or one transaction around it), committed before it returns, and on disk then if
//! it must not happen twice. `now` is always an argument, and secrets arrive as digests.
//!
//! A [`Store`] takes its steps on an engine, `sqlite` or `postgres`. `steps` takes
//! the decisions once for both, on the statements of `sql`; [`outcome`] has the results.

pub mod fail_points;
pub mod outcome;

mod postgres;
mod sqlite;

pub(crate) mod step_queue;

mod row;
mod sql;
mod steps;
mod url;

use std::sync::Arc;

use contract::Digest;

use crate::clock::{Clock, Stopwatch};
use crate::metrics::Metrics;
use crate::model::UnixMs;
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery,
};
use crate::model::upstream_login::UpstreamLogin;
use fail_points::FailPoints;
use postgres::executor::PostgresExecutor;
use postgres::{Postgres, repeat};
use sqlite::Sqlite;
use sqlite::executor::poll_once;
use step_queue::StepQueue;

pub use outcome::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Revoked, StoreError};
pub use postgres::url::PostgresUrl;
pub use url::StoreUrl;

/// The steps that must happen once, in the words of the state diagrams in
/// [`model`](crate::model). Clones share one database.
#[derive(Clone)]
pub struct Store {
    engine: Arc<Engine>,
    instruments: Instruments,
}

enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// The means by which a broker measures the steps that it takes.
#[derive(Clone, Default)]
pub(crate) struct Instruments {
    /// Counts the steps that commit, while they wait: a read of a file waits for none of
    /// them, and would hide how long they take.
    pub(crate) queue: Arc<StepQueue>,
    /// The durations and results of all of them.
    pub(crate) metrics: Option<Metrics>,
}

/// Opens the store at `url`, whose steps report to `fail_points`.
///
/// # Errors
///
/// If the store cannot be opened. A PostgreSQL database that cannot be reached is
/// no error here: its steps fail until it can.
pub fn open(url: &StoreUrl, fail_points: FailPoints) -> Result<Store, StoreError> {
    let engine = match url {
        StoreUrl::Postgres(url) => Engine::Postgres(Postgres::at(url, fail_points)?),
        StoreUrl::SqliteMemory => Engine::Sqlite(Sqlite::in_memory(fail_points)?),
        StoreUrl::SqliteFile(path) => Engine::Sqlite(Sqlite::at(path, fail_points)?),
    };
    Ok(Store {
        engine: Arc::new(engine),
        instruments: Instruments::default(),
    })
}

/// A future that takes a step on the store's engine: by the first method on SQLite, by the
/// second on PostgreSQL.
macro_rules! on_engine {
    ($store:ident, $sqlite:ident or $postgres:ident, |$db:ident| $step:expr) => {
        async {
            match &*$store.engine {
                Engine::Sqlite(it) => it.$sqlite(move |$db| poll_once($step)).await,
                Engine::Postgres(it) => {
                    repeat!(it.$postgres(async |$db: &PostgresExecutor<'_>| $step.await))
                }
            }
        }
    };
}

impl Store {
    /// The same store for one broker, which measures its own steps.
    pub(crate) fn measured(self, instruments: Instruments) -> Self {
        Self {
            instruments,
            ..self
        }
    }

    /// Checks that a step would succeed now.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let ready = async {
            match &*self.engine {
                Engine::Sqlite(it) => it.ready().await,
                Engine::Postgres(it) => it.ready().await,
            }
        };
        self.read("ready", ready).await
    }

    /// The time of the store's own clock, if it has one that several brokers
    /// share.
    pub async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        let time = async {
            match &*self.engine {
                Engine::Sqlite(_) => Ok(None),
                Engine::Postgres(it) => it.time().await,
            }
        };
        self.read("time", time).await
    }

    /// Stores a pending login, unless its session key is taken. A key is free again
    /// when its login has ended.
    pub async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        let open = on_engine!(self, commit_early or run, |db| steps::open(db, &login, now));
        self.commit("open", open).await
    }

    /// Returns the login behind an authorization URL. Changes nothing.
    pub async fn find(
        &self,
        handle: Digest,
        now: UnixMs,
    ) -> Result<Option<LoginSession>, StoreError> {
        let find = on_engine!(self, read or run, |db| steps::find(db, handle, now));
        self.read("find", find).await
    }

    /// Binds a pending login to a browser: the first one, and that one again.
    pub async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        let bind = on_engine!(self, commit_early or run, |db| steps::bind_browser(db, handle, browser, now));
        self.commit("bind_browser", bind).await
    }

    /// Ends a pending login as denied by the user, in a browser that could be bound to it. One
    /// statement: a browser that loses the answer holds no cookie, and could not come back to a
    /// login that is bound and not ended.
    pub async fn cancel(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        let cancel = on_engine!(self, commit or run, |db| steps::cancel(db, handle, browser, now));
        self.commit("cancel", cancel).await
    }

    /// Consumes an upstream login that has not ended yet, for the first caller only.
    pub async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        let (id, end) = (upstream_login.id(), upstream_login.known_until());
        let consume =
            on_engine!(self, commit_early or run, |db| steps::consume_upstream_login(db, id, end));
        self.commit("consume_upstream_login", consume).await
    }

    /// Gives a pending login its outcome. A second outcome changes nothing.
    pub async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        let complete =
            on_engine!(self, commit or run, |db| steps::complete(db, handle, &outcome, now));
        self.commit("complete", complete).await
    }

    /// Reads the outcome of a login and consumes it: no later call returns it.
    pub async fn consume_result(
        &self,
        ask: ResultQuery,
        now: UnixMs,
    ) -> Result<ResultRead, StoreError> {
        let consume = on_engine!(self, commit or run, |db| steps::consume_result(db, &ask, now));
        self.commit("consume_result", consume).await
    }

    /// Stores a grant under the digest of its handoff code.
    pub async fn issue(&self, grant: NewGrant) -> Result<(), StoreError> {
        let issue = on_engine!(self, commit or run, |db| steps::issue(db, &grant));
        self.commit("issue", issue).await
    }

    /// Turns a code into a token, once. A second valid redemption ends the token.
    pub async fn redeem(
        &self,
        redemption: Redemption,
        now: UnixMs,
    ) -> Result<Redeemed, StoreError> {
        let redeem = on_engine!(self, commit or run, |db| steps::redeem(db, &redemption, now));
        self.commit("redeem", redeem).await
    }

    /// Returns the stored access token with this digest.
    pub async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError> {
        let find = on_engine!(self, read or run, |db| steps::token(db, token, now));
        self.read("token", find).await
    }

    /// Ends an access token, known or not.
    pub async fn revoke(&self, token: Digest, now: UnixMs) -> Result<Revoked, StoreError> {
        let revoke = on_engine!(self, commit or run, |db| steps::revoke(db, token, now));
        self.commit("revoke", revoke).await
    }

    /// Deletes a bounded number of rows that no rule can see any more, and erases
    /// profiles whose time is over. Returns the number of rows it touched.
    pub async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        let sweep = on_engine!(self, commit_early or transact, |db| steps::sweep(db, now));
        self.commit("sweep", sweep).await
    }

    /// Takes a step that commits.
    async fn commit<T>(
        &self,
        name: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let waiting = self.instruments.queue.enter();
        let result = self.read(name, step).await;
        waiting.end();
        result
    }

    async fn read<T>(
        &self,
        name: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let stopwatch = Stopwatch::start();
        let result = step.await;
        if let Some(metrics) = &self.instruments.metrics {
            metrics.observe_store_step(name, stopwatch.elapsed(), &result);
        }
        result
    }

    /// Checks that `clock` agrees with the store's own, if that has one. Rows hold times by
    /// the clock of the broker that wrote them, and every broker checks and sweeps them by
    /// its own. The offset of a clock that was advanced by hand is intended and does not
    /// count.
    pub(crate) async fn check_skew(&self, clock: &Clock) -> Result<(), StoreError> {
        let Some(theirs) = self.time().await? else {
            return Ok(());
        };
        let ours = clock.now().plus_ms(-clock.advanced_ms());
        check_difference(ours.0.saturating_sub(theirs.0))
    }
}

/// The largest difference between a broker's clock and its database's, in
/// milliseconds. Two brokers differ by at most twice as much: no more than a
/// consumed upstream login is remembered beyond its end, or one broker could forget
/// it while it still counts at another.
const MAX_SKEW_MS: i64 = 30_000;
const _: () = assert!(2 * MAX_SKEW_MS <= UpstreamLogin::REMEMBERED_MS);

fn check_difference(ahead_ms: i64) -> Result<(), StoreError> {
    if ahead_ms.saturating_abs() > MAX_SKEW_MS {
        return Err(StoreError::ClockDiffers {
            ahead_ms,
            allowed_ms: MAX_SKEW_MS,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Threats: L3.
    #[test]
    fn clocks_may_differ_by_thirty_seconds_and_no_more() {
        for allowed in [0, MAX_SKEW_MS, -MAX_SKEW_MS] {
            assert!(check_difference(allowed).is_ok(), "{allowed} ms");
        }
        let allowed = "the database's, and may differ by 30 s";
        for (ahead_ms, difference) in [
            (30_001, "is 30 s ahead of"),
            (-3_600_000, "is 3600 s behind"),
        ] {
            let error = check_difference(ahead_ms).expect_err("too much");
            let message = error.to_string();
            assert!(
                message.contains(&format!("{difference} {allowed}")),
                "{message}"
            );
        }
    }
}
