//! The authorization endpoint and its callback, and the authorization server's metadata
//! (RFC 8414).
//!
//! The metadata is a public preview, made for clients of another kind: a broker should rather
//! have the addresses built in.

use serde_json::json;

use super::request::{self, CallbackError, Grant, Refusal};
use super::state::{AUTHORIZATION_PATH, GitHub, TOKEN_PATH};
use crate::Misbehaviour;
use crate::http::{Request, Response};
use crate::provider::pages;
use crate::provider::sign_in::SignIn;
use crate::system::{LOWER_HEX, random_string};

const CODE_LIFETIME_MS: i64 = 10 * 60 * 1000;

impl GitHub {
    pub(super) fn authorize(&self, http: &Request) -> Response {
        let provider = self.context.provider;
        let checked = match request::parse(http.query(), &self.context.settings.clients) {
            Ok(request) => request,
            Err(Refusal::UnknownClient) => return pages::not_found(provider),
            Err(Refusal::NoCallback) => return pages::no_callback(provider),
            Err(Refusal::Callback(error)) => return Response::found(self.failure(&error)),
        };
        if http.is_head() {
            // Only a browser that will follow begins a sign-in.
            return Response::html(200, String::new());
        }
        match self.sign_ins.begin(&self.context, http, checked) {
            SignIn::Decided(grant) => Response::found(self.callback(grant)),
            SignIn::Undecided(request) => self.sign_ins.page(&self.context, http, request),
        }
    }

    /// Receives the choice on the sign-in page.
    pub(super) fn choose(&self, http: &Request) -> Response {
        let callback = |grant| self.callback(grant);
        self.sign_ins.choose(&self.context, http, callback)
    }

    fn callback(&self, grant: Grant) -> String {
        match grant.script.misbehaviour {
            Some(Misbehaviour::Deny) => self.failure(&grant.request.denied()),
            Some(Misbehaviour::ApplicationSuspended) => self.failure(&grant.request.suspended()),
            Some(Misbehaviour::NoCode) => grant.request.state_alone(),
            _ => self.success(grant),
        }
    }

    fn failure(&self, error: &CallbackError<'_>) -> String {
        error.callback(self.context.iss_of_error(&self.issuer))
    }

    /// Issues a code for `grant`.
    fn success(&self, grant: Grant) -> String {
        let code = random_string(LOWER_HEX, 20);
        let misbehaviour = grant.script.misbehaviour;
        let iss = self.context.iss_of_success(&self.issuer, misbehaviour);
        let callback = grant.request.success(&code, iss);
        let expires_ms = self.context.now_ms() + CODE_LIFETIME_MS;
        self.sign_ins.issue(code, grant, expires_ms);
        callback
    }

    pub(super) fn metadata(&self) -> Response {
        document(&self.context.url, self.context.iss_is_in_every_callback())
    }
}

/// GitHub's members and lists, though the mock supports neither refresh tokens nor the
/// device flow.
///
/// The real document announces `iss`, and so does this one while every callback carries it:
/// otherwise a client that relies on it would refuse a cancelled sign-in without `iss`, and
/// never see `access_denied`. It never denies `iss`, which some callbacks may carry.
fn document(url: &str, announces_iss: bool) -> Response {
    let mut document = json!({
        "issuer": format!("{url}/login/oauth"),
        "authorization_endpoint": format!("{url}{AUTHORIZATION_PATH}"),
        "token_endpoint": format!("{url}{TOKEN_PATH}"),
        "device_authorization_endpoint": format!("{url}/login/device/code"),
        "response_types_supported": ["code"],
        "grant_types_supported": [
            "authorization_code", "refresh_token",
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["offline_access"],
    });
    if announces_iss {
        document["authorization_response_iss_parameter_supported"] = true.into();
    }
    Response::json(200, &document)
}
