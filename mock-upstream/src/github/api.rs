//! The requirements of every REST API call, and the headers of every response.

use serde_json::json;

use super::rate_limit::{self, HourlyCalls};
use super::state::{Access, GitHub};
use crate::http::{Request, Response};

/// The versions known since 2026-03-12; the first is the default.
const VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];

const VERSION: &str = "x-github-api-version";

/// The header with the version that answered. It is general knowledge, not documented.
const SELECTED_VERSION: &str = "x-github-api-version-selected";

/// The number of calls that a user may make per hour.
const HOURLY_CALLS: u32 = 5000;

/// The reason why an API call is refused.
pub(super) enum Refusal {
    NoUserAgent,
    UnknownVersion,
    NoToken,
    BadToken,
    /// The token's scopes do not show this; GitHub hides it with this status.
    Hidden(u16),
    /// The hourly calls are used up.
    TooManyCalls,
}

impl GitHub {
    /// Answers an API call that meets the requirements: counts it, and adds the headers
    /// with the remaining calls and the token's scopes.
    pub(super) fn serve(
        &self,
        request: &Request,
        accepted_scopes: &str,
        serve: impl FnOnce(&Access) -> Response,
    ) -> Response {
        let access = match self.authorized(request) {
            Ok(access) => access,
            Err(refusal) => return refusal.response(),
        };
        let now_ms = self.context.now_ms();
        let calls = self.rate_limit.count(&access.user.id, now_ms);
        let limit = self.context.hourly_calls.unwrap_or(HOURLY_CALLS);
        let is_over = self.context.hourly_calls.is_some() && calls.used > limit;
        let response = match is_over {
            true => Refusal::TooManyCalls.response(),
            false => serve(&access),
        };
        let version = request.header(VERSION).unwrap_or(VERSIONS[0]);
        let response =
            with_rate_limit(response, calls, limit).with_header(SELECTED_VERSION, version);
        match self.context.unconfirmed.github_scope_headers {
            true => response
                .with_header("x-oauth-scopes", access.scopes.joined(", "))
                .with_header("x-accepted-oauth-scopes", accepted_scopes),
            false => response,
        }
    }

    /// The access of the caller's token.
    fn authorized(&self, request: &Request) -> Result<Access, Refusal> {
        if request.header("user-agent").is_none_or(str::is_empty) {
            return Err(Refusal::NoUserAgent);
        }
        let version = request.header(VERSION);
        if version.is_some_and(|version| !VERSIONS.contains(&version)) {
            return Err(Refusal::UnknownVersion);
        }
        let bearer = request.credentials("bearer");
        let token = bearer.or_else(|| request.credentials("token"));
        let token = token.ok_or(Refusal::NoToken)?;
        self.tokens
            .read(token, self.context.now_ms(), Access::clone)
            .ok_or(Refusal::BadToken)
    }
}

/// Adds the headers of the primary limit that the response does not have.
fn with_rate_limit(response: Response, calls: HourlyCalls, limit: u32) -> Response {
    let used = calls.used.min(limit);
    let reset_seconds = calls.resets_ms / 1000;
    response
        .with_default_header("x-ratelimit-limit", limit.to_string())
        .with_default_header("x-ratelimit-remaining", (limit - used).to_string())
        .with_default_header("x-ratelimit-used", used.to_string())
        .with_default_header("x-ratelimit-reset", reset_seconds.to_string())
        .with_default_header("x-ratelimit-resource", "core")
}

impl Refusal {
    pub(super) fn response(self) -> Response {
        let (status, message) = match self {
            Self::NoUserAgent => return no_user_agent(),
            Self::UnknownVersion => (400, "The X-GitHub-Api-Version header is not supported."),
            Self::NoToken => (401, "Requires authentication"),
            Self::BadToken => (401, "Bad credentials"),
            Self::Hidden(403) => (403, "Resource not accessible by this token"),
            Self::Hidden(status) => (status, "Not Found"),
            Self::TooManyCalls => return rate_limit::primary_limit(403),
        };
        let body = json!({
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            "status": status.to_string(),
        });
        Response::json(status, &body)
    }
}

fn no_user_agent() -> Response {
    let text = "Request forbidden by administrative rules. \
                Please make sure your request has a User-Agent header.\n";
    Response::of_type("text/html", 403, text.to_owned())
}
