//! The parts of OAuth that both providers share: the account picker, the query of a callback,
//! and the access token, which is used for the calls of one sign-in and never stored.

use contract::redacted;
use serde::Deserialize;

use super::failure::Failure;
use crate::untrusted::Query;

/// Whether the provider must show its account picker, so that the user clicks once, or
/// may redirect a user who approved before at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountPicker {
    /// The provider must show it.
    Always,
    /// The provider decides.
    ProviderDecides,
}

impl AccountPicker {
    /// The query parameter of both providers' authorization endpoints.
    pub(super) fn parameter(self) -> Option<(&'static str, &'static str)> {
        match self {
            AccountPicker::Always => Some(("prompt", "select_account")),
            AccountPicker::ProviderDecides => None,
        }
    }
}

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

/// The maximum length of a token, in bytes; Google documents that its are shorter.
const MAX_BYTES: usize = 2048;

/// A bearer token of a provider, valid in a header. `Debug` is redacted.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct AccessToken(String);

impl AccessToken {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AccessToken {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let fits = (1..=MAX_BYTES).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err("not a bearer token")
        }
    }
}

redacted!(AccessToken);
