//! The query of a provider's callback.

use super::failure::Failure;
use crate::query::Query;

/// Reads the code out of a callback's query; `issuer` must match if the query names one.
pub(super) fn code_from(query: &Query<'_>, issuer: &str) -> Result<String, Failure> {
    // RFC 9207. Both providers began to send it in 2026, took it back, and began
    // again: it may be absent, but never wrong.
    match query.once("iss") {
        Ok(None) => {}
        Ok(Some(iss)) if iss == issuer => {}
        Ok(Some(_)) | Err(_) => return Err(Failure::CallbackIssuer),
    }
    match (query.once("code"), query.once("error")) {
        (Ok(Some(code)), Ok(None)) if is_code(&code) => Ok(code),
        (Ok(None), Ok(Some(error))) => Err(failure_of(&error)),
        _ => Err(Failure::CallbackCode),
    }
}

fn is_code(code: &str) -> bool {
    (1..=2048).contains(&code.len()) && !code.contains(char::is_control)
}

fn failure_of(error: &str) -> Failure {
    match error {
        "access_denied" => Failure::Declined,
        "server_error" | "temporarily_unavailable" => Failure::CallbackServerError,
        "application_suspended" => Failure::CallbackSuspended,
        _ => Failure::CallbackError,
    }
}
