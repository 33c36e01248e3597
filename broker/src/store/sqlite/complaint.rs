//! What SQLite says when it cannot, in one line, and the way out. A statement is
//! never repeated: it would take many lines and help nobody.

use rusqlite::{Error, ErrorCode};

use crate::store::StoreError;

/// Said of a file that does not hold together. What is lost with it are the
/// logins of the last minutes; what a guess would bring back may be consumed.
pub(super) fn damaged() -> StoreError {
    StoreError::Failed(format!("the database is damaged; {SET_ASIDE}"))
}

const SET_ASIDE: &str = "move the file away and start with an empty one: \
                         only logins under way and tokens are lost";

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let words = match &error {
            Error::SqliteFailure(_, Some(words)) | Error::SqlInputError { msg: words, .. } => {
                words.clone()
            }
            other => other.to_string(),
        };
        match error.sqlite_error_code().and_then(way_out) {
            Some(way_out) => StoreError::Failed(format!("{words}; {way_out}")),
            None => StoreError::Failed(words),
        }
    }
}

fn way_out(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            Some("another process holds it: end that one, or give this broker a file of its own")
        }
        ErrorCode::NotADatabase => Some("name another file in store.url, or move this one away"),
        ErrorCode::DatabaseCorrupt => Some(SET_ASIDE),
        ErrorCode::DiskFull => Some("make room on the disk"),
        ErrorCode::SystemIoFailure => {
            Some("see whether the disk is full, or a limit on the size of files is reached")
        }
        ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
            Some("see whether its folder is there and may be written by this user")
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
        let said = StoreError::from(error).to_string();
        assert_eq!(said, "the store failed: no such column: absent");
    }
}
