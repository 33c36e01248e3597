//! PostgreSQL, for several brokers on one database.
//!
//! The steps are here; [`pool`] lends the connections. Each step is one
//! statement, or one transaction of two, at `READ COMMITTED`: a second `UPDATE`
//! of a row waits for the first and then looks at its condition again, so that
//! of many at once one changes the row and the others change nothing.

mod complaint;
mod pool;
pub(super) mod url;

use async_trait::async_trait;
use contract::{Digest, Rule};
use deadpool_postgres::{GenericClient, Object, Transaction};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::fail_points::{FailPoint, FailPoints};
use super::row::{self, Columns, Unreadable, outcome_columns, profile_text};
use super::sql;
use super::{
    Bound, Completed, Consumed, Opened, PostgresUrl, Redeemed, ResultRead, Store, StoreError,
    check_version,
};
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{Ask, BrowserBinding, LoginOutcome, LoginSession, NewLogin};
use crate::model::upstream_login::UpstreamLogin;
use crate::model::{LoginId, UnixMs};
use pool::Pool;

/// Held while one broker sweeps: two that deleted the same rows in another order
/// would wait for each other.
const SWEEP_LOCK: i32 = 0x0F51_0002;

/// The store of several brokers.
pub struct Postgres(Pool);

/// What a statement is asked with, in the order of its parameters.
type Asked<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Postgres {
    /// A store at `url`. It connects when it is first needed, and again whenever
    /// the database comes back.
    ///
    /// # Errors
    ///
    /// When the address is not one.
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

    async fn open(&self, new: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        let session = &new.session;
        let asked: Asked<'_> = &[
            &bytes(&new.key),
            &bytes(&new.handle),
            &session.login.as_str(),
            &session.project.as_str(),
            &session.redirect_uri.as_str(),
            &session.provider.as_str(),
            &session.ends.0,
            &session.known_until.0,
            &now.0,
        ];
        let rows = self
            .0
            .run(async |client| change(client, sql::OPEN, asked).await)
            .await?;
        Ok(if rows == 1 {
            Opened::Fresh
        } else {
            Opened::KeyTaken
        })
    }

    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError> {
        self.0
            .run(async |client| find(client, handle, now).await)
            .await
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        let asked: Asked<'_> = &[&bytes(&browser.0), &bytes(&handle), &now.0];
        self.0
            .run(async |client| {
                match one(client, sql::BIND_BROWSER, asked, row::login_session).await? {
                    Some(session) => Ok(Bound::Granted(session)),
                    None => find(client, handle, now).await.map(Bound::Refused),
                }
            })
            .await
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        let (id, known_until) = (upstream_login.id(), upstream_login.known_until());
        let asked: Asked<'_> = &[&bytes(&id), &known_until.0];
        let rows = self
            .0
            .run(async |client| change(client, sql::CONSUME_UPSTREAM_LOGIN, asked).await)
            .await?;
        Ok(if rows == 1 {
            Consumed::Now
        } else {
            Consumed::Before
        })
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        let (profile, error) = outcome_columns(&outcome);
        let asked: Asked<'_> = &[&profile, &error, &bytes(&handle), &now.0];
        let rows = self
            .0
            .run(async |client| change(client, sql::COMPLETE, asked).await)
            .await?;
        Ok(if rows == 1 {
            Completed::Now
        } else {
            Completed::TooLate
        })
    }

    async fn consume_result(&self, ask: Ask, now: UnixMs) -> Result<ResultRead, StoreError> {
        self.0
            .transact(async |transaction| {
                consume_result(transaction, &ask, now, self.0.fail_points()).await
            })
            .await
    }

    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError> {
        let asked: Asked<'_> = &[
            &bytes(&grant.code),
            &grant.login.as_str(),
            &grant.project.as_str(),
            &bytes(&grant.callback),
            &grant.challenge.as_str(),
            &profile_text(&grant.profile),
            &grant.code_ends.0,
            &grant.known_until.0,
        ];
        self.0
            .run(async |client| change(client, sql::ISSUE, asked).await)
            .await
            .map(drop)
    }

    async fn redeem(&self, ask: Redemption, now: UnixMs) -> Result<Redeemed, StoreError> {
        self.0
            .run(async |client| redeem(client, &ask, now).await)
            .await
    }

    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError> {
        let asked: Asked<'_> = &[&bytes(&token), &now.0];
        self.0
            .run(async |client| one(client, sql::FIND_TOKEN, asked, row::token).await)
            .await
    }

    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError> {
        let asked: Asked<'_> = &[&bytes(&token)];
        self.0
            .run(async |client| one(client, sql::REVOKE, asked, row::login).await)
            .await
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        self.0
            .transact(async |transaction| sweep(transaction, now).await)
            .await
    }
}

