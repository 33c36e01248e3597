//! The authorization endpoint and its callback.

use super::{GitHub, Grant, Scopes};
use crate::answer::Answer;
use crate::call::{Call, Params};
use crate::pkce::Challenge;
use crate::settings::RedirectUri;
use crate::shelf::Content;
use crate::sign_in::{Cast, Request, Step};
use crate::{Client, Misbehaviour, chance, pages};

const CODE_LIFETIME_MS: i64 = 10 * 60 * 1000;

/// Where GitHub explains its errors; the error's name follows, with dashes.
const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/#";

/// What a broker asked for, checked.
#[derive(Clone)]
pub(super) struct AuthorizationRequest {
    pub(super) redirect_uri: RedirectUri,
    pub(super) scopes: Scopes,
    pub(super) challenge: Option<Challenge>,
    state: Option<String>,
}

/// A request that goes no further.
enum Refusal<'a> {
    /// A page; that it is a 404 is not confirmed.
    UnknownClient,
    /// A callback with an error.
    Callback(Failure<'a>),
}

/// An error as the callback carries it.
struct Failure<'a> {
    redirect_uri: &'a RedirectUri,
    state: Option<&'a str>,
    error: &'static str,
    description: &'static str,
}

impl GitHub {
    pub(super) fn authorize(&self, call: &Call) -> Answer {
        let request = match AuthorizationRequest::parse(call.query(), &self.desk.client) {
            Ok(request) => request,
            Err(Refusal::UnknownClient) => return pages::not_found(self.desk.provider),
            Err(Refusal::Callback(failure)) => return Answer::found(self.failed(&failure)),
        };
        match self.sign_ins.begin(&self.desk, request) {
            Step::Decided(request, cast) => Answer::found(self.callback(request, cast)),
            Step::Ask(page) => page,
        }
    }

    pub(super) fn choose(&self, call: &Call) -> Answer {
        match self.sign_ins.choose(&self.desk, call.form()) {
            Ok((request, cast)) => Answer::see_other(self.callback(request, cast)),
            Err(page) => page,
        }
    }

    fn callback(&self, request: AuthorizationRequest, cast: Cast) -> String {
        match cast.misbehaviour {
            Some(Misbehaviour::Deny) => return self.failed(&request.denied()),
            Some(Misbehaviour::ApplicationSuspended) => return self.failed(&request.suspended()),
            Some(Misbehaviour::NoCode) => return request.nothing(),
            _ => {}
        }
        let code = chance::lower_hex(20);
        let iss = self.desk.iss_of_success(&self.issuer, cast.misbehaviour);
        let callback = request.success(&code, iss);
        let ends_ms = self.desk.now_ms() + CODE_LIFETIME_MS;
        self.codes.put(code, Grant { request, cast }, ends_ms);
        callback
    }

    fn failed(&self, failure: &Failure<'_>) -> String {
        let error_uri = format!("{ERROR_URI}{}", failure.error.replace('_', "-"));
        let known = [
            ("error", failure.error),
            ("error_description", failure.description),
            ("error_uri", &error_uri),
        ];
        let state = failure.state.map(|state| ("state", state));
        let iss = self.desk.iss_on_error(&self.issuer).map(|iss| ("iss", iss));
        failure
            .redirect_uri
            .with(known.into_iter().chain(state).chain(iss))
    }
}

impl Content for AuthorizationRequest {
    fn heap_bytes(&self) -> usize {
        self.state.heap_bytes() + self.scopes.heap_bytes()
    }
}

impl AuthorizationRequest {
    fn parse<'a>(query: &'a Params, client: &'a Client) -> Result<Self, Refusal<'a>> {
        if !query.get("client_id").is_some_and(|id| client.is(id)) {
            return Err(Refusal::UnknownClient);
        }
        let redirect_uri = redirect_uri(query, client).map_err(Refusal::Callback)?;
        Ok(Self {
            challenge: challenge(query, redirect_uri).map_err(Refusal::Callback)?,
            redirect_uri: redirect_uri.clone(),
            scopes: Scopes::parse(query.get("scope").unwrap_or_default()),
            state: query.get("state").map(str::to_owned),
        })
    }

    fn success(&self, code: &str, iss: Option<&str>) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let iss = iss.map(|iss| ("iss", iss));
        self.redirect_uri
            .with([("code", code)].into_iter().chain(state).chain(iss))
    }

    /// The state alone.
    fn nothing(&self) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        self.redirect_uri.with(state)
    }

    fn denied(&self) -> Failure<'_> {
        let description = "The user has denied your application access.";
        self.failure("access_denied", description)
    }

    fn suspended(&self) -> Failure<'_> {
        let description = "Your application has been suspended. Contact support@github.com.";
        self.failure("application_suspended", description)
    }

    fn failure(&self, error: &'static str, description: &'static str) -> Failure<'_> {
        Failure {
            redirect_uri: &self.redirect_uri,
            state: self.state.as_deref(),
            error,
            description,
        }
    }
}

/// The registered callback that was named, the first one if none was. Another
/// one is an error that goes to the first one.
fn redirect_uri<'a>(query: &'a Params, client: &'a Client) -> Result<&'a RedirectUri, Failure<'a>> {
    let registered = match query.get("redirect_uri") {
        Some(named) => client.redirect_uri(named),
        None => Some(client.first_redirect_uri()),
    };
    registered.ok_or_else(|| Failure {
        redirect_uri: client.first_redirect_uri(),
        state: query.get("state"),
        error: "redirect_uri_mismatch",
        description: "The redirect_uri MUST match the registered callback URL for this application.",
    })
}

/// GitHub takes S256 alone. The error it answers else is not confirmed.
fn challenge<'a>(
    query: &'a Params,
    redirect_uri: &'a RedirectUri,
) -> Result<Option<Challenge>, Failure<'a>> {
    let method = query.get("code_challenge_method");
    Challenge::parse(query.get("code_challenge"), method).map_err(|_| Failure {
        redirect_uri,
        state: query.get("state"),
        error: "invalid_request",
        description: "The code_challenge must be 43 characters and the code_challenge_method S256.",
    })
}

impl Request for AuthorizationRequest {
    fn redirect_uri(&self) -> &RedirectUri {
        &self.redirect_uri
    }

    fn scope(&self) -> String {
        self.scopes.joined(" ")
    }
}
