//! The error messages of PostgreSQL, in one line each, with advice. A message never
//! contains the address: that may contain a password.

use std::error::Error as _;

use rustls::CertificateError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::store::outcome::StoreError;

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
