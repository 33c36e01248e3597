//! The documents that a client reads before it signs users in: the discovery document, and the published
//! keys as a JSON Web Key Set and as certificates.

use serde_json::json;

use super::state::{
    AUTHORIZATION_PATH, Google, KEYS_PATH, REVOCATION_PATH, TOKEN_PATH, USERINFO_PATH,
};
use crate::Misbehaviour;
use crate::http::{Delivery, Request, Response};
use crate::provider::pages;

/// The time after which a failure is dropped unused. No client requests the keys for its
/// token later than this.
const FAILURE_LIFETIME_MS: i64 = 10 * 1000;

/// The format of the published keys.
#[derive(Clone, Copy)]
pub(super) enum KeyFormat {
    /// A JSON Web Key Set.
    Jwks,
    /// X.509 certificates in PEM, by `kid`.
    Certificates,
}

impl Google {
    pub(super) fn discovery(&self) -> Response {
        let context = &self.context;
        let announces_iss =
            context.settings.unconfirmed.google_announces_iss && context.iss_is_in_every_callback();
        document(&context.url, announces_iss)
    }

    /// The published keys, unless this request is to fail. A HEAD never does.
    pub(super) fn published_keys(&self, http: &Request, format: KeyFormat) -> Response {
        let good = self.key_response(format);
        if http.is_head() {
            return good;
        }
        match self.key_failure.take(KEYS_PATH, self.context.now_ms()) {
            Some(Misbehaviour::Keys500) => pages::server_error(self.context.provider, 500),
            Some(Misbehaviour::KeysTimeout) => good.with_delivery(Delivery::Silence),
            _ => good,
        }
    }

    /// Lets the next request for the published keys fail.
    pub(super) fn fail_next_keys(&self, misbehaviour: Misbehaviour) {
        let expires_ms = self.context.now_ms() + FAILURE_LIFETIME_MS;
        self.key_failure
            .put(KEYS_PATH.to_owned(), misbehaviour, expires_ms);
    }

    /// The published keys, with Google's caching.
    fn key_response(&self, format: KeyFormat) -> Response {
        let keys = match format {
            KeyFormat::Jwks => self.keys.jwks(),
            KeyFormat::Certificates => self.keys.certificates(),
        };
        let max_age = self
            .context
            .settings
            .unconfirmed
            .google_keys_max_age_seconds;
        let caching = format!("public, max-age={max_age}, must-revalidate, no-transform");
        Response::json(200, &keys).with_header("cache-control", caching)
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
