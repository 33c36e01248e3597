//! PostgreSQL, for several brokers on one database.
//!
//! [`pool`] lends the connections. Each step is one statement, or one transaction of
//! two, at `READ COMMITTED`: a second `UPDATE` of a row waits for the first and then
//! evaluates its condition again, so that one of many concurrent steps changes the
//! row and the others change nothing.

mod error_message;
mod executor;
mod pool;
pub(super) mod url;

use async_trait::async_trait;
use contract::Digest;
use deadpool_postgres::{Object, Transaction};

use super::error::{StoreError, check_version};
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
use executor::PostgresExecutor;
use pool::Pool;
use url::PostgresUrl;

/// Held while one broker sweeps: two that deleted the same rows in another order
/// would wait for each other.
const SWEEP_LOCK: i32 = 0x0F51_0002;

/// The store of several brokers.
pub struct Postgres(Pool);

impl Postgres {
    /// A store at `url`. It connects when it is first needed, and again whenever
    /// the database comes back.
    ///
    /// # Errors
    ///
    /// If the driver rejects the address.
    pub fn at(url: &PostgresUrl, fail_points: FailPoints) -> Result<Self, StoreError> {
        Pool::to(url, fail_points).map(Self)
    }
}

#[async_trait]
impl Store for Postgres {
    async fn ready(&self) -> Result<(), StoreError> {
        self.0
            .run(async |client| check_version(pool::version(client).await?))
            .await
    }

    async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT AS now";
        let read = async |client: &Object| Ok(client.query_one(NOW, &[]).await?.get("now"));
        self.0.run(read).await.map(|now| Some(UnixMs(now)))
    }

    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        self.0
            .run(async |client| steps::open(&self.executor(client), &login, now).await)
            .await
    }

    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError> {
        self.0
            .run(async |client| steps::find(&self.executor(client), handle, now).await)
            .await
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        self.0
            .run(async |client| {
                steps::bind_browser(&self.executor(client), handle, browser, now).await
            })
            .await
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        let (id, known_until) = (upstream_login.id(), upstream_login.known_until());
        self.0
            .run(async |client| {
                steps::consume_upstream_login(&self.executor(client), id, known_until).await
            })
            .await
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        self.0
            .run(async |client| {
                steps::complete(&self.executor(client), handle, &outcome, now).await
            })
            .await
    }

    async fn consume_result(
        &self,
        ask: ResultQuery,
        now: UnixMs,
    ) -> Result<ResultRead, StoreError> {
        self.0
            .transact(async |transaction| {
                steps::consume_result(&self.executor(transaction), &ask, now).await
            })
            .await
    }

    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError> {
        self.0
            .run(async |client| steps::issue(&self.executor(client), &grant).await)
            .await
    }

    async fn redeem(&self, redemption: Redemption, now: UnixMs) -> Result<Redeemed, StoreError> {
        self.0
            .run(async |client| steps::redeem(&self.executor(client), &redemption, now).await)
            .await
    }

    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError> {
        self.0
            .run(async |client| steps::token(&self.executor(client), token, now).await)
            .await
    }

    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError> {
        self.0
            .run(async |client| steps::revoke(&self.executor(client), token).await)
            .await
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        self.0
            .transact(async |transaction| match is_sweeper(transaction).await? {
                true => steps::sweep(&self.executor(transaction), now).await,
                false => Ok(0),
            })
            .await
    }
}

impl Postgres {
    fn executor<'a, C>(&'a self, client: &'a C) -> PostgresExecutor<'a, C> {
        PostgresExecutor {
            client,
            fail_points: self.0.fail_points(),
        }
    }
}

/// Whether this broker holds the lock for sweeping, until its transaction ends.
async fn is_sweeper(transaction: &Transaction<'_>) -> Result<bool, StoreError> {
    const TRY: &str = "SELECT pg_try_advisory_xact_lock($1, hashtext(current_schema())) AS ours";
    let lock = transaction.query_one(TRY, &[&SWEEP_LOCK]).await?;
    Ok(lock.get("ours"))
}
