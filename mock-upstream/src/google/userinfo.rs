//! The userinfo endpoint.

use serde::Serialize;
use serde_json::json;

use super::Google;
use super::id_token::Personal;
use crate::answer::Answer;
use crate::call::Call;

#[derive(Serialize)]
struct UserInfo<'a> {
    sub: &'a str,
    #[serde(flatten)]
    personal: Personal<'a>,
}

impl Google {
    pub(super) fn userinfo(&self, call: &Call) -> Answer {
        let token = call.credentials("bearer").unwrap_or_default();
        match self.tokens.look(token, self.desk.now_ms()) {
            Some(access) => Answer::json(
                200,
                &UserInfo {
                    sub: &access.person.id,
                    personal: Personal::of(&access.person, &access.scopes),
                },
            ),
            None => refused(),
        }
    }
}

fn refused() -> Answer {
    let body = json!({ "error": "invalid_request", "error_description": "Invalid Credentials" });
    Answer::json(401, &body).with("www-authenticate", r#"Bearer error="invalid_token""#)
}
