//! The discovery document.

use serde_json::json;

use super::{AUTHORIZATION_PATH, KEYS_PATH, REVOCATION_PATH, TOKEN_PATH, USERINFO_PATH};
use crate::answer::Answer;

pub(super) const PATH: &str = "/.well-known/openid-configuration";

/// Google's members and lists, though the mock serves less: whoever picks from a
/// list must pick with care, `plain` comes first in one.
pub(super) fn answer(url: &str, announces_iss: bool) -> Answer {
    let mut document = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}{AUTHORIZATION_PATH}"),
        "token_endpoint": format!("{url}{TOKEN_PATH}"),
        "userinfo_endpoint": format!("{url}{USERINFO_PATH}"),
        "revocation_endpoint": format!("{url}{REVOCATION_PATH}"),
        "jwks_uri": format!("{url}{KEYS_PATH}"),
        "device_authorization_endpoint": format!("{url}/device/code"),
        "response_types_supported": [
            "code", "token", "id_token", "code token", "code id_token", "token id_token",
            "code token id_token", "none",
        ],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid", "email", "profile"],
        "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        "claims_supported": [
            "aud", "email", "email_verified", "exp", "family_name", "given_name",
            "iat", "iss", "name", "picture", "sub",
        ],
        "code_challenge_methods_supported": ["plain", "S256"],
        "grant_types_supported": [
            "authorization_code", "refresh_token",
            "urn:ietf:params:oauth:grant-type:device_code",
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
        ],
    });
    if announces_iss {
        document["authorization_response_iss_parameter_supported"] = true.into();
    }
    Answer::json(200, &document).with("cache-control", "public, max-age=3600")
}
