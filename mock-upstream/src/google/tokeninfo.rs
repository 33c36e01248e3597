//! The tokeninfo endpoint: the content of a token, for a client that cannot verify it.

use jsonwebtoken::{Header, TokenData};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::id_token::ScopedClaims;
use super::state::{Access, Google};
use crate::http::{Request, Response};

pub(super) const PATH: &str = "/tokeninfo";

/// The claims that an access token gives access to, all of them as text.
#[derive(Serialize)]
struct AccessInfo<'a> {
    azp: &'a str,
    aud: &'a str,
    sub: &'a str,
    scope: String,
    exp: String,
    expires_in: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<String>,
    access_type: &'static str,
}

impl Google {
    /// Reads an ID token or an access token from the query or a form.
    pub(super) fn tokeninfo(&self, request: &Request) -> Response {
        let param = |name| {
            request
                .query()
                .get(name)
                .or_else(|| request.form().get(name))
        };
        let info = match param("id_token") {
            Some(token) => self.id_token_info(token),
            None => self.access_info(param("access_token").unwrap_or_default()),
        };
        info.map_or_else(refused, |info| Response::json(200, &info))
    }

    /// Checks signature and expiry; the audience is for the client to check.
    fn id_token_info(&self, token: &str) -> Option<Value> {
        let TokenData { header, claims } = self.keys.verified(token)?;
        let expires_ms = claims.get("exp")?.as_i64()?.checked_mul(1000)?;
        (self.context.now_ms() < expires_ms).then(|| claims_as_text(claims, header))
    }

    fn access_info(&self, token: &str) -> Option<Value> {
        let access = self.access(token)?;
        let info = AccessInfo::of(&access, self.context.now_ms());
        Some(json!(info))
    }
}

impl<'a> AccessInfo<'a> {
    fn of(access: &'a Access, now_ms: i64) -> Self {
        let claims = ScopedClaims::of(&access.user, &access.scopes);
        Self {
            azp: &access.client_id,
            aud: &access.client_id,
            sub: &access.user.id,
            scope: access.scopes.in_token_response(),
            exp: (access.expires_ms / 1000).to_string(),
            expires_in: ((access.expires_ms - now_ms) / 1000).to_string(),
            email: claims.email,
            email_verified: claims.email_verified.map(|it| it.to_string()),
            access_type: match access.is_offline {
                true => "offline",
                false => "online",
            },
        }
    }
}

/// The claims and the members of the header.
fn claims_as_text(claims: Map<String, Value>, header: Header) -> Value {
    let alg = Some(("alg".to_owned(), Value::from("RS256")));
    let kid = header.kid.map(|kid| ("kid".to_owned(), Value::from(kid)));
    let typ = header.typ.map(|typ| ("typ".to_owned(), Value::from(typ)));
    claims
        .into_iter()
        .map(|(name, claim)| (name, as_text(claim)))
        .chain(alg)
        .chain(kid)
        .chain(typ)
        .collect()
}

fn as_text(claim: Value) -> Value {
    match claim {
        Value::String(_) => claim,
        other => other.to_string().into(),
    }
}

fn refused() -> Response {
    let body = json!({ "error": "invalid_token", "error_description": "Invalid Value" });
    Response::json(400, &body)
}
