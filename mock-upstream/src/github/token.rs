//! The token endpoint, whose errors come with status 200.

use serde::Serialize;
use url::form_urlencoded;

use super::{Access, GitHub, Grant};
use crate::answer::Answer;
use crate::call::{Call, Params};
use crate::{Misbehaviour, Unconfirmed, chance, pages, spoil};

/// Where GitHub explains its errors; the error's name follows, with dashes.
const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#";

#[derive(Serialize)]
struct TokenAnswer {
    access_token: String,
    scope: String,
    token_type: &'static str,
}

#[derive(Serialize)]
struct ErrorAnswer {
    error: &'static str,
    error_description: &'static str,
    error_uri: String,
}

/// Why no token is given.
enum Refusal {
    WrongClient,
    BadCode,
    RedirectUriMismatch,
    MissingVerifier(u16),
    WrongVerifier(&'static str),
    UnverifiedUserEmail,
}

/// How the answer is written: as a form, unless JSON was asked for.
#[derive(Clone, Copy)]
enum Encoding {
    Form,
    Json,
}

impl GitHub {
    pub(super) fn token(&self, call: &Call) -> Answer {
        let encoding = Encoding::of(call);
        match self.redeem(call) {
            Ok(grant) => self.grant(grant, encoding),
            Err(refusal) => refusal.answer(encoding),
        }
    }

    /// Takes the code. A refusal after that leaves it taken: whether GitHub's
    /// own would survive is not known, and a client has no business to retry.
    fn redeem(&self, call: &Call) -> Result<Grant, Refusal> {
        self.authenticate(call)?;
        let params = call.form_or_json();
        let code = params.get("code").unwrap_or_default();
        let grant = self.codes.take(code, self.desk.now_ms());
        grant
            .ok_or(Refusal::BadCode)?
            .checked(params, &self.desk.unconfirmed)
    }

    /// By HTTP Basic, which the documents do not name and many clients use, or by
    /// parameters of the body.
    fn authenticate(&self, call: &Call) -> Result<(), Refusal> {
        let given = |name| call.form_or_json().get(name).unwrap_or_default().to_owned();
        let (client_id, client_secret) = call
            .basic_credentials()
            .unwrap_or_else(|| (given("client_id"), given("client_secret")));
        let client = &self.desk.client;
        match client.is(&client_id) && client.has_secret(&client_secret) {
            true => Ok(()),
            false => Err(Refusal::WrongClient),
        }
    }

    fn grant(&self, grant: Grant, encoding: Encoding) -> Answer {
        use Misbehaviour as M;
        let misbehaviour = grant.cast.misbehaviour;
        let good = encoding.answer(&self.token_for(grant));
        match misbehaviour {
            Some(M::ServerError) => pages::server_error(self.desk.provider, 500),
            Some(M::TokenRefused) => Refusal::BadCode.answer(encoding),
            Some(M::UnverifiedUserEmail) => Refusal::UnverifiedUserEmail.answer(encoding),
            Some(other) => spoil::token_answer(other, self.desk.provider, good),
            None => good,
        }
    }

    fn token_for(&self, grant: Grant) -> TokenAnswer {
        let access_token = format!("gho_{}", chance::alphanumeric(36));
        let scope = grant.request.scopes.with_commas();
        let access = Access {
            person: grant.cast.person,
            scopes: grant.request.scopes,
            misbehaviour: grant.cast.misbehaviour,
        };
        // GitHub's tokens have no end, unless one asks for tokens that do.
        self.tokens.put(access_token.clone(), access, i64::MAX);
        TokenAnswer {
            access_token,
            scope,
            token_type: "bearer",
        }
    }
}

impl Grant {
    /// The grant, if `params` come from the client that asked for it.
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
            (Some(challenge), Some(verifier)) if !challenge.admits(verifier) => Err(
                Refusal::WrongVerifier(unconfirmed.github_wrong_verifier_error),
            ),
            _ => Ok(self),
        }
    }
}

impl Refusal {
    fn answer(self, encoding: Encoding) -> Answer {
        let (error, error_description) = self.words();
        let mut answer = encoding.answer(&ErrorAnswer {
            error,
            error_description,
            error_uri: format!("{ERROR_URI}{}", error.replace('_', "-")),
        });
        if let Self::MissingVerifier(status) = self {
            answer.status = status;
        }
        answer
    }

    fn words(&self) -> (&'static str, &'static str) {
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
    fn of(call: &Call) -> Self {
        match call.header("accept") {
            Some(accept) if accept.contains("application/json") => Self::Json,
            _ => Self::Form,
        }
    }

    fn answer(self, body: &impl Serialize) -> Answer {
        let answer = match self {
            Self::Json => Answer::json(200, body),
            Self::Form => {
                let media_type = "application/x-www-form-urlencoded; charset=utf-8";
                Answer::of_type(media_type, 200, form(body))
            }
        };
        answer.with("cache-control", "max-age=0, private, must-revalidate")
    }
}

/// `body`'s members, all of which are text, as a form.
fn form(body: &impl Serialize) -> String {
    let body = serde_json::to_value(body).expect("our own types become JSON");
    let members = body.as_object().into_iter().flatten();
    let pairs = members.filter_map(|(name, value)| Some((name, value.as_str()?)));
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}
