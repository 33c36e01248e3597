//! The endpoints of the published keys: a JSON Web Key Set, and certificates.

use super::discovery::KEYS_PATH;
use super::state::Google;
use crate::Misbehaviour;
use crate::http::{Delivery, Request, Response};
use crate::provider::pages;

pub(super) const CERTIFICATES_PATH: &str = "/oauth2/v1/certs";

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
        let max_age = self.context.unconfirmed.google_keys_max_age_seconds;
        let caching = format!("public, max-age={max_age}, must-revalidate, no-transform");
        Response::json(200, &keys).with_header("cache-control", caching)
    }
}
