//! The statements of the steps, run by SQLite.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use contract::Digest;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, OptionalExtension as _, Row, params_from_iter};

use crate::model::UnixMs;
use crate::store::executor::{Executor, Parameter};
use crate::store::row::{Columns, Unreadable};

/// Runs a step. SQLite blocks and never waits, so the first poll finishes it.
pub(super) fn poll_once<T>(step: impl Future<Output = T>) -> T {
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
