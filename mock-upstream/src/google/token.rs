//! The token endpoint and the revocation of tokens.

use serde::Serialize;
use serde_json::json;

use super::authorize::CODE_PREFIX;
use super::id_token::IdToken;
use super::scopes::Scope;
use super::{Access, Consent, Google, Grant};
use crate::answer::Answer;
use crate::call::{Call, Params};
use crate::{Misbehaviour, chance, spoil};

/// What clients were seen to get; the samples in the documents vary.
const EXPIRES_IN_SECONDS: i64 = 3599;

#[derive(Serialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: i64,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    token_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
}

/// Why no token is given, in the words clients were seen to get.
enum Refusal {
    Doubled,
    Missing(&'static str),
    UnknownClient,
    WrongSecret,
    DeletedClient,
    UnsupportedGrantType,
    MalformedCode,
    SpentCode(&'static str),
    RedirectUriMismatch,
    MissingVerifier,
    WrongVerifier,
    NeedlessVerifier,
}

impl Google {
    pub(super) fn token(&self, call: &Call) -> Answer {
        match self.redeem(call) {
            Ok(grant) => self.grant(grant),
            Err(refusal) => refusal.answer(),
        }
    }

    /// Takes the code. A refusal after that leaves it taken: whether Google's
    /// own would survive is not known, and a client has no business to retry.
    fn redeem(&self, call: &Call) -> Result<Grant, Refusal> {
        let form = call.form();
        if form.has_doubles() {
            return Err(Refusal::Doubled);
        }
        self.authenticate(call)?;
        if required(form, "grant_type")? != "authorization_code" {
            return Err(Refusal::UnsupportedGrantType);
        }
        let code = required(form, "code")?;
        if !code.starts_with(CODE_PREFIX) {
            return Err(Refusal::MalformedCode);
        }
        let grant = self.codes.take(code, self.desk.now_ms());
        grant
            .ok_or_else(|| Refusal::SpentCode(self.spent_code()))?
            .checked(form)
    }

    fn spent_code(&self) -> &'static str {
        self.desk.unconfirmed.google_spent_code
    }

    /// By `client_secret_basic` or `client_secret_post`.
    fn authenticate(&self, call: &Call) -> Result<(), Refusal> {
        let basic = call.basic_credentials();
        let (client_id, client_secret) = match &basic {
            Some((client_id, client_secret)) => (client_id.as_str(), client_secret.as_str()),
            None => (
                required(call.form(), "client_id")?,
                call.form().get("client_secret").unwrap_or_default(),
            ),
        };
        match self.desk.client.is(client_id) {
            false => Err(Refusal::UnknownClient),
            true if !self.desk.client.has_secret(client_secret) => Err(Refusal::WrongSecret),
            true => Ok(()),
        }
    }

    fn grant(&self, grant: Grant) -> Answer {
        use Misbehaviour as M;
        let misbehaviour = grant.cast.misbehaviour;
        let good = uncached(Answer::json(200, &self.tokens_for(grant)));
        match misbehaviour {
            Some(M::TokenRefused) => Refusal::SpentCode(self.spent_code()).answer(),
            Some(M::DeletedClient) => Refusal::DeletedClient.answer(),
            Some(M::RateLimited) => too_many_requests(),
            Some(M::RateLimitedRetryAfter) => too_many_requests().with("retry-after", "60"),
            Some(trouble @ (M::Keys500 | M::KeysTimeout)) => {
                self.trouble_keys(trouble);
                good
            }
            Some(other) => spoil::token_answer(other, self.desk.provider, good),
            None => good,
        }
    }

    fn tokens_for(&self, grant: Grant) -> TokenAnswer {
        let now_ms = self.desk.now_ms();
        let access_token = format!("ya29.{}", chance::url_safe(160));
        let refresh_token = self.refresh_token_for(&grant);
        let id_token = grant.request.scopes.contain(Scope::OpenId).then(|| {
            let token = IdToken::new(&grant, &self.desk, &access_token, now_ms);
            token.sealed(self.keys.newest())
        });
        let ends_ms = now_ms + EXPIRES_IN_SECONDS * 1000;
        let access = Access {
            person: grant.cast.person,
            scopes: grant.request.scopes,
            is_offline: grant.request.is_offline,
            ends_ms,
        };
        let scope = access.scopes.in_token_answer();
        self.tokens.put(access_token.clone(), access, ends_ms);
        TokenAnswer {
            access_token,
            expires_in: EXPIRES_IN_SECONDS,
            scope,
            refresh_token,
            token_type: "Bearer",
            id_token,
        }
    }

    /// Given for offline access to a person's first exchange, and again each time
    /// that they were asked for consent. The mock takes none back.
    fn refresh_token_for(&self, grant: &Grant) -> Option<String> {
        if !grant.request.is_offline {
            return None;
        }
        let (sub, now_ms) = (&grant.cast.person.id, self.desk.now_ms());
        let is_first = self.offline.look(sub, now_ms).is_none();
        if is_first {
            self.offline.put(sub.clone(), (), i64::MAX);
        }
        (is_first || grant.consent == Consent::OnThePage)
            .then(|| format!("1//{}", chance::url_safe(100)))
    }

    /// Takes a token back, named in the form or in the query.
    pub(super) fn revoke(&self, call: &Call) -> Answer {
        let token = call.form().get("token").or(call.query().get("token"));
        match self
            .tokens
            .take(token.unwrap_or_default(), self.desk.now_ms())
        {
            Some(_) => Answer::json(200, &json!({})),
            None => failed(400, "invalid_token", "Token expired or revoked"),
        }
    }
}

impl Grant {
    /// The grant, if `form` comes from the client that asked for it.
    fn checked(self, form: &Params) -> Result<Self, Refusal> {
        if required(form, "redirect_uri")? != self.request.redirect_uri.as_str() {
            return Err(Refusal::RedirectUriMismatch);
        }
        match (&self.request.challenge, form.get("code_verifier")) {
            (Some(_), None) => Err(Refusal::MissingVerifier),
            (Some(challenge), Some(verifier)) if !challenge.admits(verifier) => {
                Err(Refusal::WrongVerifier)
            }
            // Else PKCE could be stripped from the first request unnoticed.
            (None, Some(_)) => Err(Refusal::NeedlessVerifier),
            _ => Ok(self),
        }
    }
}

fn required<'a>(form: &'a Params, name: &'static str) -> Result<&'a str, Refusal> {
    form.get(name).ok_or(Refusal::Missing(name))
}

impl Refusal {
    fn answer(self) -> Answer {
        let (status, error, description) = match self {
            Self::Doubled => (400, "invalid_request", "Bad Request"),
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
            Self::SpentCode(description) => (400, "invalid_grant", description),
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

fn failed(status: u16, error: &str, description: &str) -> Answer {
    let body = json!({ "error": error, "error_description": description });
    uncached(Answer::json(status, &body))
}

/// What Google writes then is not confirmed.
fn too_many_requests() -> Answer {
    failed(429, "rate_limit_exceeded", "Rate Limit Exceeded")
}

fn uncached(answer: Answer) -> Answer {
    answer
        .with(
            "cache-control",
            "no-cache, no-store, max-age=0, must-revalidate",
        )
        .with("pragma", "no-cache")
}
