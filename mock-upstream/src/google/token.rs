//! The token endpoint and the revocation of tokens.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::id_token::{id_token, members};
use super::request::{AuthorizationRequest, Grant, Scope};
use super::{Access, CODE_PREFIX, Google};
use crate::http::{Params, Request, Response};
use crate::misbehaviour::{Effect, IdTokenFault, TokenFault};
use crate::provider::faulty;
use crate::system::{URL_SAFE, random_string};

/// The value that clients were seen to get; the samples in the documents vary.
const EXPIRES_IN_SECONDS: i64 = 3599;

/// The reason for an error, as clients were seen to get it.
struct Refusal {
    status: u16,
    error: &'static str,
    description: Cow<'static, str>,
}

const DUPLICATE_PARAMETER: Refusal = refusal(400, "invalid_request", "Bad Request");
const UNKNOWN_CLIENT: Refusal = refusal(401, "invalid_client", "The OAuth client was not found.");
const WRONG_SECRET: Refusal = refusal(401, "invalid_client", "Unauthorized");
const OTHER_GRANT_TYPE: Refusal = refusal(400, "unsupported_grant_type", "Invalid grant_type");
const MALFORMED_CODE: Refusal = refusal(400, "invalid_grant", "Malformed auth code.");
const OTHER_REDIRECT_URI: Refusal = refusal(400, "redirect_uri_mismatch", "Bad Request");
const NO_VERIFIER: Refusal = refusal(400, "invalid_grant", "Missing code verifier.");
const WRONG_VERIFIER: Refusal = refusal(400, "invalid_grant", "Invalid code verifier.");
const NEEDLESS_VERIFIER: Refusal = refusal(
    400,
    "invalid_grant",
    "code_verifier or verifier is not needed.",
);
const NO_TOKEN: Refusal = refusal(400, "invalid_token", "Token expired or revoked");

impl Google {
    pub(super) fn token(&self, request: &Request) -> Response {
        let now_ms = self.context.now_ms();
        match self.redeem(request, now_ms) {
            Ok(grant) => self.token_response(grant, now_ms),
            Err(refusal) => refusal.response(),
        }
    }

    /// Takes the code. A later refusal does not restore it: it is unknown whether Google
    /// keeps its own, and a client has no reason to retry.
    fn redeem(&self, request: &Request, now_ms: i64) -> Result<Grant, Refusal> {
        let form = &request.form;
        if form.has_duplicates() {
            return Err(DUPLICATE_PARAMETER);
        }
        let client_id = self.authenticate(request)?;
        if required(form, "grant_type")? != "authorization_code" {
            return Err(OTHER_GRANT_TYPE);
        }
        let code = required(form, "code")?;
        if !code.starts_with(CODE_PREFIX) {
            return Err(MALFORMED_CODE);
        }
        // A code of another client is an invalid grant (RFC 6749, section 5.2); Google's
        // description is not confirmed.
        let grant = self.sign_ins.redeem(code, &client_id, now_ms);
        let grant = grant.ok_or_else(|| self.used_code())?;
        check(&grant.request, form).map(|()| grant)
    }

    /// Accepts `client_secret_basic` and `client_secret_post`, and returns the client's id.
    fn authenticate(&self, request: &Request) -> Result<String, Refusal> {
        let basic = request.basic_credentials();
        let (client_id, client_secret) = match &basic {
            Some((client_id, client_secret)) => (client_id.as_str(), client_secret.as_str()),
            None => (
                required(&request.form, "client_id")?,
                request.form.get("client_secret").unwrap_or_default(),
            ),
        };
        let client = self.context.settings.clients.find(client_id);
        match client.ok_or(UNKNOWN_CLIENT)? {
            client if !client.has_secret(client_secret) => Err(WRONG_SECRET),
            _ => Ok(client_id.to_owned()),
        }
    }

    fn used_code(&self) -> Refusal {
        refusal(
            400,
            "invalid_grant",
            self.context.settings.unconfirmed.google_used_code,
        )
    }

