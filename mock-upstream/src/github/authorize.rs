//! The authorization endpoint and its callback.

use super::request::{AuthorizationRequest, CallbackError, Refusal};
use super::state::{GitHub, Grant};
use crate::http::{Request, Response};
use crate::provider::pages;
use crate::provider::sign_in::SignIn;
use crate::script::SignInScript;
use crate::{Misbehaviour, random};

const CODE_LIFETIME_MS: i64 = 10 * 60 * 1000;

impl GitHub {
    pub(super) fn authorize(&self, http: &Request) -> Response {
        let checked = match AuthorizationRequest::parse(http.query(), &self.context.clients) {
            Ok(request) => request,
            Err(Refusal::UnknownClient) => return pages::not_found(self.context.provider),
            Err(Refusal::NoCallback) => return pages::no_callback(self.context.provider),
            Err(Refusal::Callback(error)) => return Response::found(self.failure(&error)),
        };
        if http.is_head() {
            // Only a browser that will follow begins a sign-in.
            return Response::html(200, String::new());
        }
        match self.pending.begin(&self.context, http, checked) {
            SignIn::Decided(request, script) => Response::found(self.callback(request, script)),
            SignIn::Undecided(request) => self.pending.page(&self.context, http, request),
        }
    }

    /// Receives the choice on the sign-in page.
    pub(super) fn choose(&self, http: &Request) -> Response {
        match self.pending.choose(&self.context, http) {
            Ok(chosen) => {
                let callback = self.callback(chosen.request, chosen.script);
                Response::see_other(callback).with_cookie(chosen.set_cookie)
            }
            Err(page) => page,
        }
    }

    fn callback(&self, request: AuthorizationRequest, script: SignInScript) -> String {
        match script.misbehaviour {
            Some(Misbehaviour::Deny) => self.failure(&request.denied()),
            Some(Misbehaviour::ApplicationSuspended) => self.failure(&request.suspended()),
            Some(Misbehaviour::NoCode) => request.state_alone(),
            _ => self.success(Grant { request, script }),
        }
    }

    fn failure(&self, error: &CallbackError<'_>) -> String {
        error.callback(self.context.iss_of_error(&self.issuer))
    }

    /// Issues a code for `grant`.
    fn success(&self, grant: Grant) -> String {
        let code = random::lower_hex(20);
        let misbehaviour = grant.script.misbehaviour;
        let iss = self.context.iss_of_success(&self.issuer, misbehaviour);
        let callback = grant.request.success(&code, iss);
        let expires_ms = self.context.now_ms() + CODE_LIFETIME_MS;
        self.codes.put(code, grant, expires_ms);
        callback
    }
}
