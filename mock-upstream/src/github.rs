//! GitHub's endpoints: OAuth 2.0 without ID tokens, and a REST API.
//!
//! The web pages and the API share one host here. Sources: GitHub's "Authorizing OAuth
//! apps" and its REST API reference.

mod request;
mod state;

mod authorize;
mod token;

mod account;
mod api;

pub(crate) use state::GitHub;

use crate::http::{Request, Response};
use crate::provider::{Endpoints, Route, pages, respond_by, sign_in};
use state::{AUTHORIZATION_PATH, EMAILS_PATH, METADATA_PATH, TOKEN_PATH, USER_PATH};

impl Endpoints for GitHub {
    fn respond(&self, request: &Request) -> Response {
        let routes = Self::routes(request.path());
        respond_by(routes, self.context.provider, self, request)
    }

    fn urls(&self) -> Vec<(&'static str, String)> {
        let url = |path| format!("{}{path}", self.context.url);
        vec![
            ("authorization endpoint", url(AUTHORIZATION_PATH)),
            ("token endpoint", url(TOKEN_PATH)),
            ("REST API", self.context.url.clone()),
            ("user", url(USER_PATH)),
            ("e-mail addresses", url(EMAILS_PATH)),
        ]
    }

    fn bytes_held(&self) -> usize {
        self.sign_ins.bytes_held() + self.tokens.bytes_held()
    }

    fn reset(&self) {
        self.sign_ins.clear();
        self.tokens.clear();
        self.rate_limit.clear();
    }
}

impl GitHub {
    /// The endpoints at `path`: those of the real GitHub, and the imitation's own.
    fn routes(path: &str) -> &'static [Route<Self>] {
        match path {
            METADATA_PATH => &[("GET", |it, _| it.metadata())],
            AUTHORIZATION_PATH => &[("GET", Self::authorize)],
            TOKEN_PATH => &[("POST", Self::token)],
            USER_PATH => &[("GET", Self::user)],
            EMAILS_PATH => &[("GET", Self::emails)],
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
