//! The authorization request: its checks, its scopes, and the redirects back to the client.

use std::collections::BTreeSet;

use crate::expiring_store::HeapSize;
use crate::http::Params;
use crate::provider::authorization::{self, Challenge, ChoicePage, Refusal, RequestDetails};
use crate::provider::pages::{self, Permission};
use crate::settings::{ProviderSettings, RedirectUri};
use crate::{Client, Clients, Provider};

/// An authorization request that passed every check.
pub(crate) type AuthorizationRequest = authorization::AuthorizationRequest<GoogleDetails>;

/// The grant that a code stands for.
pub(crate) type Grant = authorization::Grant<GoogleDetails>;

/// The scopes of a request, and the parameters that GitHub does not have.
pub(crate) struct GoogleDetails {
    pub(super) scopes: Scopes,
    pub(super) nonce: Option<String>,
    /// Whether the client asks for a refresh token.
    pub(super) is_offline: bool,
    /// Whether the user consents on a page, which the callback's `prompt` repeats.
    pub(super) consents_on_page: bool,
}

impl RequestDetails for GoogleDetails {
    fn parse(query: &Params, settings: &ProviderSettings) -> Result<AuthorizationRequest, Refusal> {
        if query.has_duplicates() {
            let description = "OAuth 2 parameters can only have a single value.";
            return Err(invalid_request(description));
        }
        let (client, redirect_uri) = registered(query, &settings.clients)?;
        if required(query, "response_type")? != "code" {
            let description = "This mock serves response_type=code alone.";
            return Err(refusal("unsupported_response_type", description));
        }
        let scopes = Scopes::parse(required(query, "scope")?).ok_or_else(|| {
            let description = "This mock knows the scopes openid, email and profile.";
            refusal("invalid_scope", description)
        })?;
        // Google accepts `plain` too. The mock does not, so that no broker falls back to it
        // unnoticed.
        let challenge = Challenge::of(query).map_err(|_| {
            invalid_request("code_challenge must be 43 characters with code_challenge_method=S256.")
        })?;
        let is_offline = is_offline(query)?;
        let none_error = settings.unconfirmed.google_prompt_none_error;
        let prompt = query.get("prompt").unwrap_or_default();
        let (page, consents_on_page) = parsed_prompt(prompt, none_error)?;
        Ok(AuthorizationRequest {
            client,
            redirect_uri,
            state: query.get("state").map(str::to_owned),
            challenge,
            page,
            details: Self {
                scopes,
                nonce: query.get("nonce").map(str::to_owned),
                is_offline,
                consents_on_page,
            },
        })
    }

    /// In Google's order: state, iss, code, scope, authuser, hd, prompt.
    fn success(grant: &Grant, code: &str, iss: Option<&str>) -> String {
        let authorization::Grant { request, script } = grant;
        let scope = request.details.scopes.in_callback();
        let hd = script.user.hosted_domain.as_deref();
        let prompt = match request.details.consents_on_page {
            true => "consent",
            false => "none",
        };
        request.redirect_uri.with_params([
            ("state", request.state.as_deref()),
            ("iss", iss),
            ("code", Some(code)),
            ("scope", Some(&scope)),
            ("authuser", Some(if hd.is_some() { "1" } else { "0" })),
            ("hd", hd),
            ("prompt", Some(prompt)),
        ])
    }

    fn permissions(&self) -> Vec<Permission> {
        self.scopes.permissions()
    }

    fn consent(&mut self) {
        self.consents_on_page = true;
    }
}

/// The client of a request, and one of its registered redirect URIs.
fn registered(query: &Params, clients: &Clients) -> Result<(Client, RedirectUri), Refusal> {
    let client = clients.find(required(query, "client_id")?);
    let client =
        client.ok_or_else(|| refusal("invalid_client", "The OAuth client was not found."))?;
    let redirect_uri = client.redirect_uri(required(query, "redirect_uri")?);
    let redirect_uri = redirect_uri.ok_or_else(|| {
        let description = "The redirect URI is not one of those registered for this client.";
        refusal("redirect_uri_mismatch", description)
    })?;
    Ok((client, redirect_uri))
}

