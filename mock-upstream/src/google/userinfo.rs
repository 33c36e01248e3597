//! The userinfo endpoint, at its four addresses, and the tokeninfo endpoint: the content of a
//! token, for a client that cannot verify it.

use jsonwebtoken::{Header, TokenData};
use serde_json::{Map, Value, json};

use super::Google;
use super::id_token::{members, scoped_claims};
use crate::http::{Request, Response};

impl Google {
    /// The account, with the names of an ID token's claims.
    pub(super) fn userinfo(&self, request: &Request) -> Response {
        self.account(request)
            .map_or_else(no_access, |account| Response::json(200, &account))
    }

    /// The account, with the names from before OpenID Connect.
    pub(super) fn older_userinfo(&self, request: &Request) -> Response {
        self.account(request).map_or_else(no_access, |mut account| {
            for (name, older) in [("sub", "id"), ("email_verified", "verified_email")] {
                let value = account.remove(name);
                account.extend(value.map(|value| (older.to_owned(), value)));
            }
            Response::json(200, &account)
        })
    }

    /// The account of the token in the `Authorization` header, or in the query (RFC 6750,
    /// section 2.3).
    fn account(&self, request: &Request) -> Option<Map<String, Value>> {
        let bearer = request.credentials("bearer");
        let token = bearer.or_else(|| request.query.get("access_token"));
        let access = self.access(token?)?;
        let mut account = scoped_claims(&access.user, &access.scopes);
        account.insert("sub".to_owned(), access.user.id.into());
        Some(account)
    }

    /// Reads an ID token or an access token from the query or a form.
    pub(super) fn tokeninfo(&self, request: &Request) -> Response {
        let param = |name| request.query.get(name).or(request.form.get(name));
        let info = match param("id_token") {
            Some(token) => self.id_token_info(token),
            None => self.access_info(param("access_token").unwrap_or_default()),
        };
        info.map_or_else(refused, |info| Response::json(200, &info))
    }

    /// Checks signature and expiry; the audience is for the client to check.
    fn id_token_info(&self, token: &str) -> Option<Value> {
        let TokenData { header, claims } = self.own.keys.verified(token)?;
        let expires_ms = claims.get("exp")?.as_i64()?.checked_mul(1000)?;
        (self.context.now_ms() < expires_ms).then(|| claims_as_text(claims, header))
    }

    /// The scope of an access token, as text.
    fn access_info(&self, token: &str) -> Option<Value> {
        let access = self.access(token)?;
        let claims = scoped_claims(&access.user, &access.scopes);
        let info = members(json!({
            "azp": access.client_id,
            "aud": access.client_id,
            "sub": access.user.id,
            "scope": access.scopes.in_token_response(),
            "exp": (access.expires_ms / 1000).to_string(),
            "expires_in": ((access.expires_ms - self.context.now_ms()) / 1000).to_string(),
            "email": claims.get("email"),
            "email_verified": claims.get("email_verified").map(Value::to_string),
            "access_type": if access.is_offline { "offline" } else { "online" },
        }));
        Some(info.into())
    }
}

fn no_access() -> Response {
    let body = json!({ "error": "invalid_request", "error_description": "Invalid Credentials" });
    Response::json(401, &body).with_header("www-authenticate", r#"Bearer error="invalid_token""#)
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
