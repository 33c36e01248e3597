//! The authorization endpoint and its callback.

use super::request::{self, AuthorizationRequest, Grant, Prompt};
use super::state::{CODE_PREFIX, Google};
use crate::Misbehaviour;
use crate::http::{Request, Response};
use crate::provider::sign_in::SignIn;
use crate::system::{URL_SAFE, random_string};

impl Google {
    pub(super) fn authorize(&self, http: &Request) -> Response {
        let checked = match request::parse(http.query(), &self.context.settings.clients) {
            Ok(request) => request,
            Err(refusal) => return refusal.page(),
        };
        if http.is_head() {
            // Only a browser that will follow begins a sign-in.
            return Response::html(200, String::new());
        }
        match self.sign_ins.begin(&self.context, http, checked) {
            SignIn::Decided(grant) => Response::found(self.callback(grant)),
            SignIn::Undecided(request) if request.details.prompt == Prompt::None => {
                let error = self.context.settings.unconfirmed.google_prompt_none_error;
                Response::found(self.failure(&request, error))
            }
            SignIn::Undecided(request) => self.sign_ins.page(&self.context, http, request),
        }
    }

    /// Receives the choice on the sign-in page.
    pub(super) fn choose(&self, http: &Request) -> Response {
        self.sign_ins.choose(&self.context, http, |mut grant| {
            grant.request.details.consents_on_page = true;
            self.callback(grant)
        })
    }

    fn callback(&self, grant: Grant) -> String {
        use Misbehaviour as M;
        let request = &grant.request;
        match grant.script.misbehaviour {
            Some(M::Deny) => self.failure(request, "access_denied"),
            Some(M::ServerError) => self.failure(request, "server_error"),
            Some(M::TemporarilyUnavailable) => self.failure(request, "temporarily_unavailable"),
            Some(M::NoCode) => request.state_alone(),
            _ => self.success(grant),
        }
    }

    fn failure(&self, request: &AuthorizationRequest, error: &str) -> String {
        request.error(error, self.context.iss_of_error(&self.context.url))
    }

    /// Issues a code for `grant`.
    fn success(&self, grant: Grant) -> String {
        let context = &self.context;
        let code = format!("{CODE_PREFIX}{}", random_string(URL_SAFE, 70));
        let iss = context.iss_of_success(&context.url, grant.script.misbehaviour);
        let callback = grant.request.success(&code, iss, &grant.script.user);
        let lifetime_seconds = context.settings.unconfirmed.google_code_lifetime_seconds;
        let expires_ms = context.now_ms() + i64::from(lifetime_seconds) * 1000;
        self.sign_ins.issue(code, grant, expires_ms);
        callback
    }
}
