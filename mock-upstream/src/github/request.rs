//! The authorization request: its checks, its scopes, and the redirects back to the client.

use std::collections::BTreeSet;

use crate::expiring_store::HeapSize;
use crate::http::Params;
use crate::provider::authorization::{self, Challenge, ChoicePage, Refusal, RequestDetails};
use crate::provider::pages::{self, Permission};
use crate::settings::{ProviderSettings, RedirectUri};
use crate::{Client, Provider};

/// The page that explains an error; the error's name follows, with dashes.
pub(super) const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/#";

/// An authorization request that passed every check.
pub(crate) type AuthorizationRequest = authorization::AuthorizationRequest<Scopes>;

/// The grant that a code stands for.
pub(crate) type Grant = authorization::Grant<Scopes>;

/// The requested scopes. Unknown names are kept: GitHub has dozens.
#[derive(Clone)]
pub(crate) struct Scopes(BTreeSet<String>);

impl RequestDetails for Scopes {
    /// That an unknown client gets a 404 is not confirmed.
    fn parse(query: &Params, settings: &ProviderSettings) -> Result<AuthorizationRequest, Refusal> {
        let client = query
            .get("client_id")
            .and_then(|id| settings.clients.find(id));
        let client = client.ok_or_else(|| Refusal::Page(pages::not_found(Provider::GitHub)))?;
        let redirect_uri = redirect_uri(query, &client)?;
        Ok(AuthorizationRequest {
            client,
            challenge: challenge(query, &redirect_uri)?,
            redirect_uri,
            state: query.get("state").map(str::to_owned),
            page: match query.get("prompt") {
                Some("select_account") => ChoicePage::Always,
                _ => ChoicePage::IfNeeded,
            },
            details: Scopes::parse(query.get("scope").unwrap_or_default()),
        })
    }

    fn success(grant: &Grant, code: &str, iss: Option<&str>) -> String {
        let request = &grant.request;
        let params = [
            ("code", Some(code)),
            ("state", request.state.as_deref()),
            ("iss", iss),
        ];
        request.redirect_uri.with_params(params)
    }

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

/// The registered redirect URI that the request names, or the first one if it names none.
/// The error for any other one goes to the first.
fn redirect_uri(query: &Params, client: &Client) -> Result<RedirectUri, Refusal> {
    let first = client.first_redirect_uri();
    let registered = match query.get("redirect_uri") {
        Some(named) => client.redirect_uri(named),
        None => first.cloned(),
    };
    registered.ok_or_else(|| match first {
        None => Refusal::Page(pages::no_callback(Provider::GitHub)),
        Some(first) => {
            let description =
                "The redirect_uri MUST match the registered callback URL for this application.";
            Refusal::Callback(first.clone(), "redirect_uri_mismatch", description)
        }
    })
}

/// GitHub accepts S256 alone. Its error for anything else is not confirmed.
fn challenge(query: &Params, redirect_uri: &RedirectUri) -> Result<Option<Challenge>, Refusal> {
    Challenge::of(query).map_err(|_| {
        let description =
            "The code_challenge must be 43 characters and the code_challenge_method S256.";
        Refusal::Callback(redirect_uri.clone(), "invalid_request", description)
    })
}

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
