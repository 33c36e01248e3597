//! The userinfo endpoint, at its four addresses.

use serde::Serialize;
use serde_json::{Value, json};

use super::discovery::USERINFO_PATH;
use super::id_token::ScopedClaims;
use super::state::{Access, Google};
use crate::http::{Request, Response};

#[derive(Serialize)]
struct UserInfo<'a> {
    sub: &'a str,
    #[serde(flatten)]
    claims: ScopedClaims<'a>,
}

/// The two sets of member names.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// The names of an ID token's claims.
    OpenId,
    /// The names from before OpenID Connect.
    Older,
}

impl Names {
    /// The names that an address uses; `None` if it is not an address of userinfo.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            USERINFO_PATH | "/oauth2/v3/userinfo" => Some(Self::OpenId),
            "/oauth2/v1/userinfo" | "/oauth2/v2/userinfo" => Some(Self::Older),
            _ => None,
        }
    }
}

impl Google {
    /// Reads the token from the `Authorization` header, or from the query (RFC 6750,
    /// section 2.3).
    pub(super) fn userinfo(&self, request: &Request) -> Response {
        let bearer = request.credentials("bearer");
        let token = bearer.or_else(|| request.query().get("access_token"));
        let access = self.access(token.unwrap_or_default());
        match access.zip(Names::at(request.path())) {
            Some((access, names)) => Response::json(200, &account(&access, names)),
            None => refused(),
        }
    }
}

fn account(access: &Access, names: Names) -> Value {
    let account = json!(UserInfo {
        sub: &access.user.id,
        claims: ScopedClaims::of(&access.user, &access.scopes),
    });
    match names {
        Names::OpenId => account,
        Names::Older => with_older_names(account),
    }
}

fn with_older_names(mut account: Value) -> Value {
    for (name, older) in [("sub", "id"), ("email_verified", "verified_email")] {
        if let Some(members) = account.as_object_mut()
            && let Some(value) = members.remove(name)
        {
            members.insert(older.to_owned(), value);
        }
    }
    account
}

fn refused() -> Response {
    let body = json!({ "error": "invalid_request", "error_description": "Invalid Credentials" });
    Response::json(401, &body).with_header("www-authenticate", r#"Bearer error="invalid_token""#)
}
