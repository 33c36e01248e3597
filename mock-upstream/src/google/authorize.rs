//! The authorization endpoint and its callback.

use super::request::{AuthorizationRequest, Consent, Prompt};
use super::state::{Google, Grant};
use crate::http::{Request, Response};
use crate::provider::sign_in::SignIn;
use crate::script::SignInScript;
use crate::{Misbehaviour, random};

/// The start of every code. Its slash is not part of base64url.
pub(super) const CODE_PREFIX: &str = "4/0A";

impl Google {
    pub(super) fn authorize(&self, http: &Request) -> Response {
        let checked = match AuthorizationRequest::parse(http.query(), &self.context.clients) {
            Ok(request) => request,
            Err(refusal) => return refusal.page(),
        };
        if http.is_head() {
            // Only a browser that will follow begins a sign-in.
            return Response::html(200, String::new());
        }
        match self.pending.begin(&self.context, http, checked) {
            SignIn::Decided(request, script) => {
                let consent = request.prompt.consent();
                Response::found(self.callback(request, script, consent))
            }
            SignIn::Undecided(request) if request.prompt == Prompt::None => {
                let error = self.context.unconfirmed.google_prompt_none_error;
                Response::found(self.failure(&request, error))
            }
            SignIn::Undecided(request) => self.pending.page(&self.context, http, request),
        }
    }

    /// Receives the choice on the sign-in page.
    pub(super) fn choose(&self, http: &Request) -> Response {
        match self.pending.choose(&self.context, http) {
            Ok(chosen) => {
                let callback = self.callback(chosen.request, chosen.script, Consent::OnThePage);
                Response::see_other(callback).with_cookie(chosen.set_cookie)
            }
            Err(page) => page,
        }
    }

    fn callback(
        &self,
        request: AuthorizationRequest,
        script: SignInScript,
        consent: Consent,
    ) -> String {
        use Misbehaviour as M;
        match script.misbehaviour {
            Some(M::Deny) => self.failure(&request, "access_denied"),
            Some(M::ServerError) => self.failure(&request, "server_error"),
            Some(M::TemporarilyUnavailable) => self.failure(&request, "temporarily_unavailable"),
            Some(M::NoCode) => request.state_alone(),
            _ => self.success(Grant {
                request,
                script,
                consent,
            }),
        }
    }

    fn failure(&self, request: &AuthorizationRequest, error: &str) -> String {
        request.error(error, self.context.iss_of_error(&self.context.url))
    }

    /// Issues a code for `grant`.
    fn success(&self, grant: Grant) -> String {
        let Grant {
            request,
            script,
            consent,
        } = &grant;
        let code = format!("{CODE_PREFIX}{}", random::url_safe(70));
        let iss = self
            .context
            .iss_of_success(&self.context.url, script.misbehaviour);
        let callback = request.success(&code, *consent, iss, &script.user);
        let lifetime_seconds = self.context.unconfirmed.google_code_lifetime_seconds;
        let expires_ms = self.context.now_ms() + i64::from(lifetime_seconds) * 1000;
        self.codes.put(code, grant, expires_ms);
        callback
    }
}
