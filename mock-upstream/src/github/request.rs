//! The authorization request: its checks, its scopes, and the redirects back to the client.

use std::collections::BTreeSet;

use crate::expiring_store::HeapSize;
use crate::http::Params;
use crate::provider::authorization::{self, Challenge, RequestDetails};
use crate::provider::pages::Permission;
use crate::settings::RedirectUri;
use crate::{Client, Clients};

/// The page that explains an error; the error's name follows, with dashes.
const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/#";

/// An authorization request that passed every check.
pub(super) type AuthorizationRequest = authorization::AuthorizationRequest<Scopes>;

/// The grant that a code stands for.
pub(super) type Grant = authorization::Grant<Scopes>;

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

/// Reads an authorization request and checks it.
pub(super) fn parse<'a>(
    query: &'a Params,
    clients: &Clients,
) -> Result<AuthorizationRequest, Refusal<'a>> {
    let client = query.get("client_id").and_then(|id| clients.find(id));
    let client = client.ok_or(Refusal::UnknownClient)?;
    let redirect_uri = redirect_uri(query, &client)?;
    Ok(AuthorizationRequest {
        client,
        challenge: challenge(query, &redirect_uri)?,
        redirect_uri,
        state: query.get("state").map(str::to_owned),
        wants_page: query.get("prompt") == Some("select_account"),
        details: Scopes::parse(query.get("scope").unwrap_or_default()),
    })
}

impl AuthorizationRequest {
    /// The callback with a code.
    pub(super) fn success(&self, code: &str, iss: Option<&str>) -> String {
        let params = [("code", code)].into_iter().chain(self.state_param());
        let iss = iss.map(|iss| ("iss", iss));
        self.redirect_uri.with_params(params.chain(iss))
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
) -> Result<Option<Challenge>, Refusal<'a>> {
    Challenge::of(query).map_err(|_| {
        Refusal::Callback(CallbackError {
            redirect_uri: redirect_uri.clone(),
            state: query.get("state"),
            error: "invalid_request",
            description: "The code_challenge must be 43 characters and the code_challenge_method S256.",
        })
    })
}

/// The requested scopes. Unknown names are kept: GitHub has dozens.
#[derive(Clone)]
pub(super) struct Scopes(BTreeSet<String>);

/// The approximate size of an entry of the set beside its text.
const ENTRY_BYTES: usize = 64;

impl HeapSize for Scopes {
    fn heap_bytes(&self) -> usize {
        self.0.iter().map(|scope| scope.len() + ENTRY_BYTES).sum()
    }
}

impl Scopes {
    pub(super) fn parse(list: &str) -> Self {
        let is_separator = |character: char| character == ',' || character.is_whitespace();
        let names = list.split(is_separator).filter(|name| !name.is_empty());
        Self(names.map(str::to_owned).collect())
    }

    /// Whether `/user` shows the private part of the account.
    pub(super) fn allow_private_profile(&self) -> bool {
        self.contain("read:user")
    }

    pub(super) fn allow_emails(&self) -> bool {
        self.contain("user:email")
    }

    pub(super) fn joined(&self, separator: &str) -> String {
        let names: Vec<_> = self.0.iter().map(String::as_str).collect();
        names.join(separator)
    }

    /// Whether `scope` was requested, alone or as a part of `user`.
    fn contain(&self, scope: &str) -> bool {
        self.0.contains(scope) || self.0.contains("user")
    }
}

impl RequestDetails for Scopes {
    /// In the words of GitHub's page; an unknown scope by its name.
    fn permissions(&self) -> Vec<Permission> {
        let permission = |scope: &String| Permission {
            text: match scope.as_str() {
                "user:email" => "See your e-mail addresses".to_owned(),
                "read:user" => "See your profile".to_owned(),
                "user" => "See and change your profile".to_owned(),
                other => other.to_owned(),
            },
            scope: scope.clone(),
        };
        self.0.iter().map(permission).collect()
    }
}
