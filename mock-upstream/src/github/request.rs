//! The authorization request: its checks, and the redirects back to the client.

use super::scopes::Scopes;
use crate::http::Params;
use crate::provider::pages::Permission;
use crate::provider::sign_in::CheckedRequest;
use crate::provider::{Challenge, HeapSize};
use crate::settings::RedirectUri;
use crate::{Client, Clients};

/// The page that explains an error; the error's name follows, with dashes.
const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/#";

/// An authorization request that passed every check.
pub(super) struct AuthorizationRequest {
    pub(super) client: Client,
    pub(super) redirect_uri: RedirectUri,
    pub(super) scopes: Scopes,
    pub(super) challenge: Option<Challenge>,
    /// Whether the client asks for the account picker, by `prompt=select_account`.
    selects_account: bool,
    state: Option<String>,
}

/// The reason why a request is refused.
pub(super) enum Refusal<'a> {
    /// A page. That it is a 404 is not confirmed.
    UnknownClient,
    /// A page, too: the request names no callback, and none is registered.
    NoCallback,
    /// A callback with an error.
    Callback(CallbackError<'a>),
}

/// An error that the callback carries.
pub(super) struct CallbackError<'a> {
    redirect_uri: RedirectUri,
    state: Option<&'a str>,
    error: &'static str,
    description: &'static str,
}

impl AuthorizationRequest {
    pub(super) fn parse<'a>(query: &'a Params, clients: &Clients) -> Result<Self, Refusal<'a>> {
        let client = query.get("client_id").and_then(|id| clients.find(id));
        let client = client.ok_or(Refusal::UnknownClient)?;
        let redirect_uri = redirect_uri(query, &client)?;
        Ok(Self {
            client,
            challenge: challenge(query, &redirect_uri).map_err(Refusal::Callback)?,
            redirect_uri,
            scopes: Scopes::parse(query.get("scope").unwrap_or_default()),
            selects_account: query.get("prompt") == Some("select_account"),
            state: query.get("state").map(str::to_owned),
        })
    }

    /// The callback with a code.
    pub(super) fn success(&self, code: &str, iss: Option<&str>) -> String {
        let params = [("code", code)].into_iter().chain(self.state_param());
        let iss = iss.map(|iss| ("iss", iss));
        self.redirect_uri.with_params(params.chain(iss))
    }

    /// The callback with the state alone.
    pub(super) fn state_alone(&self) -> String {
        self.redirect_uri.with_params(self.state_param())
    }

    pub(super) fn denied(&self) -> CallbackError<'_> {
        let description = "The user has denied your application access.";
        self.error("access_denied", description)
    }

    pub(super) fn suspended(&self) -> CallbackError<'_> {
        let description = "Your application has been suspended. Contact support@github.com.";
        self.error("application_suspended", description)
    }

    fn error(&self, error: &'static str, description: &'static str) -> CallbackError<'_> {
        CallbackError {
            redirect_uri: self.redirect_uri.clone(),
            state: self.state.as_deref(),
            error,
            description,
        }
    }

    fn state_param(&self) -> Option<(&'static str, &str)> {
        Some(("state", self.state.as_deref()?))
    }
}

impl CallbackError<'_> {
    /// The callback with this error.
    pub(super) fn callback(&self, iss: Option<&str>) -> String {
        let error_uri = format!("{ERROR_URI}{}", self.error.replace('_', "-"));
        let known = [
            ("error", self.error),
            ("error_description", self.description),
            ("error_uri", &error_uri),
        ];
        let state = self.state.map(|state| ("state", state));
        let iss = iss.map(|iss| ("iss", iss));
        self.redirect_uri
            .with_params(known.into_iter().chain(state).chain(iss))
    }
}

/// The registered redirect URI that the request names, or the first one if it names none.
/// The error for any other one goes to the first.
fn redirect_uri<'a>(query: &'a Params, client: &Client) -> Result<RedirectUri, Refusal<'a>> {
    let first = client.first_redirect_uri();
    let named = query.get("redirect_uri");
    let registered = match named {
        Some(named) => client.redirect_uri(named),
        None => first.cloned(),
    };
    registered.ok_or_else(|| match first {
        None => Refusal::NoCallback,
        Some(first) => Refusal::Callback(CallbackError {
            redirect_uri: first.clone(),
            state: query.get("state"),
            error: "redirect_uri_mismatch",
            description: "The redirect_uri MUST match the registered callback URL for this application.",
        }),
    })
}

/// GitHub accepts S256 alone. Its error for anything else is not confirmed.
fn challenge<'a>(
    query: &'a Params,
    redirect_uri: &RedirectUri,
) -> Result<Option<Challenge>, CallbackError<'a>> {
    let method = query.get("code_challenge_method");
    Challenge::parse(query.get("code_challenge"), method).map_err(|_| CallbackError {
        redirect_uri: redirect_uri.clone(),
        state: query.get("state"),
        error: "invalid_request",
        description: "The code_challenge must be 43 characters and the code_challenge_method S256.",
    })
}

impl CheckedRequest for AuthorizationRequest {
    fn client(&self) -> &Client {
        &self.client
    }

    fn redirect_uri(&self) -> &RedirectUri {
        &self.redirect_uri
    }

    fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    fn permissions(&self) -> Vec<Permission> {
        self.scopes.permissions()
    }

    fn wants_page(&self) -> bool {
        self.selects_account
    }
}

impl HeapSize for AuthorizationRequest {
    fn heap_bytes(&self) -> usize {
        let Self {
            client,
            redirect_uri,
            scopes,
            state,
            ..
        } = self;
        let sent = scopes.heap_bytes() + state.heap_bytes();
        client.heap_bytes() + redirect_uri.heap_bytes() + sent
    }
}