    fn token_response(&self, grant: Grant, now_ms: i64) -> Response {
        let effect = grant.script.effect;
        let good = uncached(Response::json(200, &self.issue_tokens(grant, now_ms)));
        match effect {
            Some(Effect::TokenCall(fault)) => match fault {
                TokenFault::Refused => self.used_code().response(),
                TokenFault::Error(status, error, description, retry_after) => {
                    let refused = refusal(status, error, description).response();
                    refused.with_optional_header("retry-after", retry_after)
                }
                TokenFault::Response(fault) => faulty(fault, self.context.provider, good),
            },
            Some(Effect::IdToken(IdTokenFault::Keys(fault))) => {
                self.own.keys.fail_next(fault, now_ms);
                good
            }
            Some(Effect::IdToken(IdTokenFault::UnknownKid | IdTokenFault::StaleKeys)) => {
                // A failure that no request took belongs to an earlier sign-in.
                self.own.keys.clear_failure();
                good
            }
            _ => good,
        }
    }

    fn issue_tokens(&self, grant: Grant, now_ms: i64) -> Map<String, Value> {
        let access_token = format!("ya29.{}", random_string(URL_SAFE, 160));
        let refresh_token = self.refresh_token_for(&grant);
        let has_id_token = grant.request.details.scopes.contain(Scope::OpenId);
        let key = self.own.keys.newest();
        let id_token =
            has_id_token.then(|| id_token(&grant, &self.context, &access_token, key, now_ms));
        let expires_ms = now_ms + EXPIRES_IN_SECONDS * 1000;
        let access = Access {
            client_id: grant.request.client.client_id().to_owned(),
            user: grant.script.user,
            scopes: grant.request.details.scopes,
            is_offline: grant.request.details.is_offline,
            expires_ms,
        };
        let scope = access.scopes.in_token_response();
        self.tokens.put(access_token.clone(), access, expires_ms);
        members(json!({
            "access_token": access_token,
            "expires_in": EXPIRES_IN_SECONDS,
            "scope": scope,
            "refresh_token": refresh_token,
            "token_type": "Bearer",
            "id_token": id_token,
        }))
    }

    /// Issues a refresh token for offline access, with a user's first exchange and after
    /// each consent on the page. The mock does not redeem it.
    fn refresh_token_for(&self, grant: &Grant) -> Option<String> {
        if !grant.request.details.is_offline {
            return None;
        }
        let (client, sub) = (&grant.request.client, &grant.script.user.id);
        let key = format!("{} {sub}", client.client_id());
        let is_first = self.own.offline_users.read(&key, 0, |()| ()).is_none();
        if is_first {
            self.own.offline_users.put(key, (), i64::MAX);
        }
        (is_first || grant.request.details.consents_on_page)
            .then(|| format!("1//{}", random_string(URL_SAFE, 100)))
    }

    /// Revokes the token in the form or in the query.
    pub(super) fn revoke(&self, request: &Request) -> Response {
        let token = request.form.get("token").or(request.query.get("token"));
        let token = token.unwrap_or_default();
        match self.tokens.take(token, self.context.now_ms()) {
            Some(_) => Response::json(200, &json!({})),
            None => NO_TOKEN.response(),
        }
    }
}

/// Checks that `form` has the redirect URI and the verifier of `request`.
fn check(request: &AuthorizationRequest, form: &Params) -> Result<(), Refusal> {
    if required(form, "redirect_uri")? != request.redirect_uri.as_str() {
        return Err(OTHER_REDIRECT_URI);
    }
    match (&request.challenge, form.get("code_verifier")) {
        (Some(_), None) => Err(NO_VERIFIER),
        (Some(challenge), Some(verifier)) if !challenge.matches(verifier) => Err(WRONG_VERIFIER),
        // Otherwise PKCE could be stripped from the first request unnoticed.
        (None, Some(_)) => Err(NEEDLESS_VERIFIER),
        _ => Ok(()),
    }
}

fn required<'a>(form: &'a Params, name: &str) -> Result<&'a str, Refusal> {
    let missing = || Refusal {
        status: 400,
        error: "invalid_request",
        description: format!("Missing required parameter: {name}").into(),
    };
    form.get(name).ok_or_else(missing)
}

const fn refusal(status: u16, error: &'static str, description: &'static str) -> Refusal {
    let description = Cow::Borrowed(description);
    Refusal {
        status,
        error,
        description,
    }
}

impl Refusal {
    fn response(&self) -> Response {
        let body = json!({ "error": self.error, "error_description": self.description });
        uncached(Response::json(self.status, &body))
    }
}

fn uncached(response: Response) -> Response {
    response
        .with_header(
            "cache-control",
            "no-cache, no-store, max-age=0, must-revalidate",
        )
        .with_header("pragma", "no-cache")
}
