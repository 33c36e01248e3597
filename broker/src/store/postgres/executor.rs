//! The statements of the steps, run by PostgreSQL.

use contract::Digest;
use deadpool_postgres::GenericClient;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::model::UnixMs;
use crate::store::error::StoreError;
use crate::store::executor::{Executor, Parameter};
use crate::store::fail_points::{FailPoint, FailPoints};
use crate::store::row::{Columns, Unreadable};

/// Runs statements on a connection, or in a transaction.
pub(super) struct PostgresExecutor<'a, C> {
    pub(super) client: &'a C,
    pub(super) fail_points: &'a FailPoints,
}

impl<C: GenericClient> Executor for PostgresExecutor<'_, C> {
    type Error = StoreError;

    async fn change(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, StoreError> {
        let statement = self.client.prepare_cached(statement).await?;
        let parameters: Vec<_> = parameters.iter().map(Parameter::as_sql).collect();
        Ok(self.client.execute(&statement, &parameters).await?)
    }

    async fn one<T>(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        read: fn(&dyn Columns) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, StoreError> {
        let statement = self.client.prepare_cached(statement).await?;
        let parameters: Vec<_> = parameters.iter().map(Parameter::as_sql).collect();
        let row = self.client.query_opt(&statement, &parameters).await?;
        row.map(|row| read(&row))
            .transpose()
            .map_err(|error| StoreError::Failed(error.to_string()))
    }

    fn decided(&self) {
        self.fail_points.hit(FailPoint::AfterRead);
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
