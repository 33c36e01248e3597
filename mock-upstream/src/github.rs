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
use crate::provider::{Endpoints, Route, pages, routes, sign_in};
use metadata::{AUTHORIZATION_PATH, TOKEN_PATH};

impl Endpoints for GitHub {
    fn respond(&self, request: &Request) -> Response {
        let routes = Self::routes(request.path());
        routes::respond(self.context.provider, self, request, routes)
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
    /// The endpoints at `path`: those of the real GitHub, and the imitation's own.
    fn routes(path: &str) -> &'static [Route<Self>] {
        match path {
            metadata::PATH => &[("GET", |it, _| it.metadata())],
            AUTHORIZATION_PATH => &[("GET", Self::authorize)],
            TOKEN_PATH => &[("POST", Self::token)],
            "/user" => &[("GET", Self::user)],
            "/user/emails" => &[("GET", Self::emails)],
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
