//! The discovery document and the addresses that it lists.

use serde_json::json;

use super::state::Google;
use crate::http::Response;

pub(super) const PATH: &str = "/.well-known/openid-configuration";

pub(super) const AUTHORIZATION_PATH: &str = "/o/oauth2/v2/auth";
pub(super) const TOKEN_PATH: &str = "/token";
pub(super) const USERINFO_PATH: &str = "/v1/userinfo";
pub(super) const REVOCATION_PATH: &str = "/revoke";
pub(super) const KEYS_PATH: &str = "/oauth2/v3/certs";

impl Google {
    pub(super) fn discovery(&self) -> Response {
        let context = &self.context;
        let announces_iss =
            context.unconfirmed.google_announces_iss && context.iss_is_in_every_callback();
        document(&context.url, announces_iss)
    }
}

/// Google's members and lists, though the mock supports less. A client has to choose from
/// a list with care: one starts with `plain`.
fn document(url: &str, announces_iss: bool) -> Response {
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
    Response::json(200, &document).with_header("cache-control", "public, max-age=3600")
}
