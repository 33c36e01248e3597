//! SQLite, the embedded default: a file, or memory.
//!
//! The steps are here; [`writer`] runs them in batches, on the tables that
//! [`tables`] prepares.

mod complaint;
mod tables;
mod writer;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use async_trait::async_trait;
use contract::{Digest, Rule};
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row, params};

use super::fail_points::FailPoints;
use super::row::{self, Columns, Unreadable, outcome_columns, profile_text};
use super::sql;
use super::{
    Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store, StoreError, check_version,
};
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{Ask, BrowserBinding, LoginOutcome, LoginSession, NewLogin};
use crate::model::upstream_login::UpstreamLogin;
use crate::model::{LoginId, UnixMs};
use writer::Writer;

/// The embedded store.
#[derive(Debug)]
pub struct Sqlite(Writer);

impl Sqlite {
    /// A store that is gone with the process.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub fn in_memory(fail_points: FailPoints) -> std::result::Result<Self, StoreError> {
        Writer::start(Connection::open_in_memory()?, fail_points).map(Self)
    }

    /// The store in the file at `path`, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened, written or understood.
    pub fn at(path: &Path, fail_points: FailPoints) -> std::result::Result<Self, StoreError> {
        keep_private(path);
        Writer::start(Connection::open(path)?, fail_points).map(Self)
    }
}

/// Makes a new database readable by its owner alone: it will hold profiles. If
/// that fails, opening it says why.
fn keep_private(path: &Path) {
    let _ = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path);
}

#[async_trait]
impl Store for Sqlite {
    async fn ready(&self) -> std::result::Result<(), StoreError> {
        check_version(self.0.run(tables::version).await?)
    }

    async fn open(&self, login: NewLogin, now: UnixMs) -> std::result::Result<Opened, StoreError> {
        self.0.run(move |db| open(db, &login, now)).await
    }

