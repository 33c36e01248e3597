//! What every call of the REST API has to bring.

use serde_json::json;

use super::{Access, GitHub};
use crate::answer::Answer;
use crate::call::Call;

/// The versions known since 2026-03-12; without the header the first is meant.
const VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];

/// A call of the API that is not served.
pub(super) enum Refusal {
    NoUserAgent,
    UnknownVersion,
    NoToken,
    BadToken,
    /// Also what lacks a scope: GitHub hides what one may not see. For
    /// `/user/emails` the exact answer is not confirmed.
    NotFound,
}

impl GitHub {
    /// What the caller may see.
    pub(super) fn admit(&self, call: &Call) -> Result<Access, Refusal> {
        if call.header("user-agent").is_none_or(str::is_empty) {
            return Err(Refusal::NoUserAgent);
        }
        let version = call.header("x-github-api-version");
        if version.is_some_and(|version| !VERSIONS.contains(&version)) {
            return Err(Refusal::UnknownVersion);
        }
        let token = call.credentials("bearer").ok_or(Refusal::NoToken)?;
        let access = self.tokens.look(token, self.desk.now_ms());
        access.ok_or(Refusal::BadToken)
    }
}

impl Refusal {
    pub(super) fn answer(self) -> Answer {
        let (status, message) = match self {
            Self::NoUserAgent => return no_user_agent(),
            Self::UnknownVersion => (400, "The X-GitHub-Api-Version header is not supported."),
            Self::NoToken => (401, "Requires authentication"),
            Self::BadToken => (401, "Bad credentials"),
            Self::NotFound => (404, "Not Found"),
        };
        let body = json!({
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            "status": status.to_string(),
        });
        Answer::json(status, &body)
    }
}

fn no_user_agent() -> Answer {
    let text = "Request forbidden by administrative rules. \
                Please make sure your request has a User-Agent header.\n";
    Answer::of_type("text/html", 403, text.to_owned())
}
