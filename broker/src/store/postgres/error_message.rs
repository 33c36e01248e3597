//! The error messages of PostgreSQL, in one line each, with advice. A message never
//! contains the address: that may contain a password.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::store::error::StoreError;

impl From<Error> for StoreError {
    /// Takes the message without its detail, which would contain values of the row.
    fn from(error: Error) -> Self {
        StoreError::Failed(match error.as_db_error() {
            Some(reported) => match advice(reported.code()) {
                Some(advice) => format!("{}; {advice}", reported.message()),
                None => reported.message().to_owned(),
            },
            None => match error.source() {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            },
        })
    }
}

fn advice(state: &SqlState) -> Option<&'static str> {
    match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Some("check the user and the password in store.url")
        }
        SqlState::UNDEFINED_DATABASE => Some("create it, or name another in store.url"),
        SqlState::INSUFFICIENT_PRIVILEGE => Some("allow its user to create tables"),
        SqlState::DISK_FULL => Some("free space on the server's disk"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: &SqlState, word: &str) {
        let advice = advice(state).unwrap();
        assert!(advice.contains(word), "{advice}");
    }

    #[test]
    fn each_common_error_comes_with_advice() {
        check(&SqlState::INVALID_PASSWORD, "password");
        check(&SqlState::UNDEFINED_DATABASE, "name another");
        check(&SqlState::INSUFFICIENT_PRIVILEGE, "allow");
        check(&SqlState::DISK_FULL, "space");
        assert_eq!(advice(&SqlState::SYNTAX_ERROR), None);
    }
}
