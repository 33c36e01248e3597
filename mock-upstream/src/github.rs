//! GitHub's endpoints: OAuth 2.0 without ID tokens, and a REST API.
//!
//! The web pages and the API share one host here. Sources: GitHub's "Authorizing OAuth
//! apps" and its REST API reference.

mod rate_limit;
mod scopes;

mod request;
mod state;

mod authorize;
mod metadata;
mod token;

mod api;
mod failure;

mod emails;
mod user;

pub(crate) use state::GitHub;

use crate::http::{Request, Response};
use crate::provider::{Endpoints, pages, sign_in};
use metadata::{AUTHORIZATION_PATH, TOKEN_PATH};

impl Endpoints for GitHub {
    fn respond(&self, request: &Request) -> Response {
        let own = self.pending.respond(&self.context, request, || self.urls());
        own.unwrap_or_else(|| self.imitate(request))
    }

    fn urls(&self) -> Vec<(&'static str, String)> {
        let url = |path| format!("{}{path}", self.context.url);
        vec![
            ("authorization endpoint", url(AUTHORIZATION_PATH)),
            ("token endpoint", url(TOKEN_PATH)),
            ("REST API", self.context.url.clone()),
            ("user", url("/user")),
            ("e-mail addresses", url("/user/emails")),
        ]
    }

    fn bytes_held(&self) -> usize {
        self.pending.bytes_held() + self.codes.bytes_held() + self.tokens.bytes_held()
    }

    fn reset(&self) {
        self.pending.clear();
        self.codes.clear();
        self.tokens.clear();
        self.rate_limit.clear();
    }
}

impl GitHub {
    /// Responds to a request that the real GitHub would receive.
    fn imitate(&self, request: &Request) -> Response {
        match (request.method(), request.path()) {
            ("GET", metadata::PATH) => self.metadata(),
            ("GET", AUTHORIZATION_PATH) => self.authorize(request),
            ("POST", sign_in::PATH) => self.choose(request),
            ("POST", TOKEN_PATH) => self.token(request),
            ("GET", "/user") => self.user(request),
            ("GET", "/user/emails") => self.emails(request),
            _ => pages::not_found(self.context.provider),
        }
    }
}
