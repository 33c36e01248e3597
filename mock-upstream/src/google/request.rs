//! The authorization request: its checks, and the redirects back to the client.

use super::scopes::Scopes;
use crate::http::{Params, Response};
use crate::provider::pages::Permission;
use crate::provider::sign_in::CheckedRequest;
use crate::provider::{Challenge, HeapSize, pages};
use crate::settings::RedirectUri;
use crate::{Client, Clients, Provider, User};

/// An authorization request that passed every check.
pub(super) struct AuthorizationRequest {
    pub(super) client: Client,
    pub(super) redirect_uri: RedirectUri,
    pub(super) scopes: Scopes,
    pub(super) nonce: Option<String>,
    pub(super) challenge: Option<Challenge>,
    /// Whether the client asks for a refresh token.
    pub(super) is_offline: bool,
    pub(super) prompt: Prompt,
    state: Option<String>,
}

/// The pages that `prompt` asks Google to show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prompt {
    /// Google decides.
    Default,
    /// No page: a user who is not signed in already gets an error.
    None,
    /// The page on which the user chooses an account.
    SelectAccount,
    /// The consent page, even if the user consented before.
    Consent,
}

/// The way in which the user consented, which the callback's `prompt` repeats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Silent,
    OnThePage,
}

/// The reason for an error page in place of a redirect.
pub(super) enum Refusal {
    DuplicateParameter,
    Missing(&'static str),
    Invalid(&'static str),
    UnknownClient,
    RedirectUriMismatch,
    UnsupportedResponseType,
    InvalidScope,
    UnusableChallenge,
}

impl AuthorizationRequest {
    pub(super) fn parse(query: &Params, clients: &Clients) -> Result<Self, Refusal> {
        let required = |name| query.get(name).ok_or(Refusal::Missing(name));
        if query.has_duplicates() {
            return Err(Refusal::DuplicateParameter);
        }
        let client = clients
            .find(required("client_id")?)
            .ok_or(Refusal::UnknownClient)?;
        let redirect_uri = client
            .redirect_uri(required("redirect_uri")?)
            .ok_or(Refusal::RedirectUriMismatch)?;
        if required("response_type")? != "code" {
            return Err(Refusal::UnsupportedResponseType);
        }
        Ok(Self {
            client,
            redirect_uri,
            scopes: Scopes::parse(required("scope")?).ok_or(Refusal::InvalidScope)?,
            nonce: query.get("nonce").map(str::to_owned),
            challenge: challenge(query)?,
            is_offline: is_offline(query)?,
            prompt: Prompt::parse(query.get("prompt").unwrap_or_default())?,
            state: query.get("state").map(str::to_owned),
        })
    }

    /// The callback with a code, in Google's order: state, iss, code, scope, authuser, hd,
    /// prompt.
    pub(super) fn success(
        &self,
        code: &str,
        consent: Consent,
        iss: Option<&str>,
        user: &User,
    ) -> String {
        let scope = self.scopes.in_callback();
        let prompt = match consent {
            Consent::Silent => "none",
            Consent::OnThePage => "consent",
        };
        let hd = user.hosted_domain.as_deref();
        let authuser = if hd.is_some() { "1" } else { "0" };
        let known = [("code", code), ("scope", &scope), ("authuser", authuser)];
        let params = self
            .state_param()
            .into_iter()
            .chain(iss.map(|iss| ("iss", iss)));
        let params = params.chain(known).chain(hd.map(|hd| ("hd", hd)));
        self.redirect_uri
            .with_params(params.chain([("prompt", prompt)]))
    }

    /// The callback with an error. Google was seen to send no description.
    pub(super) fn error(&self, error: &str, iss: Option<&str>) -> String {
        let iss = iss.map(|iss| ("iss", iss));
        let params = [("error", error)].into_iter().chain(self.state_param());
        self.redirect_uri.with_params(params.chain(iss))
    }

    /// The callback with the state alone.
    pub(super) fn state_alone(&self) -> String {
        self.redirect_uri.with_params(self.state_param())
    }

    fn state_param(&self) -> Option<(&'static str, &str)> {
        Some(("state", self.state.as_deref()?))
    }
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
        matches!(self.prompt, Prompt::Consent | Prompt::SelectAccount)
    }
}

impl HeapSize for AuthorizationRequest {
    fn heap_bytes(&self) -> usize {
        let Self {
            client,
            redirect_uri,
            nonce,
            state,
            ..
        } = self;
        let sent = nonce.heap_bytes() + state.heap_bytes();
        client.heap_bytes() + redirect_uri.heap_bytes() + sent
    }
}

impl Prompt {
    /// Reads a list between blanks. Its values are case-sensitive, and `none` must be alone.
    fn parse(list: &str) -> Result<Self, Refusal> {
        let values: Vec<_> = list.split_whitespace().collect();
        let is_known = |value: &&str| matches!(*value, "consent" | "select_account");
        match values.as_slice() {
            ["none"] => Ok(Self::None),
            values if !values.iter().all(is_known) => Err(Refusal::Invalid("prompt")),
            values if values.contains(&"consent") => Ok(Self::Consent),
            values if values.contains(&"select_account") => Ok(Self::SelectAccount),
            _ => Ok(Self::Default),
        }
    }

    /// The consent of a sign-in without a page.
    pub(super) fn consent(self) -> Consent {
        match self {
            Self::Consent => Consent::OnThePage,
            Self::Default | Self::None | Self::SelectAccount => Consent::Silent,
        }
    }
}

/// Reads `access_type`; `offline` asks for access while the user is away.
fn is_offline(query: &Params) -> Result<bool, Refusal> {
    match query.get("access_type") {
        None | Some("online") => Ok(false),
        Some("offline") => Ok(true),
        Some(_) => Err(Refusal::Invalid("access_type")),
    }
}

/// Google accepts `plain` too. The mock does not, so that no broker falls back to it
/// unnoticed.
fn challenge(query: &Params) -> Result<Option<Challenge>, Refusal> {
    let method = query.get("code_challenge_method");
    Challenge::parse(query.get("code_challenge"), method).map_err(|_| Refusal::UnusableChallenge)
}

impl Refusal {
    pub(super) fn page(self) -> Response {
        let (error, description) = self.error_and_description();
        let error = format!("Error 400: {error}");
        pages::blocked(Provider::Google, &error, &description)
    }

    fn error_and_description(self) -> (&'static str, String) {
        let (error, description) = match self {
            Self::Missing(name) => {
                let description = format!("Missing required parameter: {name}");
                return ("invalid_request", description);
            }
            Self::Invalid(name) => {
                let description = format!("Invalid parameter value for {name}");
                return ("invalid_request", description);
            }
            Self::DuplicateParameter => (
                "invalid_request",
                "OAuth 2 parameters can only have a single value.",
            ),
            Self::UnknownClient => ("invalid_client", "The OAuth client was not found."),
            Self::RedirectUriMismatch => (
                "redirect_uri_mismatch",
                "The redirect URI is not one of those registered for this client.",
            ),
            Self::UnsupportedResponseType => (
                "unsupported_response_type",
                "This mock serves response_type=code alone.",
            ),
            Self::InvalidScope => (
                "invalid_scope",
                "This mock knows the scopes openid, email and profile.",
            ),
            Self::UnusableChallenge => (
                "invalid_request",
                "code_challenge must be 43 characters with code_challenge_method=S256.",
            ),
        };
        (error, description.to_owned())
    }
}
