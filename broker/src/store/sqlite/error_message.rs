//! The error messages of SQLite, in one line each, with advice. A message never
//! contains the statement: that would take many lines and help no operator.

use rusqlite::{Error, ErrorCode};

use crate::store::error::StoreError;

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
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_statement_that_fails_is_not_repeated() {
        let db = Connection::open_in_memory().unwrap();
        let error = db.prepare("SELECT 1 +\n absent").unwrap_err();
        let message = StoreError::from(error).to_string();
        assert_eq!(message, "the store failed: no such column: absent");
    }
}
