//! The authorization server's metadata (RFC 8414).
//!
//! A public preview, made for clients of another kind: a broker does better to
//! know the addresses.

use serde_json::json;

use super::{AUTHORIZATION_PATH, TOKEN_PATH};
use crate::answer::Answer;

/// The issuer's path comes last.
pub(super) const PATH: &str = "/.well-known/oauth-authorization-server/login/oauth";

/// GitHub's members and lists, though the mock serves neither refresh tokens nor
/// the device flow.
///
/// The real document announces `iss`. This one does so only while every answer
/// carries it: a client that believes it would else refuse a cancelled sign-in for
/// want of `iss` and never see `access_denied`.
pub(super) fn answer(url: &str, announces_iss: bool) -> Answer {
    let document = json!({
        "issuer": format!("{url}/login/oauth"),
        "authorization_endpoint": format!("{url}{AUTHORIZATION_PATH}"),
        "token_endpoint": format!("{url}{TOKEN_PATH}"),
        "device_authorization_endpoint": format!("{url}/login/device/code"),
        "response_types_supported": ["code"],
        "grant_types_supported": [
            "authorization_code", "refresh_token",
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["offline_access"],
        "authorization_response_iss_parameter_supported": announces_iss,
    });
    Answer::json(200, &document)
}
