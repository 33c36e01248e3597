//! What PostgreSQL says when it cannot, in one line, and the way out. The address
//! is never repeated: it may bear a password.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::store::StoreError;

impl From<Error> for StoreError {
    /// The engine's words without the row's: its detail would repeat values.
    fn from(error: Error) -> Self {
        StoreError::Failed(match error.as_db_error() {
            Some(refusal) => match way_out(refusal.code()) {
                Some(way_out) => format!("{}; {way_out}", refusal.message()),
                None => refusal.message().to_owned(),
            },
            None => match error.source() {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            },
        })
    }
}

fn way_out(state: &SqlState) -> Option<&'static str> {
    match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Some("see whether user and password in store.url are right")
        }
        SqlState::UNDEFINED_DATABASE => Some("make it, or name another in store.url"),
        SqlState::INSUFFICIENT_PRIVILEGE => Some("its user must be allowed to make tables"),
        SqlState::DISK_FULL => Some("make room on the server's disk"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: &SqlState, word: &str) {
        let way_out = way_out(state).unwrap();
        assert!(way_out.contains(word), "{way_out}");
    }

    #[test]
    fn each_common_trouble_has_its_way_out() {
        check(&SqlState::INVALID_PASSWORD, "password");
        check(&SqlState::UNDEFINED_DATABASE, "name another");
        check(&SqlState::INSUFFICIENT_PRIVILEGE, "allowed");
        check(&SqlState::DISK_FULL, "room");
        assert_eq!(way_out(&SqlState::SYNTAX_ERROR), None);
    }
}
