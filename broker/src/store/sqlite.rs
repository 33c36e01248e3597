//! SQLite, the embedded default: a file, or memory.
//!
//! Steps in memory run [`inline`], on their caller's thread. Those that change a file
//! wait for its disk: [`writer`] runs them in batches on a thread of its own; those that
//! only read it run inline. [`tables`] prepares the tables of both.

mod error_message;
mod executor;
mod inline;
mod readiness;
mod tables;
mod transaction;
mod writer;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use async_trait::async_trait;
use contract::Digest;
use rusqlite::Connection;

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
use executor::poll_once;
use inline::Inline;
use readiness::Readiness;
use writer::Writer;

/// The embedded store.
#[derive(Debug)]
pub struct Sqlite(Connections);

#[derive(Debug)]
enum Connections {
    Memory(Inline),
    /// The reader is closed first: the last connection to close empties the write-ahead
    /// log, which only the writer can.
    File {
        reader: Inline,
        writer: Writer,
        readiness: Readiness,
    },
}

impl Sqlite {
    /// A store that is gone with the process.
    ///
    /// # Errors
    ///
    /// If SQLite reports an error.
    pub fn in_memory(fail_points: FailPoints) -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        tables::prepare(&mut connection)?;
        Ok(Self(Connections::Memory(Inline::new(
            connection,
            fail_points,
        ))))
    }

    /// The store in the file at `path`, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, written or understood.
    pub fn at(path: &Path, fail_points: FailPoints) -> Result<Self, StoreError> {
        make_private(path);
        let writer = Writer::start(Connection::open(path)?, fail_points.clone())?;
        let reader = Connection::open(path)?;
        tables::prepare_reader(&reader)?;
        let reader = Inline::new(reader, fail_points);
        let readiness =
            Readiness::of(path).map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self(Connections::File {
            reader,
            writer,
            readiness,
        }))
    }

    /// Runs a step that changes nothing.
    fn read<T>(
        &self,
        step: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        match &self.0 {
            Connections::Memory(connection) => connection.read(step),
            Connections::File { reader, .. } => reader.read(step),
        }
    }

    /// Runs a step, and returns its result once that is committed.
    async fn commit<T, F>(&self, step: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        match &self.0 {
            Connections::Memory(connection) => connection.commit(step),
            Connections::File { writer, .. } => writer.run(step).await,
        }
    }
}

/// Makes a new database readable by its owner alone: it will hold profiles. If
/// that fails, opening it says why.
fn make_private(path: &Path) {
    let _ = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path);
}

#[async_trait]
impl Store for Sqlite {
    async fn ready(&self) -> Result<(), StoreError> {
        check_version(match &self.0 {
            Connections::Memory(connection) => connection.read(tables::version)?,
            Connections::File {
                writer, readiness, ..
            } => {
                readiness.check_path()?;
                if readiness.is_write_due() {
                    let version = writer.run(tables::write_version).await?;
                    readiness.note_write();
                    version
                } else {
                    writer.run(tables::version).await?
                }
            }
        })
    }

    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError> {
        self.commit(move |db| poll_once(steps::open(db, &login, now)))
            .await
    }

    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError> {
        self.read(|db| poll_once(steps::find(db, handle, now)))
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError> {
        self.commit(move |db| poll_once(steps::bind_browser(db, handle, browser, now)))
            .await
    }

    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError> {
        let (id, known_until) = (upstream_login.id(), upstream_login.known_until());
        self.commit(move |db| poll_once(steps::consume_upstream_login(db, id, known_until)))
            .await
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError> {
        self.commit(move |db| poll_once(steps::complete(db, handle, &outcome, now)))
            .await
    }

    async fn consume_result(
        &self,
        ask: ResultQuery,
        now: UnixMs,
    ) -> Result<ResultRead, StoreError> {
        self.commit(move |db| poll_once(steps::consume_result(db, &ask, now)))
            .await
    }

    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError> {
        self.commit(move |db| poll_once(steps::issue(db, &grant)))
            .await
    }

    async fn redeem(&self, redemption: Redemption, now: UnixMs) -> Result<Redeemed, StoreError> {
        self.commit(move |db| poll_once(steps::redeem(db, &redemption, now)))
            .await
    }

    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError> {
        self.read(|db| poll_once(steps::token(db, token, now)))
    }

    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError> {
        self.commit(move |db| poll_once(steps::revoke(db, token)))
            .await
    }

    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError> {
        self.commit(move |db| poll_once(steps::sweep(db, now)))
            .await
    }
}
