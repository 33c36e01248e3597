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
use crate::provider::{Endpoints, Recipient, Route, pages, routes, sign_in};
use discovery::{AUTHORIZATION_PATH, KEYS_PATH, REVOCATION_PATH, TOKEN_PATH};
use published_keys::{CERTIFICATES_PATH, KeyFormat};

/// The authorization endpoint in the client files that Google's console hands out.
const OLDER_AUTHORIZATION_PATH: &str = "/o/oauth2/auth";

impl Endpoints for Google {
    fn respond(&self, request: &Request) -> Response {
        let routes = Self::routes(request.path());
        routes::respond(self.context.provider, self, request, routes)
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
    /// The endpoints at `path`: those of the real Google, and the imitation's own.
    fn routes(path: &str) -> &'static [Route<Self>] {
        match path {
            discovery::PATH => &[("GET", |it, _| it.discovery())],
            KEYS_PATH => &[("GET", |it, http| it.published_keys(http, KeyFormat::Jwks))],
            CERTIFICATES_PATH => &[("GET", |it, http| {
                it.published_keys(http, KeyFormat::Certificates)
            })],
            AUTHORIZATION_PATH | OLDER_AUTHORIZATION_PATH => &[("GET", Self::authorize)],
            TOKEN_PATH => &[("POST", Self::token)],
            REVOCATION_PATH => &[("POST", Self::revoke)],
            tokeninfo::PATH => &[("GET", Self::tokeninfo), ("POST", Self::tokeninfo)],
            path if userinfo::Names::at(path).is_some() => {
                &[("GET", Self::userinfo), ("POST", Self::userinfo)]
            }
            sign_in::HOME_PATH => &[("GET", |it, http| {
                it.pending.home(&it.context, http, &it.urls())
            })],
            pages::SCRIPT_PATH => &[("GET", |_, _| pages::script())],
            sign_in::PATH => &[("POST", Self::choose)],
            sign_in::FORGET_PATH => &[("POST", |it, http| it.pending.forget(http))],
            _ => &[],
        }
    }
}
