//! The tokeninfo endpoint: what a token says, for a client that cannot verify it.

use jsonwebtoken::{Header, TokenData};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::id_token::Personal;
use super::{Access, Google};
use crate::answer::Answer;
use crate::call::Call;

pub(super) const PATH: &str = "/tokeninfo";

/// The claims that an access token opens, all of them as text.
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
    /// Takes an ID token or an access token, from the query or a form.
    pub(super) fn tokeninfo(&self, call: &Call) -> Answer {
        let given = |name| call.query().get(name).or_else(|| call.form().get(name));
        let info = match given("id_token") {
            Some(token) => self.id_token_info(token),
            None => self.access_info(given("access_token").unwrap_or_default()),
        };
        info.map_or_else(refused, |info| Answer::json(200, &info))
    }

    /// Checks signature and expiry; the audience is for the client to check.
    fn id_token_info(&self, token: &str) -> Option<Value> {
        let TokenData { header, claims } = self.keys.verified(token)?;
        let ends_ms = claims.get("exp")?.as_i64()?.checked_mul(1000)?;
        (self.desk.now_ms() < ends_ms).then(|| claims_as_text(claims, header))
    }

    fn access_info(&self, token: &str) -> Option<Value> {
        let now_ms = self.desk.now_ms();
        let access = self.tokens.look(token, now_ms)?;
        let client_id = self.desk.client.client_id();
        Some(json!(AccessInfo::of(&access, client_id, now_ms)))
    }
}

impl<'a> AccessInfo<'a> {
    fn of(access: &'a Access, client_id: &'a str, now_ms: i64) -> Self {
        let personal = Personal::of(&access.person, &access.scopes);
        Self {
            azp: client_id,
            aud: client_id,
            sub: &access.person.id,
            scope: access.scopes.in_token_answer(),
            exp: (access.ends_ms / 1000).to_string(),
            expires_in: ((access.ends_ms - now_ms) / 1000).to_string(),
            email: personal.email,
            email_verified: personal.email_verified.map(|it| it.to_string()),
            access_type: match access.is_offline {
                true => "offline",
                false => "online",
            },
        }
    }
}

/// The claims, and the header's members beside them.
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

fn refused() -> Answer {
    let body = json!({ "error": "invalid_token", "error_description": "Invalid Value" });
    Answer::json(400, &body)
}
