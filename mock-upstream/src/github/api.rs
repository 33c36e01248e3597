//! The requirements of every REST API call, and the headers of every response.

use serde_json::json;

use super::state::{Access, GitHub, HourlyCalls};
use crate::http::{Request, Response};

/// The versions known since 2026-03-12; the first is the default.
const VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];

const VERSION: &str = "x-github-api-version";

/// The header with the version that answered. It is general knowledge, not documented.
const SELECTED_VERSION: &str = "x-github-api-version-selected";

/// The number of calls that a user may make per hour.
const HOURLY_CALLS: u32 = 5000;

/// The pages that explain a refusal.
const REST: &str = "https://docs.github.com/rest";
const LIMITS: &str = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api";

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
            Err(refusal) => return refusal,
        };
        let now_ms = self.context.now_ms();
        let calls = self.rate_limit.count(&access.user.id, now_ms);
        let limit = self.context.settings.hourly_calls.unwrap_or(HOURLY_CALLS);
        let is_over = self.context.settings.hourly_calls.is_some() && calls.used > limit;
        let response = match is_over {
            true => primary_limit(403),
            false => serve(&access),
        };
        let version = request.header(VERSION).unwrap_or(VERSIONS[0]);
        let response =
            with_rate_limit(response, calls, limit).with_header(SELECTED_VERSION, version);
        match self.context.settings.unconfirmed.github_scope_headers {
            true => response
                .with_header("x-oauth-scopes", access.scopes.joined(", "))
                .with_header("x-accepted-oauth-scopes", accepted_scopes),
            false => response,
        }
    }

    /// The access of the caller's token.
    fn authorized(&self, request: &Request) -> Result<Access, Response> {
        if request.header("user-agent").is_none_or(str::is_empty) {
            return Err(no_user_agent());
        }
        let version = request.header(VERSION);
        if version.is_some_and(|version| !VERSIONS.contains(&version)) {
            let message = "The X-GitHub-Api-Version header is not supported.";
            return Err(refused(400, message, REST));
        }
        let bearer = request.credentials("bearer");
        let token = bearer.or_else(|| request.credentials("token"));
        let token = token.ok_or_else(|| refused(401, "Requires authentication", REST))?;
        self.tokens
            .read(token, self.context.now_ms(), Access::clone)
            .ok_or_else(bad_token)
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

pub(super) fn bad_token() -> Response {
    refused(401, "Bad credentials", REST)
}

/// The response to a call for what the token's scopes do not show.
pub(super) fn hidden(status: u16) -> Response {
    let message = match status {
        403 => "Resource not accessible by this token",
        _ => "Not Found",
    };
    refused(status, message, REST)
}

fn no_user_agent() -> Response {
    let text = "Request forbidden by administrative rules. \
                Please make sure your request has a User-Agent header.\n";
    Response::of_type("text/html", 403, text.to_owned())
}

/// The response to a call beyond the hourly limit.
pub(super) fn primary_limit(status: u16) -> Response {
    let message = "API rate limit exceeded for user ID 9000001.";
    refused(status, message, LIMITS).with_header("x-ratelimit-remaining", "0")
}

/// The response to too many calls at once, while most of the hourly calls are left.
pub(super) fn secondary_limit() -> Response {
    let message = "You have exceeded a secondary rate limit. \
                   Please wait a few minutes before you try again.";
    let documentation = format!("{LIMITS}#about-secondary-rate-limits");
    refused(403, message, &documentation).with_header("x-ratelimit-remaining", "4990")
}

fn refused(status: u16, message: &str, documentation: &str) -> Response {
    let body = json!({
        "message": message,
        "documentation_url": documentation,
        "status": status.to_string(),
    });
    Response::json(status, &body)
}
