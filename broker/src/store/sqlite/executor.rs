//! The statements of the steps, run by SQLite, and its error messages: one line each, with
//! advice. A message never contains the statement, which would take many lines and help no
//! operator.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use contract::Digest;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, OptionalExtension as _, Row, params_from_iter};

use crate::model::UnixMs;
use crate::model::login_session::LoginOutcome;
use crate::store::outcome::StoreError;
use crate::store::row::{self, Columns, Executor, Parameter, Unreadable};
use crate::store::sql::{CONSUME_RESULT, ERASE_CONSUMED};

/// Runs a step. SQLite blocks and never waits, so the first poll finishes it.
pub(in crate::store) fn poll_once<T>(step: impl Future<Output = T>) -> T {
    match pin!(step).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("a step on SQLite waits for nothing"),
    }
}

impl Executor for Connection {
    type Error = Error;

    async fn change(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<u64, Error> {
        let rows = self
            .prepare_cached(statement)?
            .execute(params_from_iter(parameters))?;
        Ok(rows as u64)
    }

    async fn one<T>(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        read: fn(&dyn Columns) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, Error> {
        let unreadable = |error: Unreadable| Error::ToSqlConversionFailure(error.into());
        self.prepare_cached(statement)?
            .query_row(params_from_iter(parameters), |row| {
                read(row).map_err(unreadable)
            })
            .optional()
    }

    /// Two statements: the caller runs them in one transaction.
    async fn consume_result(
        &self,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<LoginOutcome>, Error> {
        let consumed = self.one(CONSUME_RESULT, parameters, row::outcome).await?;
        if consumed.is_some() {
            self.change(ERASE_CONSUMED, &parameters[..1]).await?;
        }
        Ok(consumed)
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Parameter::Text(text) | Parameter::NullableText(Some(text)) => {
                ValueRef::Text(text.as_bytes())
            }
            Parameter::NullableText(None) => ValueRef::Null,
            Parameter::Bytes(bytes) => ValueRef::Blob(bytes),
            Parameter::Integer(number) => ValueRef::Integer(number),
        }))
    }
}

impl Columns for Row<'_> {
    fn text(&self, column: &'static str) -> Result<Option<String>, Unreadable> {
        self.get(column).map_err(|_| Unreadable(column))
    }

    fn digest(&self, column: &'static str) -> Result<Option<Digest>, Unreadable> {
        let bytes: Option<[u8; 32]> = self.get(column).map_err(|_| Unreadable(column))?;
        Ok(bytes.map(Digest::from_bytes))
    }

    fn time(&self, column: &'static str) -> Result<Option<UnixMs>, Unreadable> {
        let ms: Option<i64> = self.get(column).map_err(|_| Unreadable(column))?;
        Ok(ms.map(UnixMs))
    }
}

/// The error for a damaged file. Replacing the file loses the logins of the last
/// minutes; repairing it could bring a consumed result back.
pub(super) fn damaged() -> StoreError {
    StoreError::Failed(format!("the database is damaged; {SET_ASIDE}"))
}

const SET_ASIDE: &str = "move the file away and start with an empty one: \
                         only logins under way and tokens are lost";

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let message = match &error {
            Error::SqliteFailure(_, Some(message)) | Error::SqlInputError { msg: message, .. } => {
                message.clone()
            }
            other => other.to_string(),
        };
        match error.sqlite_error_code().and_then(advice) {
            Some(advice) => StoreError::Failed(format!("{message}; {advice}")),
            None => StoreError::Failed(message),
        }
    }
}

fn advice(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            Some("another process holds it: end that one, or give this broker a file of its own")
        }
        ErrorCode::NotADatabase => Some("name another file in store.url, or move this one away"),
        ErrorCode::DatabaseCorrupt => Some(SET_ASIDE),
        ErrorCode::DiskFull => Some("free space on the disk"),
        ErrorCode::SystemIoFailure => {
            Some("check whether the disk is full, or a limit on the size of files is reached")
        }
        ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
            Some("check whether its folder exists and this user may write to it")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_fails_is_not_repeated() {
        let db = Connection::open_in_memory().unwrap();
        let error = db.prepare("SELECT 1 +\n absent").unwrap_err();
        let message = StoreError::from(error).to_string();
        assert_eq!(message, "the store failed: no such column: absent");
    }
}