    async fn find(
        &self,
        handle: Digest,
        now: UnixMs,
    ) -> std::result::Result<Option<LoginSession>, StoreError> {
        self.0.run(move |db| find(db, handle, now)).await
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> std::result::Result<Bound, StoreError> {
        self.0
            .run(move |db| bind_browser(db, handle, browser, now))
            .await
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> std::result::Result<Consumed, StoreError> {
        let (id, known_until) = (upstream_login.id(), upstream_login.known_until());
        self.0
            .run(move |db| consume_upstream_login(db, id, known_until))
            .await
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> std::result::Result<Completed, StoreError> {
        self.0
            .run(move |db| complete(db, handle, &outcome, now))
            .await
    }

    async fn consume_result(
        &self,
        ask: Ask,
        now: UnixMs,
    ) -> std::result::Result<ResultRead, StoreError> {
        self.0.run(move |db| consume_result(db, &ask, now)).await
    }

    async fn issue(&self, grant: NewGrant) -> std::result::Result<(), StoreError> {
        self.0.run(move |db| issue(db, &grant)).await
    }

    async fn redeem(
        &self,
        redemption: Redemption,
        now: UnixMs,
    ) -> std::result::Result<Redeemed, StoreError> {
        self.0.run(move |db| redeem(db, &redemption, now)).await
    }

    async fn token(
        &self,
        token: Digest,
        now: UnixMs,
    ) -> std::result::Result<Option<Token>, StoreError> {
        self.0.run(move |db| find_token(db, token, now)).await
    }

    async fn revoke(&self, token: Digest) -> std::result::Result<Option<LoginId>, StoreError> {
        self.0.run(move |db| revoke(db, token)).await
    }

    async fn sweep(&self, now: UnixMs) -> std::result::Result<usize, StoreError> {
        self.0.run(move |db| sweep(db, now)).await
    }
}

fn open(db: &Connection, new: &NewLogin, now: UnixMs) -> Result<Opened> {
    let session = &new.session;
    let rows = change(
        db,
        sql::OPEN,
        params![
            Bytes(new.key),
            Bytes(new.handle),
            session.login.as_str(),
            session.project.as_str(),
            session.redirect_uri.as_str(),
            session.provider.as_str(),
            session.ends.0,
            session.known_until.0,
            now.0,
        ],
    )?;
    Ok(if rows == 1 {
        Opened::Fresh
    } else {
        Opened::KeyTaken
    })
}

fn find(db: &Connection, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>> {
    one(
        db,
        sql::FIND,
        params![Bytes(handle), now.0],
        row::login_session,
    )
}

fn bind_browser(
    db: &Connection,
    handle: Digest,
    browser: BrowserBinding,
    now: UnixMs,
) -> Result<Bound> {
    let asked = params![Bytes(browser.0), Bytes(handle), now.0];
    match one(db, sql::BIND_BROWSER, asked, row::login_session)? {
        Some(session) => Ok(Bound::Granted(session)),
        None => find(db, handle, now).map(Bound::Refused),
    }
}

fn consume_upstream_login(
    db: &Connection,
    upstream_login: Digest,
    known_until: UnixMs,
) -> Result<Consumed> {
    let rows = change(
        db,
        sql::CONSUME_UPSTREAM_LOGIN,
        params![Bytes(upstream_login), known_until.0],
    )?;
    Ok(if rows == 1 {
        Consumed::Now
    } else {
        Consumed::Before
    })
}

fn complete(
    db: &Connection,
    handle: Digest,
    outcome: &LoginOutcome,
    now: UnixMs,
) -> Result<Completed> {
    let (profile, error) = outcome_columns(outcome);
    let rows = change(
        db,
        sql::COMPLETE,
        params![profile, error, Bytes(handle), now.0],
    )?;
    Ok(if rows == 1 {
        Completed::Now
    } else {
        Completed::TooLate
    })
}

fn consume_result(db: &Connection, ask: &Ask, now: UnixMs) -> Result<ResultRead> {
    let asked = params![
        Bytes(ask.key),
        ask.project.as_str(),
        ask.redirect_uri.as_str(),
        now.0
    ];
    match one(db, sql::CONSUME_RESULT, asked, row::outcome)? {
        Some(outcome) => {
            change(db, sql::ERASE_TAKEN, params![Bytes(ask.key)])?;
            Ok(ResultRead::Outcome(outcome))
        }
        None => {
            let known = params![Bytes(ask.key), now.0];
            let session = one(db, sql::FIND_BY_KEY, known, row::login_session)?;
            Ok(ResultRead::explained(session, ask, now))
        }
    }
}

fn issue(db: &Connection, grant: &NewGrant) -> Result<()> {
    change(
        db,
        sql::ISSUE,
        params![
            Bytes(grant.code),
            grant.login.as_str(),
            grant.project.as_str(),
            Bytes(grant.callback),
            grant.challenge.as_str(),
            profile_text(&grant.profile),
            grant.code_ends.0,
            grant.known_until.0,
        ],
    )?;
    Ok(())
}

fn redeem(db: &Connection, ask: &Redemption, now: UnixMs) -> Result<Redeemed> {
    let asked = params![
        Bytes(ask.token),
        ask.token_ends.0,
        ask.known_until.0,
        Bytes(ask.code),
        ask.project.as_str(),
        Bytes(ask.callback),
        ask.challenge.as_str(),
        now.0,
    ];
    if let Some(login) = one(db, sql::REDEEM, asked, row::login)? {
        return Ok(Redeemed::Token(login));
    }
    if let Some(login) = end_replayed(db, ask, now)? {
        return Ok(Redeemed::Refused(Rule::CodeOnce, Some(login)));
    }
    let grant = one(
        db,
        sql::FIND_GRANT,
        params![Bytes(ask.code), now.0],
        row::grant,
    )?;
    Ok(Redeemed::explained(grant, ask))
}

fn end_replayed(db: &Connection, ask: &Redemption, now: UnixMs) -> Result<Option<LoginId>> {
    let asked = params![
        Bytes(ask.code),
        ask.project.as_str(),
        Bytes(ask.callback),
        ask.challenge.as_str(),
        now.0,
    ];
    one(db, sql::END_REPLAYED, asked, row::login)
}

fn find_token(db: &Connection, token: Digest, now: UnixMs) -> Result<Option<Token>> {
    one(
        db,
        sql::FIND_TOKEN,
        params![Bytes(token), now.0],
        row::token,
    )
}

fn revoke(db: &Connection, token: Digest) -> Result<Option<LoginId>> {
    one(db, sql::REVOKE, params![Bytes(token)], row::login)
}

fn sweep(db: &Connection, now: UnixMs) -> Result<usize> {
    sql::SWEEP.iter().try_fold(0, |rows, statement| {
        Ok(rows + change(db, statement, params![now.0, sql::SWEEP_ROWS])?)
    })
}

/// Runs a statement and returns how many rows it changed.
fn change(db: &Connection, statement: &str, asked: impl Params) -> Result<usize> {
    db.prepare_cached(statement)?.execute(asked)
}

/// Runs a statement and reads the one row that it returns, if it does.
fn one<T>(
    db: &Connection,
    statement: &str,
    asked: impl Params,
    read: impl FnOnce(&dyn Columns) -> std::result::Result<T, Unreadable>,
) -> Result<Option<T>> {
    let unreadable = |error: Unreadable| rusqlite::Error::ToSqlConversionFailure(error.into());
    db.prepare_cached(statement)?
        .query_row(asked, |row| read(row).map_err(unreadable))
        .optional()
}

/// A digest as a parameter.
struct Bytes(Digest);

impl ToSql for Bytes {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.as_bytes().as_slice()))
    }
}

impl Columns for Row<'_> {
    fn text(&self, column: &'static str) -> std::result::Result<Option<String>, Unreadable> {
        self.get(column).map_err(|_| Unreadable(column))
    }

    fn digest(&self, column: &'static str) -> std::result::Result<Option<Digest>, Unreadable> {
        let bytes: Option<[u8; 32]> = self.get(column).map_err(|_| Unreadable(column))?;
        Ok(bytes.map(Digest::from_bytes))
    }

    fn time(&self, column: &'static str) -> std::result::Result<Option<UnixMs>, Unreadable> {
        let ms: Option<i64> = self.get(column).map_err(|_| Unreadable(column))?;
        Ok(ms.map(UnixMs))
    }
}
