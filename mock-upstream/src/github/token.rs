//! The token endpoint, whose errors come with status 200.

use serde_json::{Value, json};
use url::form_urlencoded;

use super::request::Grant;
use super::{Access, GitHub};
use crate::http::{Request, Response};
use crate::misbehaviour::{Effect, TokenFault};
use crate::provider::faulty;
use crate::system::{ALPHANUMERIC, random_string};

/// The page that explains an error; the error's name follows, with dashes.
const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#";

/// The reason for an error.
struct Refusal {
    error: &'static str,
    description: &'static str,
}

const WRONG_CLIENT: Refusal = refusal(
    "incorrect_client_credentials",
    "The client_id and/or client_secret passed are incorrect.",
);
const BAD_CODE: Refusal = refusal("bad_verification_code", BAD_CODE_DESCRIPTION);
const OTHER_REDIRECT_URI: Refusal = refusal(
    "redirect_uri_mismatch",
    "The redirect_uri MUST match the registered callback URL for this application.",
);
const NO_VERIFIER: Refusal = refusal(
    "invalid_grant",
    "A code_verifier was not included, but the authorization request included a code_challenge. Codes requested with a code_challenge MUST be redeemed with a code_verifier.",
);

const BAD_CODE_DESCRIPTION: &str = "The code passed is incorrect or expired.";

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
            Err((status, refusal)) => refusal.response(encoding).with_status(status),
        }
    }

    /// Takes the code. A later refusal does not restore it: it is unknown whether GitHub
    /// keeps its own, and a client has no reason to retry. An error has the status 200, as far
    /// as it is known.
    fn redeem(&self, request: &Request) -> Result<Grant, (u16, Refusal)> {
        let client_id = self.authenticate(request).ok_or((200, WRONG_CLIENT))?;
        let params = request.form_or_json();
        let code = params.get("code").unwrap_or_default();
        let grant = self
            .sign_ins
            .redeem(code, &client_id, self.context.now_ms())
            .ok_or((200, BAD_CODE))?;
        let registered = grant.request.redirect_uri.as_str();
        if params
            .get("redirect_uri")
            .is_some_and(|it| it != registered)
        {
            return Err((200, OTHER_REDIRECT_URI));
        }
        let unconfirmed = &self.context.settings.unconfirmed;
        match (&grant.request.challenge, params.get("code_verifier")) {
            (Some(_), None) => Err((unconfirmed.github_missing_verifier_status, NO_VERIFIER)),
            (Some(challenge), Some(verifier)) if !challenge.matches(verifier) => {
                let error = unconfirmed.github_wrong_verifier_error;
                Err((200, refusal(error, BAD_CODE_DESCRIPTION)))
            }
            _ => Ok(grant),
        }
    }

    /// Accepts HTTP Basic, which is not documented and which many clients use, and
    /// parameters in the body; returns the client's id.
    fn authenticate(&self, request: &Request) -> Option<String> {
        let params = request.form_or_json();
        let param = |name| params.get(name).unwrap_or_default().to_owned();
        let (client_id, client_secret) = request
            .basic_credentials()
            .unwrap_or_else(|| (param("client_id"), param("client_secret")));
        let client = self.context.settings.clients.find(&client_id)?;
        client.has_secret(&client_secret).then_some(client_id)
    }

    fn token_response(&self, grant: Grant, encoding: Encoding) -> Response {
        let effect = grant.script.effect;
        let good = encoding.response(&self.issue_token(grant));
        match effect {
            Some(Effect::TokenCall(fault)) => match fault {
                TokenFault::Refused => BAD_CODE.response(encoding),
                TokenFault::Error(status, error, description, retry_after) => {
                    let refused = refusal(error, description).response(encoding);
                    refused
                        .with_status(status)
                        .with_optional_header("retry-after", retry_after)
                }
                TokenFault::Response(fault) => faulty(fault, self.context.provider, good),
            },
            _ => good,
        }
    }

    fn issue_token(&self, grant: Grant) -> Value {
        let access_token = format!("gho_{}", random_string(ALPHANUMERIC, 36));
        let scope = grant.request.details.joined(",");
        let access = Access {
            user: grant.script.user,
            scopes: grant.request.details,
            effect: grant.script.effect,
        };
        // GitHub's tokens do not expire, unless an app is configured otherwise.
        self.tokens.put(access_token.clone(), access, i64::MAX);
        json!({ "access_token": access_token, "scope": scope, "token_type": "bearer" })
    }
}

const fn refusal(error: &'static str, description: &'static str) -> Refusal {
    Refusal { error, description }
}

impl Refusal {
    fn response(&self, encoding: Encoding) -> Response {
        let Self { error, description } = self;
        let anchor = error.replace('_', "-");
        encoding.response(&json!({
            "error": error,
            "error_description": description,
            "error_uri": format!("{ERROR_URI}{anchor}"),
        }))
    }
}

impl Encoding {
    fn of(request: &Request) -> Self {
        match request.header("accept") {
            Some(accept) if accept.contains("application/json") => Self::Json,
            _ => Self::Form,
        }
    }

    /// A response with this object, whose members are text.
    fn response(self, body: &Value) -> Response {
        let response = match self {
            Self::Json => Response::json(200, body),
            Self::Form => {
                let members = body.as_object().into_iter().flatten();
                let pairs = members.filter_map(|(name, value)| Some((name, value.as_str()?)));
                let form = form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(pairs)
                    .finish();
                let media_type = "application/x-www-form-urlencoded; charset=utf-8";
                Response::of_type(media_type, 200, form)
            }
        };
        response.with_header("cache-control", "max-age=0, private, must-revalidate")
    }
}
