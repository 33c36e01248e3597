//! The userinfo endpoint, at its addresses in four versions.

use serde::Serialize;
use serde_json::{Value, json};

use super::id_token::Personal;
use super::{Access, Google, USERINFO_PATH};
use crate::answer::Answer;
use crate::call::Call;

#[derive(Serialize)]
struct UserInfo<'a> {
    sub: &'a str,
    #[serde(flatten)]
    personal: Personal<'a>,
}

/// The two sets of names of the members.
#[derive(Clone, Copy)]
pub(super) enum Names {
    /// As in an ID token.
    OpenId,
    /// As before OpenID Connect.
    Older,
}

impl Names {
    /// The names at one of the addresses; none elsewhere.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            USERINFO_PATH | "/oauth2/v3/userinfo" => Some(Self::OpenId),
            "/oauth2/v1/userinfo" | "/oauth2/v2/userinfo" => Some(Self::Older),
            _ => None,
        }
    }
}

impl Google {
    /// The token comes as a bearer, or in the query (RFC 6750, section 2.3).
    pub(super) fn userinfo(&self, call: &Call, names: Names) -> Answer {
        let bearer = call.credentials("bearer");
        let token = bearer.or_else(|| call.query().get("access_token"));
        match self
            .tokens
            .look(token.unwrap_or_default(), self.desk.now_ms())
        {
            Some(access) => Answer::json(200, &account(&access, names)),
            None => refused(),
        }
    }
}

fn account(access: &Access, names: Names) -> Value {
    let account = json!(UserInfo {
        sub: &access.person.id,
        personal: Personal::of(&access.person, &access.scopes),
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

fn refused() -> Answer {
    let body = json!({ "error": "invalid_request", "error_description": "Invalid Credentials" });
    Answer::json(401, &body).with("www-authenticate", r#"Bearer error="invalid_token""#)
}
