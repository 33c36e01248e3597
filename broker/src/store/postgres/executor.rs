//! The statements of the steps, run by PostgreSQL.

use contract::Digest;
use deadpool_postgres::Object;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::error_message::StepError;
use super::url::PoolMode;
use crate::model::UnixMs;
use crate::store::executor::{Executor, Parameter, parameters};
use crate::store::fail_points::{FailPoint, FailPoints};
use crate::store::outcome::StoreError;
use crate::store::row::{Columns, Unreadable};

/// Held while one broker sweeps: two that deleted the same rows in another order
/// would wait for each other.
const SWEEP_LOCK: i64 = 0x0F51_0002;

/// Runs statements on a connection.
pub(in crate::store) struct PostgresExecutor<'a> {
    pub(super) client: &'a Object,
    pub(super) mode: PoolMode,
    pub(super) fail_points: &'a FailPoints,
}

impl PostgresExecutor<'_> {
    /// Runs a statement and returns the one row that it returns, if it returns one.
    pub(super) async fn row(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, StepError> {
        Ok(match self.mode {
            PoolMode::Session => {
                let statement = self.client.prepare_cached(statement).await?;
                let parameters: Vec<_> = parameters.iter().map(Parameter::as_sql).collect();
                self.client.query_opt(&statement, &parameters).await?
            }
            // A prepared statement would stay behind in another's session.
            PoolMode::Transaction => {
                let parameters: Vec<_> = parameters.iter().map(Parameter::typed).collect();
                self.client.query_typed_opt(statement, &parameters).await?
            }
        })
    }
}

impl Executor for PostgresExecutor<'_> {
    type Error = StepError;

    async fn change(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, StepError> {
        Ok(match self.mode {
            PoolMode::Session => {
                let statement = self.client.prepare_cached(statement).await?;
                let parameters: Vec<_> = parameters.iter().map(Parameter::as_sql).collect();
                self.client.execute(&statement, &parameters).await?
            }
            PoolMode::Transaction => {
                let parameters: Vec<_> = parameters.iter().map(Parameter::typed).collect();
                self.client.execute_typed(statement, &parameters).await?
            }
        })
    }

    async fn one<T>(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        read: fn(&dyn Columns) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, StepError> {
        let row = self.row(statement, parameters).await?;
        row.map(|row| read(&row))
            .transpose()
            .map_err(|error| StoreError::Failed(error.to_string()).into())
    }

    fn decided(&self) {
        self.fail_points.hit(FailPoint::AfterRead);
    }

    async fn may_sweep(&self) -> Result<bool, StepError> {
        const TRY: &str = "SELECT WHERE pg_try_advisory_xact_lock($1::BIGINT::INT, \
                           hashtext(current_schema()))";
        Ok(self.change(TRY, parameters![SWEEP_LOCK]).await? == 1)
    }
}

impl Parameter<'_> {
    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Text(text) => text,
            Self::NullableText(text) => text,
            Self::Bytes(bytes) => bytes,
            Self::Integer(number) => number,
        }
    }

    /// The same with its type, which a statement that is not prepared needs.
    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        let its_type = match self {
            Self::Text(_) | Self::NullableText(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
            Self::Integer(_) => Type::INT8,
        };
        (self.as_sql(), its_type)
    }
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
