//! The token endpoint and the revocation of tokens.

use serde::Serialize;
use serde_json::json;

use super::authorize::CODE_PREFIX;
use super::id_token::IdToken;
use super::request::Consent;
use super::scopes::Scope;
use super::state::{Access, Google, Grant};
use crate::http::{Params, Request, Response};
use crate::provider::corrupt;
use crate::{Misbehaviour, random};

/// The value that clients were seen to get; the samples in the documents vary.
const EXPIRES_IN_SECONDS: i64 = 3599;

#[derive(Serialize)]
struct TokenResponse {
    access_token: String,
    expires_in: i64,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    token_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
}

/// The reason for an error; its response has the texts that clients were seen to get.
enum Refusal {
    DuplicateParameter,
    Missing(&'static str),
    UnknownClient,
    WrongSecret,
    DeletedClient,
    UnsupportedGrantType,
    MalformedCode,
    UsedCode(&'static str),
    RedirectUriMismatch,
    MissingVerifier,
    WrongVerifier,
    NeedlessVerifier,
}

impl Google {
    pub(super) fn token(&self, request: &Request) -> Response {
        match self.redeem(request) {
            Ok(grant) => self.token_response(grant),
            Err(refusal) => refusal.response(),
        }
    }

    /// Takes the code. A later refusal does not restore it: it is unknown whether Google
    /// keeps its own, and a client has no reason to retry.
    fn redeem(&self, request: &Request) -> Result<Grant, Refusal> {
        let form = request.form();
        if form.has_duplicates() {
            return Err(Refusal::DuplicateParameter);
        }
        let client_id = self.authenticate(request)?;
        if required(form, "grant_type")? != "authorization_code" {
            return Err(Refusal::UnsupportedGrantType);
        }
        let code = required(form, "code")?;
        if !code.starts_with(CODE_PREFIX) {
            return Err(Refusal::MalformedCode);
        }
        let grant = self.codes.take(code, self.context.now_ms());
        // A code of another client is an invalid grant (RFC 6749, section 5.2); Google's
        // description is not confirmed.
        let grant = grant.filter(|grant| grant.request.client.client_id() == client_id);
        grant.ok_or_else(|| self.used_code())?.checked(form)
    }

    /// Accepts `client_secret_basic` and `client_secret_post`, and returns the client's id.
    fn authenticate(&self, request: &Request) -> Result<String, Refusal> {
        let basic = request.basic_credentials();
        let (client_id, client_secret) = match &basic {
            Some((client_id, client_secret)) => (client_id.as_str(), client_secret.as_str()),
            None => (
                required(request.form(), "client_id")?,
                request.form().get("client_secret").unwrap_or_default(),
            ),
        };
        let client = self.context.clients.find(client_id);
        match client.ok_or(Refusal::UnknownClient)? {
            client if !client.has_secret(client_secret) => Err(Refusal::WrongSecret),
            _ => Ok(client_id.to_owned()),
        }
    }

    fn used_code(&self) -> Refusal {
        Refusal::UsedCode(self.context.unconfirmed.google_used_code)
    }

    fn token_response(&self, grant: Grant) -> Response {
        use Misbehaviour as M;
        let misbehaviour = grant.script.misbehaviour;
        let good = uncached(Response::json(200, &self.issue_tokens(grant)));
        match misbehaviour {
            Some(M::TokenRefused) => self.used_code().response(),
            Some(M::DeletedClient) => Refusal::DeletedClient.response(),
            Some(M::RateLimited) => too_many_requests(),
            Some(M::RateLimitedRetryAfter) => too_many_requests().with_header("retry-after", "60"),
            Some(failure @ (M::Keys500 | M::KeysTimeout)) => {
                self.fail_next_keys(failure);
                good
            }
            Some(M::UnknownKid | M::StaleKeys) => {
                // A failure that no request took belongs to an earlier sign-in.
                self.key_failure.clear();
                good
            }
            Some(other) => corrupt::token_response(other, self.context.provider, good),
            None => good,
        }
    }

    fn issue_tokens(&self, grant: Grant) -> TokenResponse {
        let now_ms = self.context.now_ms();
        let access_token = format!("ya29.{}", random::url_safe(160));
        let refresh_token = self.refresh_token_for(&grant);
        let id_token = grant.request.scopes.contain(Scope::OpenId).then(|| {
            let token = IdToken::new(&grant, &self.context, &access_token, now_ms);
            token.signed(self.keys.newest())
        });
        let expires_ms = now_ms + EXPIRES_IN_SECONDS * 1000;
        let access = Access {
            client_id: grant.request.client.client_id().to_owned(),
            user: grant.script.user,
            scopes: grant.request.scopes,
            is_offline: grant.request.is_offline,
            expires_ms,
        };
        let scope = access.scopes.in_token_response();
        self.tokens.put(access_token.clone(), access, expires_ms);
        TokenResponse {
            access_token,
            expires_in: EXPIRES_IN_SECONDS,
            scope,
            refresh_token,
            token_type: "Bearer",
            id_token,
        }
    }

    /// Issues a refresh token for offline access, with a user's first exchange and after
    /// each consent on the page. The mock does not redeem it.
    fn refresh_token_for(&self, grant: &Grant) -> Option<String> {
        if !grant.request.is_offline {
            return None;
        }
        let (client, sub) = (&grant.request.client, &grant.script.user.id);
        let key = format!("{} {sub}", client.client_id());
        let is_first = self.offline_users.read(&key, 0, |()| ()).is_none();
        if is_first {
            self.offline_users.put(key, (), i64::MAX);
        }
        (is_first || grant.consent == Consent::OnThePage)
            .then(|| format!("1//{}", random::url_safe(100)))
    }

    /// Revokes the token in the form or in the query.
    pub(super) fn revoke(&self, request: &Request) -> Response {
        let token = request.form().get("token").or(request.query().get("token"));
        let token = token.unwrap_or_default();
        match self.tokens.take(token, self.context.now_ms()) {
            Some(_) => Response::json(200, &json!({})),
            None => failed(400, "invalid_token", "Token expired or revoked"),
        }
    }
}

impl Grant {
    /// The grant, if `form` has the redirect URI and the verifier of its request.
    fn checked(self, form: &Params) -> Result<Self, Refusal> {
        if required(form, "redirect_uri")? != self.request.redirect_uri.as_str() {
            return Err(Refusal::RedirectUriMismatch);
        }
        match (&self.request.challenge, form.get("code_verifier")) {
            (Some(_), None) => Err(Refusal::MissingVerifier),
            (Some(challenge), Some(verifier)) if !challenge.matches(verifier) => {
                Err(Refusal::WrongVerifier)
            }
            // Otherwise PKCE could be stripped from the first request unnoticed.
            (None, Some(_)) => Err(Refusal::NeedlessVerifier),
            _ => Ok(self),
        }
    }
}

fn required<'a>(form: &'a Params, name: &'static str) -> Result<&'a str, Refusal> {
    form.get(name).ok_or(Refusal::Missing(name))
}

impl Refusal {
    fn response(self) -> Response {
        let (status, error, description) = match self {
            Self::DuplicateParameter => (400, "invalid_request", "Bad Request"),
            Self::Missing(name) => {
                let description = format!("Missing required parameter: {name}");
                return failed(400, "invalid_request", &description);
            }
            Self::UnknownClient => (401, "invalid_client", "The OAuth client was not found."),
            Self::WrongSecret => (401, "invalid_client", "Unauthorized"),
            // The error is documented, its status and description are not.
            Self::DeletedClient => (401, "deleted_client", "The OAuth client was deleted."),
            Self::UnsupportedGrantType => (400, "unsupported_grant_type", "Invalid grant_type"),
            Self::MalformedCode => (400, "invalid_grant", "Malformed auth code."),
            Self::UsedCode(description) => (400, "invalid_grant", description),
            Self::RedirectUriMismatch => (400, "redirect_uri_mismatch", "Bad Request"),
            Self::MissingVerifier => (400, "invalid_grant", "Missing code verifier."),
            Self::WrongVerifier => (400, "invalid_grant", "Invalid code verifier."),
            Self::NeedlessVerifier => (
                400,
                "invalid_grant",
                "code_verifier or verifier is not needed.",
            ),
        };
        failed(status, error, description)
    }
}

fn failed(status: u16, error: &str, description: &str) -> Response {
    let body = json!({ "error": error, "error_description": description });
    uncached(Response::json(status, &body))
}

/// Google's real body is not confirmed.
fn too_many_requests() -> Response {
    failed(429, "rate_limit_exceeded", "Rate Limit Exceeded")
}

fn uncached(response: Response) -> Response {
    response
        .with_header(
            "cache-control",
            "no-cache, no-store, max-age=0, must-revalidate",
        )
        .with_header("pragma", "no-cache")
}