async fn find(
    client: &impl GenericClient,
    handle: Digest,
    now: UnixMs,
) -> Result<Option<LoginSession>, StoreError> {
    one(
        client,
        sql::FIND,
        &[&bytes(&handle), &now.0],
        row::login_session,
    )
    .await
}

async fn consume_result(
    transaction: &Transaction<'_>,
    ask: &Ask,
    now: UnixMs,
    fail_points: &FailPoints,
) -> Result<ResultRead, StoreError> {
    let asked: Asked<'_> = &[
        &bytes(&ask.key),
        &ask.project.as_str(),
        &ask.redirect_uri.as_str(),
        &now.0,
    ];
    match one(transaction, sql::CONSUME_RESULT, asked, row::outcome).await? {
        Some(outcome) => {
            fail_points.reached(FailPoint::AfterRead);
            change(transaction, sql::ERASE_TAKEN, &[&bytes(&ask.key)]).await?;
            Ok(ResultRead::Outcome(outcome))
        }
        None => {
            let known: Asked<'_> = &[&bytes(&ask.key), &now.0];
            let session = one(transaction, sql::FIND_BY_KEY, known, row::login_session).await?;
            Ok(ResultRead::explained(session, ask, now))
        }
    }
}

async fn redeem(
    client: &impl GenericClient,
    ask: &Redemption,
    now: UnixMs,
) -> Result<Redeemed, StoreError> {
    let asked: Asked<'_> = &[
        &bytes(&ask.token),
        &ask.token_ends.0,
        &ask.known_until.0,
        &bytes(&ask.code),
        &ask.project.as_str(),
        &bytes(&ask.callback),
        &ask.challenge.as_str(),
        &now.0,
    ];
    if let Some(login) = one(client, sql::REDEEM, asked, row::login).await? {
        return Ok(Redeemed::Token(login));
    }
    let replayed: Asked<'_> = &[
        &bytes(&ask.code),
        &ask.project.as_str(),
        &bytes(&ask.callback),
        &ask.challenge.as_str(),
        &now.0,
    ];
    if let Some(login) = one(client, sql::END_REPLAYED, replayed, row::login).await? {
        return Ok(Redeemed::Refused(Rule::CodeOnce, Some(login)));
    }
    let known: Asked<'_> = &[&bytes(&ask.code), &now.0];
    let grant = one(client, sql::FIND_GRANT, known, row::grant).await?;
    Ok(Redeemed::explained(grant, ask))
}

async fn sweep(transaction: &Transaction<'_>, now: UnixMs) -> Result<usize, StoreError> {
    const TRY: &str = "SELECT pg_try_advisory_xact_lock($1, hashtext(current_schema())) AS ours";
    let lock = transaction.query_one(TRY, &[&SWEEP_LOCK]).await?;
    if !lock.get::<_, bool>("ours") {
        return Ok(0);
    }
    let mut rows = 0;
    for statement in sql::SWEEP {
        rows += change(transaction, statement, &[&now.0, &sql::SWEEP_ROWS]).await?;
    }
    Ok(usize::try_from(rows).unwrap_or(usize::MAX))
}

/// Runs a statement and returns how many rows it changed.
async fn change(
    client: &impl GenericClient,
    statement: &str,
    asked: Asked<'_>,
) -> Result<u64, StoreError> {
    let statement = client.prepare_cached(statement).await?;
    client
        .execute(&statement, asked)
        .await
        .map_err(StoreError::from)
}

/// Runs a statement and reads the one row that it returns, if it does.
async fn one<T>(
    client: &impl GenericClient,
    statement: &str,
    asked: Asked<'_>,
    read: impl FnOnce(&dyn Columns) -> Result<T, Unreadable>,
) -> Result<Option<T>, StoreError> {
    let statement = client.prepare_cached(statement).await?;
    let row = client.query_opt(&statement, asked).await?;
    row.map(|row| read(&row))
        .transpose()
        .map_err(|error| StoreError::Failed(error.to_string()))
}

fn bytes(digest: &Digest) -> &[u8] {
    digest.as_bytes()
}

impl Columns for Row {
    fn text(&self, column: &'static str) -> Result<Option<String>, Unreadable> {
        self.try_get(column).map_err(|_| Unreadable(column))
    }

    fn digest(&self, column: &'static str) -> Result<Option<Digest>, Unreadable> {
        let bytes: Option<&[u8]> = self.try_get(column).map_err(|_| Unreadable(column))?;
        bytes
            .map(|bytes| {
                bytes
                    .try_into()
                    .map(Digest::from_bytes)
                    .map_err(|_| Unreadable(column))
            })
            .transpose()
    }

    fn time(&self, column: &'static str) -> Result<Option<UnixMs>, Unreadable> {
        let ms: Option<i64> = self.try_get(column).map_err(|_| Unreadable(column))?;
        Ok(ms.map(UnixMs))
    }
}
