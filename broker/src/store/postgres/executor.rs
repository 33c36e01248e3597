//! The statements of the steps, run by PostgreSQL, and its error messages: one line each, with
//! advice. A message never contains the address: that may contain a password.

use std::error::Error as _;

use contract::Digest;
use deadpool_postgres::Object;
use rustls::CertificateError;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use super::url::PoolMode;
use crate::model::UnixMs;
use crate::model::login_session::LoginOutcome;
use crate::store::fail_points::FailPoints;
use crate::store::outcome::StoreError;
use crate::store::row::{self, Columns, Executor, Parameter, Unreadable, parameters};
use crate::store::sql::CONSUME_AND_ERASE_RESULT;

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

    async fn consume_result(
        &self,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<LoginOutcome>, StepError> {
        self.one(CONSUME_AND_ERASE_RESULT, parameters, row::outcome)
            .await
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
        let digest = |bytes: &[u8]| bytes.try_into().map(Digest::from_bytes);
        let digest = bytes.map(digest).transpose();
        digest.map_err(|_| Unreadable(column))
    }

    fn time(&self, column: &'static str) -> Result<Option<UnixMs>, Unreadable> {
        let ms: Option<i64> = self.try_get(column).map_err(|_| Unreadable(column))?;
        Ok(ms.map(UnixMs))
    }
}

/// The reason why a step has no result.
#[derive(Debug)]
pub(in crate::store) enum StepError {
    /// The database undid the transaction in favour of another one.
    Conflict(StoreError),
    /// Anything else.
    Failed(StoreError),
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        match error.code() {
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
                Self::Conflict(error.into())
            }
            _ => Self::Failed(error.into()),
        }
    }
}

impl From<StoreError> for StepError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<StepError> for StoreError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Conflict(error) | StepError::Failed(error) => error,
        }
    }
}

impl From<Error> for StoreError {
    /// Takes the message without its detail, which would contain values of the row.
    fn from(error: Error) -> Self {
        let message = match (error.as_db_error(), error.source()) {
            (Some(reported), _) => reported.message().to_owned(),
            (None, Some(cause)) => format!("{error}: {cause}"),
            (None, None) => error.to_string(),
        };
        let advice = match error.as_db_error() {
            Some(reported) => advice(reported.code(), reported.message()),
            None => advice_on_tls(&error),
        };
        StoreError::Failed(match advice {
            Some(advice) => format!("{message}; {advice}"),
            None => message,
        })
    }
}

fn advice(state: &SqlState, message: &str) -> Option<&'static str> {
    const POOL_MODE: &str = "for a pooler such as pgbouncer add pool_mode=transaction to store.url";
    match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Some("check the user and the password in store.url")
        }
        SqlState::UNDEFINED_DATABASE => Some("create it, or name another in store.url"),
        SqlState::INSUFFICIENT_PRIVILEGE => Some("allow its user to create tables"),
        SqlState::DISK_FULL => Some("free space on the server's disk"),
        SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT => Some(POOL_MODE),
        _ if message.contains("unsupported startup parameter") => Some(POOL_MODE),
        _ => None,
    }
}

/// Advice when the connection was not encrypted as it should be.
fn advice_on_tls(error: &Error) -> Option<&'static str> {
    let cause = error.source()?;
    if cause.to_string() == "server does not support TLS" {
        return Some("set ssl=on in the server's configuration");
    }
    let cause = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
    match cause.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(it) => Some(match it {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "name the file of the server's certificate authority by sslrootcert in store.url"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the host in store.url must be a name in the server's certificate"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "renew the server's certificate"
            }
            _ => "check the server's certificate",
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: &SqlState, word: &str) {
        let advice = advice(state, "").unwrap();
        assert!(advice.contains(word), "{advice}");
    }

    #[test]
    fn each_common_error_comes_with_advice() {
        check(&SqlState::INVALID_PASSWORD, "password");
        check(&SqlState::UNDEFINED_DATABASE, "name another");
        check(&SqlState::INSUFFICIENT_PRIVILEGE, "allow");
        check(&SqlState::DISK_FULL, "space");
        check(&SqlState::INVALID_SQL_STATEMENT_NAME, "pool_mode");
        check(&SqlState::DUPLICATE_PSTATEMENT, "pool_mode");
        assert_eq!(advice(&SqlState::SYNTAX_ERROR, ""), None);
    }
}
