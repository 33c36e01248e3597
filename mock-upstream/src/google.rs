//! Google's endpoints: OpenID Connect with ID tokens.
//!
//! The paths are the real ones, all on one host. Sources: Google's OpenID Connect reference
//! and "OAuth 2.0 for Web Server Applications".

mod keys;
mod request;
mod state;

mod authorize;
mod metadata;

mod id_token;
mod id_token_report;
mod token;
mod userinfo;

pub(crate) use state::Google;

use crate::http::{Request, Response};
use crate::journal::{IdTokenReport, Recipient};
use crate::provider::{Endpoints, Route, pages, respond_by, sign_in};
use metadata::KeyFormat;
use state::{
    AUTHORIZATION_PATH, CERTIFICATES_PATH, DISCOVERY_PATH, KEYS_PATH, OLDER_AUTHORIZATION_PATH,
    REVOCATION_PATH, TOKEN_PATH, TOKENINFO_PATH, USERINFO_PATH,
};

impl Endpoints for Google {
    fn respond(&self, request: &Request) -> Response {
        let routes = Self::routes(request.path());
        respond_by(routes, self.context.provider, self, request)
    }

    fn rotate_keys(&self) {
        self.keys.rotate();
    }

    fn urls(&self) -> Vec<(&'static str, String)> {
        let url = |path| format!("{}{path}", self.context.url);
        vec![
            ("issuer", self.context.url.clone()),
            ("discovery document", url(DISCOVERY_PATH)),
            ("authorization endpoint", url(AUTHORIZATION_PATH)),
            ("token endpoint", url(TOKEN_PATH)),
            ("userinfo endpoint", url(USERINFO_PATH)),
            ("published keys", url(KEYS_PATH)),
        ]
    }

    fn id_token_report(&self, token: &str, recipient: &Recipient<'_>) -> Option<IdTokenReport> {
        Some(self.report(token, recipient))
    }

    fn bytes_held(&self) -> usize {
        let issued = self.tokens.bytes_held() + self.offline_users.bytes_held();
        self.sign_ins.bytes_held() + issued
    }

    fn reset(&self) {
        self.sign_ins.clear();
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
            DISCOVERY_PATH => &[("GET", |it, _| it.discovery())],
            KEYS_PATH => &[("GET", |it, http| it.published_keys(http, KeyFormat::Jwks))],
            CERTIFICATES_PATH => &[("GET", |it, http| {
                it.published_keys(http, KeyFormat::Certificates)
            })],
            AUTHORIZATION_PATH | OLDER_AUTHORIZATION_PATH => &[("GET", Self::authorize)],
            TOKEN_PATH => &[("POST", Self::token)],
            REVOCATION_PATH => &[("POST", Self::revoke)],
            TOKENINFO_PATH => &[("GET", Self::tokeninfo), ("POST", Self::tokeninfo)],
            path if userinfo::Names::at(path).is_some() => {
                &[("GET", Self::userinfo), ("POST", Self::userinfo)]
            }
            sign_in::HOME_PATH => &[("GET", |it, http| {
                it.sign_ins.home(&it.context, http, &it.urls())
            })],
            pages::SCRIPT_PATH => &[("GET", |_, _| pages::script())],
            sign_in::PATH => &[("POST", Self::choose)],
            sign_in::FORGET_PATH => &[("POST", |it, http| it.sign_ins.forget(http))],
            _ => &[],
        }
    }
}
