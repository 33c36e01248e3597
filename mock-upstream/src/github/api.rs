//! What every call of the REST API has to bring.

use serde_json::json;

use super::meter::Reading;
use super::{Access, GitHub, trouble};
use crate::answer::Answer;
use crate::call::Call;

/// The versions known since 2026-03-12; without the header the first is meant.
const VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];

const VERSION: &str = "x-github-api-version";

/// Says which version answered; not in the documents, general knowledge.
const SELECTED_VERSION: &str = "x-github-api-version-selected";

/// How many calls a person may make in an hour.
const HOURLY_CALLS: u32 = 5000;

/// A call of the API that is not served.
pub(super) enum Refusal {
    NoUserAgent,
    UnknownVersion,
    NoToken,
    BadToken,
    /// GitHub hides what a token's scopes do not show.
    Hidden(u16),
    /// The hour's calls are used up.
    TooMany,
}

impl GitHub {
    /// What the caller may see.
    fn admit(&self, call: &Call) -> Result<Access, Refusal> {
        if call.header("user-agent").is_none_or(str::is_empty) {
            return Err(Refusal::NoUserAgent);
        }
        let version = call.header(VERSION);
        if version.is_some_and(|version| !VERSIONS.contains(&version)) {
            return Err(Refusal::UnknownVersion);
        }
        let bearer = call.credentials("bearer");
        let token = bearer.or_else(|| call.credentials("token"));
        let token = token.ok_or(Refusal::NoToken)?;
        let access = self.tokens.look(token, self.desk.now_ms());
        access.ok_or(Refusal::BadToken)
    }

    /// Answers one call of somebody who was admitted: counts it, and tells in the
    /// headers how many are left and what the token may.
    pub(super) fn serve(
        &self,
        call: &Call,
        accepted_scopes: &str,
        serve: impl FnOnce(&Access) -> Answer,
    ) -> Answer {
        let access = match self.admit(call) {
            Ok(access) => access,
            Err(refusal) => return refusal.answer(),
        };
        let reading = self.meter.count(&access.person.id, self.desk.now_ms());
        let limit = self.desk.hourly_calls.unwrap_or(HOURLY_CALLS);
        let is_over = self.desk.hourly_calls.is_some() && reading.used > limit;
        let answer = match is_over {
            true => Refusal::TooMany.answer(),
            false => serve(&access),
        };
        let version = call.header(VERSION).unwrap_or(VERSIONS[0]);
        let answer = limits(answer, reading, limit).with(SELECTED_VERSION, version);
        match self.desk.unconfirmed.github_scope_headers {
            true => answer
                .with("x-oauth-scopes", access.scopes.joined(", "))
                .with("x-accepted-oauth-scopes", accepted_scopes),
            false => answer,
        }
    }
}

/// The headers of the primary limit, where the answer does not have its own.
fn limits(answer: Answer, reading: Reading, limit: u32) -> Answer {
    let used = reading.used.min(limit);
    answer
        .with_default("x-ratelimit-limit", limit.to_string())
        .with_default("x-ratelimit-remaining", (limit - used).to_string())
        .with_default("x-ratelimit-used", used.to_string())
        .with_default("x-ratelimit-reset", (reading.resets_ms / 1000).to_string())
        .with_default("x-ratelimit-resource", "core")
}

impl Refusal {
    pub(super) fn answer(self) -> Answer {
        let (status, message) = match self {
            Self::NoUserAgent => return no_user_agent(),
            Self::UnknownVersion => (400, "The X-GitHub-Api-Version header is not supported."),
            Self::NoToken => (401, "Requires authentication"),
            Self::BadToken => (401, "Bad credentials"),
            Self::Hidden(403) => (403, "Resource not accessible by this token"),
            Self::Hidden(status) => (status, "Not Found"),
            Self::TooMany => return trouble::primary_limit(403),
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
