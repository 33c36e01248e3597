//! The authorization server's metadata (RFC 8414).
//!
//! It is a public preview, made for clients of another kind: a broker should rather have
//! the addresses built in.

use serde_json::json;

use super::state::GitHub;
use crate::http::Response;

/// The well-known path; the path of the issuer comes last.
pub(super) const PATH: &str = "/.well-known/oauth-authorization-server/login/oauth";

pub(super) const AUTHORIZATION_PATH: &str = "/login/oauth/authorize";
pub(super) const TOKEN_PATH: &str = "/login/oauth/access_token";

impl GitHub {
    pub(super) fn metadata(&self) -> Response {
        document(&self.context.url, self.context.iss_is_in_every_callback())
    }
}

/// GitHub's members and lists, though the mock supports neither refresh tokens nor the
/// device flow.
///
/// The real document announces `iss`, and so does this one while every callback carries it:
/// otherwise a client that relies on it would refuse a cancelled sign-in without `iss`, and
/// never see `access_denied`. It never denies `iss`, which some callbacks may carry.
fn document(url: &str, announces_iss: bool) -> Response {
    let mut document = json!({
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
    });
    if announces_iss {
        document["authorization_response_iss_parameter_supported"] = true.into();
    }
    Response::json(200, &document)
}
