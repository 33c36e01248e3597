//! The token endpoint, whose errors come with status 200.

use serde::Serialize;
use url::form_urlencoded;

use super::state::{Access, GitHub, Grant};
use crate::http::{Params, Request, Response};
use crate::provider::{corrupt, pages};
use crate::{Misbehaviour, Unconfirmed, random};

/// The page that explains an error; the error's name follows, with dashes.
const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#";

#[derive(Serialize)]
struct TokenResponse {
    access_token: String,
    scope: String,
    token_type: &'static str,
}

#[derive(Serialize)]
struct ErrorResponse {
    error: &'static str,
    error_description: &'static str,
    error_uri: String,
}

/// The reason for an error.
enum Refusal {
    WrongClient,
    BadCode,
    RedirectUriMismatch,
    MissingVerifier(u16),
    WrongVerifier(&'static str),
    UnverifiedUserEmail,
}

/// The encoding of a response: a form, unless the client accepts JSON.
#[derive(Clone, Copy)]
enum Encoding {
    Form,
    Json,
}

impl GitHub {
    pub(super) fn token(&self, request: &Request) -> Response {
        let encoding = Encoding::of(request);
        match self.redeem(request) {
            Ok(grant) => self.token_response(grant, encoding),
            Err(refusal) => refusal.response(encoding),
        }
    }

    /// Takes the code. A later refusal does not restore it: it is unknown whether GitHub
    /// keeps its own, and a client has no reason to retry.
    fn redeem(&self, request: &Request) -> Result<Grant, Refusal> {
        let client_id = self.authenticate(request)?;
        let params = request.form_or_json();
        let code = params.get("code").unwrap_or_default();
        let grant = self.codes.take(code, self.context.now_ms());
        grant
            .filter(|grant| grant.request.client.client_id() == client_id)
            .ok_or(Refusal::BadCode)?
            .checked(params, &self.context.unconfirmed)
    }

    /// Accepts HTTP Basic, which is not documented and which many clients use, and
    /// parameters in the body; returns the client's id.
    fn authenticate(&self, request: &Request) -> Result<String, Refusal> {
        let param = |name| {
            request
                .form_or_json()
                .get(name)
                .unwrap_or_default()
                .to_owned()
        };
        let (client_id, client_secret) = request
            .basic_credentials()
            .unwrap_or_else(|| (param("client_id"), param("client_secret")));
        match self.context.clients.find(&client_id) {
            Some(client) if client.has_secret(&client_secret) => Ok(client_id),
            _ => Err(Refusal::WrongClient),
        }
    }

    fn token_response(&self, grant: Grant, encoding: Encoding) -> Response {
        use Misbehaviour as M;
        let misbehaviour = grant.script.misbehaviour;
        let good = encoding.response(&self.issue_token(grant));
        match misbehaviour {
            Some(M::ServerError) => pages::server_error(self.context.provider, 500),
            Some(M::TokenRefused) => Refusal::BadCode.response(encoding),
            Some(M::UnverifiedUserEmail) => Refusal::UnverifiedUserEmail.response(encoding),
            Some(other) => corrupt::token_response(other, self.context.provider, good),
            None => good,
        }
    }

    fn issue_token(&self, grant: Grant) -> TokenResponse {
        let access_token = format!("gho_{}", random::alphanumeric(36));
        let scope = grant.request.scopes.with_commas();
        let access = Access {
            user: grant.script.user,
            scopes: grant.request.scopes,
            misbehaviour: grant.script.misbehaviour,
        };
        // GitHub's tokens do not expire, unless an app is configured otherwise.
        self.tokens.put(access_token.clone(), access, i64::MAX);
        TokenResponse {
            access_token,
            scope,
            token_type: "bearer",
        }
    }
}

impl Grant {
    /// The grant, if `params` have the redirect URI and the verifier of its request.
    fn checked(self, params: &Params, unconfirmed: &Unconfirmed) -> Result<Self, Refusal> {
        let registered = self.request.redirect_uri.as_str();
        if params
            .get("redirect_uri")
            .is_some_and(|named| named != registered)
        {
            return Err(Refusal::RedirectUriMismatch);
        }
        match (&self.request.challenge, params.get("code_verifier")) {
            (Some(_), None) => Err(Refusal::MissingVerifier(
                unconfirmed.github_missing_verifier_status,
            )),
            (Some(challenge), Some(verifier)) if !challenge.matches(verifier) => Err(
                Refusal::WrongVerifier(unconfirmed.github_wrong_verifier_error),
            ),
            _ => Ok(self),
        }
    }
}

impl Refusal {
    fn response(self, encoding: Encoding) -> Response {
        let (error, error_description) = self.error_and_description();
        let mut response = encoding.response(&ErrorResponse {
            error,
            error_description,
            error_uri: format!("{ERROR_URI}{}", error.replace('_', "-")),
        });
        if let Self::MissingVerifier(status) = self {
            response.status = status;
        }
        response
    }

    fn error_and_description(&self) -> (&'static str, &'static str) {
        match self {
            Self::WrongClient => (
                "incorrect_client_credentials",
                "The client_id and/or client_secret passed are incorrect.",
            ),
            Self::BadCode => (
                "bad_verification_code",
                "The code passed is incorrect or expired.",
            ),
            Self::RedirectUriMismatch => (
                "redirect_uri_mismatch",
                "The redirect_uri MUST match the registered callback URL for this application.",
            ),
            Self::UnverifiedUserEmail => (
                "unverified_user_email",
                "The user must have a verified primary email.",
            ),
            Self::WrongVerifier(error) => (error, "The code passed is incorrect or expired."),
            Self::MissingVerifier(_) => (
                "invalid_grant",
                "A code_verifier was not included, but the authorization request included a code_challenge. Codes requested with a code_challenge MUST be redeemed with a code_verifier.",
            ),
        }
    }
}

impl Encoding {
    fn of(request: &Request) -> Self {
        match request.header("accept") {
            Some(accept) if accept.contains("application/json") => Self::Json,
            _ => Self::Form,
        }
    }

    fn response(self, body: &impl Serialize) -> Response {
        let response = match self {
            Self::Json => Response::json(200, body),
            Self::Form => {
                let media_type = "application/x-www-form-urlencoded; charset=utf-8";
                Response::of_type(media_type, 200, form(body))
            }
        };
        response.with_header("cache-control", "max-age=0, private, must-revalidate")
    }
}

/// The members of `body`, all of them text, as a form.
fn form(body: &impl Serialize) -> String {
    let body = serde_json::to_value(body).expect("our own types become JSON");
    let members = body.as_object().into_iter().flatten();
    let pairs = members.filter_map(|(name, value)| Some((name, value.as_str()?)));
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}
