//! Google's endpoints: OpenID Connect with ID tokens.
//!
//! The paths are the real ones, all on one host. Sources: Google's OpenID Connect reference
//! and "OAuth 2.0 for Web Server Applications".

mod keys;
mod scopes;

mod request;
mod state;

mod authorize;
mod discovery;
mod published_keys;

mod id_token;
mod id_token_report;
mod signature;
mod token;

mod tokeninfo;
mod userinfo;

pub use id_token_report::{IdTokenCheck, IdTokenReport};
pub(crate) use keys::KeyRing;
pub(crate) use state::Google;

use crate::http::{Request, Response};
use crate::provider::{Endpoints, Recipient, pages, sign_in};
use discovery::{AUTHORIZATION_PATH, KEYS_PATH, REVOCATION_PATH, TOKEN_PATH};
use published_keys::{CERTIFICATES_PATH, KeyFormat};

/// The authorization endpoint in the client files that Google's console hands out.
const OLDER_AUTHORIZATION_PATH: &str = "/o/oauth2/auth";

impl Endpoints for Google {
    fn respond(&self, request: &Request) -> Response {
        let own = self.pending.respond(&self.context, request, || self.urls());
        own.unwrap_or_else(|| self.imitate(request))
    }

    fn urls(&self) -> Vec<(&'static str, String)> {
        let url = |path| format!("{}{path}", self.context.url);
        vec![
            ("issuer", self.context.url.clone()),
            ("discovery document", url(discovery::PATH)),
            ("authorization endpoint", url(AUTHORIZATION_PATH)),
            ("token endpoint", url(TOKEN_PATH)),
            ("userinfo endpoint", url(discovery::USERINFO_PATH)),
            ("published keys", url(KEYS_PATH)),
        ]
    }

    fn id_token_report(&self, token: &str, recipient: &Recipient<'_>) -> Option<IdTokenReport> {
        Some(self.report(token, recipient))
    }

    fn bytes_held(&self) -> usize {
        self.pending.bytes_held()
            + self.codes.bytes_held()
            + self.tokens.bytes_held()
            + self.offline_users.bytes_held()
    }

    fn reset(&self) {
        self.pending.clear();
        self.codes.clear();
        self.tokens.clear();
        self.offline_users.clear();
        self.key_failure.clear();
        self.keys.reset();
    }
}

impl Google {
    /// Responds to a request that the real Google would receive.
    fn imitate(&self, request: &Request) -> Response {
        match (request.method(), request.path()) {
            ("GET", discovery::PATH) => self.discovery(),
            ("GET", KEYS_PATH) => self.published_keys(KeyFormat::Jwks),
            ("GET", CERTIFICATES_PATH) => self.published_keys(KeyFormat::Certificates),
            ("GET", AUTHORIZATION_PATH | OLDER_AUTHORIZATION_PATH) => self.authorize(request),
            ("POST", sign_in::PATH) => self.choose(request),
            ("POST", TOKEN_PATH) => self.token(request),
            ("GET" | "POST", tokeninfo::PATH) => self.tokeninfo(request),
            ("POST", REVOCATION_PATH) => self.revoke(request),
            ("GET" | "POST", path) => match userinfo::Names::at(path) {
                Some(names) => self.userinfo(request, names),
                None => pages::not_found(self.context.provider),
            },
            _ => pages::not_found(self.context.provider),
        }
    }
}