fn required<'a>(query: &'a Params, name: &str) -> Result<&'a str, Refusal> {
    let missing = || invalid_request(&format!("Missing required parameter: {name}"));
    query.get(name).ok_or_else(missing)
}

/// An error page in place of a redirect.
fn refusal(error: &str, description: &str) -> Refusal {
    let title = format!("Error 400: {error}");
    Refusal::Page(pages::blocked(Provider::Google, &title, description))
}

fn invalid_request(description: &str) -> Refusal {
    refusal("invalid_request", description)
}

fn invalid_value(name: &str) -> Refusal {
    invalid_request(&format!("Invalid parameter value for {name}"))
}

impl HeapSize for GoogleDetails {
    fn heap_bytes(&self) -> usize {
        self.nonce.heap_bytes()
    }
}

/// Reads `prompt`, a list between blanks: which page it asks for, and whether for consent. Its
/// values are case-sensitive, and `none`, which has an error of its own, must be alone.
fn parsed_prompt(list: &str, none_error: &'static str) -> Result<(ChoicePage, bool), Refusal> {
    let values: Vec<_> = list.split_whitespace().collect();
    let is_known = |value: &&str| matches!(*value, "consent" | "select_account");
    match values.as_slice() {
        [] => Ok((ChoicePage::IfNeeded, false)),
        ["none"] => Ok((ChoicePage::Never(none_error), false)),
        values if values.iter().all(is_known) => {
            Ok((ChoicePage::Always, values.contains(&"consent")))
        }
        _ => Err(invalid_value("prompt")),
    }
}

/// Reads `access_type`; `offline` asks for access while the user is away.
fn is_offline(query: &Params) -> Result<bool, Refusal> {
    match query.get("access_type") {
        None | Some("online") => Ok(false),
        Some("offline") => Ok(true),
        Some(_) => Err(invalid_value("access_type")),
    }
}

/// The scopes that the mock supports; any other one is `invalid_scope`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    OpenId,
    Email,
    Profile,
}

const EMAIL: &str = "https://www.googleapis.com/auth/userinfo.email";
const PROFILE: &str = "https://www.googleapis.com/auth/userinfo.profile";

/// The requested scopes, each once, however often a request names it.
#[derive(Clone)]
pub(crate) struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Reads a list between blanks; `None` if it contains an unknown scope.
    pub(super) fn parse(list: &str) -> Option<Self> {
        list.split_whitespace()
            .map(Scope::parse)
            .collect::<Option<_>>()
            .map(Self)
    }

    pub(super) fn contain(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// The callback's names: short and long, `openid` last.
    pub(super) fn in_callback(&self) -> String {
        self.names(&[
            (Scope::Email, "email"),
            (Scope::Profile, "profile"),
            (Scope::Profile, PROFILE),
            (Scope::Email, EMAIL),
            (Scope::OpenId, "openid"),
        ])
    }

    /// The token response's names: `openid` first, the others long.
    pub(super) fn in_token_response(&self) -> String {
        self.names(&[
            (Scope::OpenId, "openid"),
            (Scope::Email, EMAIL),
            (Scope::Profile, PROFILE),
        ])
    }

    /// The permissions in the words of Google's page.
    pub(super) fn permissions(&self) -> Vec<Permission> {
        let known = [
            (Scope::Email, "See your e-mail address", EMAIL),
            (Scope::Profile, "See your name and picture", PROFILE),
            (Scope::OpenId, "Know your Google account", "openid"),
        ];
        let requested = known.into_iter().filter(|(scope, ..)| self.contain(*scope));
        requested
            .map(|(_, text, scope)| Permission {
                text: text.to_owned(),
                scope: scope.to_owned(),
            })
            .collect()
    }

    fn names(&self, names: &[(Scope, &'static str)]) -> String {
        let granted = names.iter().filter(|(scope, _)| self.contain(*scope));
        granted.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
    }
}

impl Scope {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "openid" => Some(Self::OpenId),
            "email" | EMAIL => Some(Self::Email),
            "profile" | PROFILE => Some(Self::Profile),
            _ => None,
        }
    }
}
