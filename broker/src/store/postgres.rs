//! PostgreSQL, for several brokers on one database.
//!
//! [`pool`] lends the connections. Each step is one statement, or one transaction of
//! two, at `READ COMMITTED`: a second `UPDATE` of a row waits for the first and then
//! evaluates its condition again, so that one of many concurrent steps changes the
//! row and the others change nothing. Where a database undoes one of the two instead
//! (a serialization failure, a deadlock), that step is taken again.

pub(super) mod url;

mod attempts;
mod error_message;
mod executor;
mod pool;
mod settings;
mod tls;

use async_trait::async_trait;
use contract::Digest;

use super::error::{StoreError, check_version};
use super::executor::{Executor as _, parameters};
use super::fail_points::FailPoints;
use super::interface::Store;
use super::outcome::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead};
use super::steps;
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery,
};
use crate::model::upstream_login::UpstreamLogin;
use crate::model::{LoginId, UnixMs};
use attempts::repeat;
use error_message::StepError;
use executor::PostgresExecutor;
use pool::Pool;
use url::PostgresUrl;

/// Held while one broker sweeps: two that deleted the same rows in another order
/// would wait for each other.
const SWEEP_LOCK: i64 = 0x0F51_0002;

/// The store of several brokers.
pub struct Postgres(Pool);

impl Postgres {
    /// A store at `url`. It connects when it is first needed, and again whenever
    /// the database comes back.
    ///
    /// # Errors
    ///
    /// If the certificate authorities that the address names cannot be read.
    pub fn at(url: &PostgresUrl, fail_points: FailPoints) -> Result<Self, StoreError> {
        Pool::to(url, fail_points).map(Self)
    }
}

#[async_trait]
impl Store for Postgres {
    async fn ready(&self) -> Result<(), StoreError> {
        repeat!(self.0.run(async |db| {
            check_version(pool::version(db).await?)?;
            pool::check_writable(db).await
        }))
    }

    async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT AS now";
        let read = async |db: &PostgresExecutor<'_>| db.one(NOW, &[], |row| row.time("now")).await;
        repeat!(self.0.run(read)).map(Option::flatten)
    }

    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        repeat!(self.0.run(async |db| steps::open(db, &login, now).await))
    }

    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError> {
        repeat!(self.0.run(async |db| steps::find(db, handle, now).await))
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        repeat!(
            self.0
                .run(async |db| steps::bind_browser(db, handle, browser, now).await)
        )
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        let (id, known_until) = (upstream_login.id(), upstream_login.known_until());
        repeat!(
            self.0
                .run(async |db| steps::consume_upstream_login(db, id, known_until).await)
        )
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        repeat!(
            self.0
                .run(async |db| steps::complete(db, handle, &outcome, now).await)
        )
    }

    async fn consume_result(
        &self,
        ask: ResultQuery,
        now: UnixMs,
    ) -> Result<ResultRead, StoreError> {
        repeat!(
            self.0
                .transact(async |db| steps::consume_result(db, &ask, now).await)
        )
    }

    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError> {
        repeat!(self.0.run(async |db| steps::issue(db, &grant).await))
    }

    async fn redeem(&self, redemption: Redemption, now: UnixMs) -> Result<Redeemed, StoreError> {
        repeat!(
            self.0
                .run(async |db| steps::redeem(db, &redemption, now).await)
        )
    }

    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError> {
        repeat!(self.0.run(async |db| steps::token(db, token, now).await))
    }

    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError> {
        repeat!(self.0.run(async |db| steps::revoke(db, token).await))
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        let sweep = async |db: &PostgresExecutor<'_>| match is_sweeper(db).await? {
            true => steps::sweep(db, now).await,
            false => Ok(0),
        };
        repeat!(self.0.transact(sweep))
    }
}

/// Whether this broker holds the lock for sweeping, until its transaction ends.
async fn is_sweeper(db: &PostgresExecutor<'_>) -> Result<bool, StepError> {
    const TRY: &str = "SELECT WHERE pg_try_advisory_xact_lock($1::BIGINT::INT, \
                       hashtext(current_schema()))";
    Ok(db.change(TRY, parameters![SWEEP_LOCK]).await? == 1)
}
