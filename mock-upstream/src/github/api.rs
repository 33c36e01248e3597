//! The REST API: `/user` and `/user/emails`, the requirements of every call, and the headers of
//! every response.

use serde_json::{Value, json};

use super::{Access, EMAILS_PATH, GitHub, HourlyCalls};
use crate::http::{Params, Request, Response};
use crate::misbehaviour::{AccountFault, Effect};
use crate::provider::faulty;
use crate::users::Visibility;
use crate::{Provider, User};

const ADDRESSES_PER_PAGE: usize = 30;
const MAX_ADDRESSES_PER_PAGE: usize = 100;

/// The requested part of a list.
struct Page {
    number: usize,
    size: usize,
}

impl GitHub {
    pub(super) fn user(&self, request: &Request) -> Response {
        self.serve(request, "", |access| {
            let account = account(access, &self.context.url);
            match access.effect {
                Some(Effect::Account(fault)) => faulty_account(fault, account),
                _ => Response::json(200, &account),
            }
        })
    }

    pub(super) fn emails(&self, request: &Request) -> Response {
        self.serve(request, "user, user:email", |access| {
            if !access.scopes.allow_emails() {
                return hidden(self.context.settings.unconfirmed.github_hidden_status);
            }
            let page = self.page_of(&addresses(&access.user), &Page::of(&request.query));
            match access.effect {
                Some(Effect::Emails(fault)) => faulty(fault, Provider::GitHub, page),
                _ => page,
            }
        })
    }

    fn page_of(&self, addresses: &[Value], page: &Page) -> Response {
        let pages: Vec<_> = addresses.chunks(page.size).collect();
        let shown = pages.get(page.number - 1).copied().unwrap_or_default();
        let response = Response::json(200, &shown);
        match page.number < pages.len() {
            true => response.with_header("link", self.links(page, pages.len())),
            false => response,
        }
    }

    /// The links to the next page and the last (RFC 8288).
    fn links(&self, page: &Page, last: usize) -> String {
        let link = |number: usize, relation: &str| {
            let (url, size) = (&self.context.url, page.size);
            format!(r#"<{url}{EMAILS_PATH}?per_page={size}&page={number}>; rel="{relation}""#)
        };
        format!("{}, {}", link(page.number + 1, "next"), link(last, "last"))
    }
}

/// The response of `/user` with this fault.
fn faulty_account(fault: AccountFault, mut account: Value) -> Response {
    match fault {
        AccountFault::PrimaryLimit(status, retry_after) => {
            primary_limit(status).with_optional_header("retry-after", retry_after)
        }
        AccountFault::SecondaryLimit(retry_after) => {
            secondary_limit().with_optional_header("retry-after", retry_after)
        }
        AccountFault::BadToken => bad_token(),
        AccountFault::ServerError => Response::json(502, &json!({ "message": "Server Error" })),
        AccountFault::Members(change) => {
            change(&mut account);
            Response::json(200, &account)
        }
        AccountFault::Response(fault) => {
            faulty(fault, Provider::GitHub, Response::json(200, &account))
        }
    }
}

fn account(access: &Access, url: &str) -> Value {
    let mut account = public_part(&access.user, url);
    if access.scopes.allow_private_profile() {
        add_private_part(&mut account);
    }
    account
}

fn public_part(user: &User, url: &str) -> Value {
    let login = user.login();
    json!({
        "login": login,
        "id": user.id.parse::<u64>().expect("a user's id was checked for GitHub"),
        "node_id": format!("U_mock{}", user.id),
        "avatar_url": user.picture,
        "gravatar_id": "",
        "url": format!("{url}/users/{login}"),
        "html_url": format!("{url}/{login}"),
        "type": "User",
        "site_admin": false,
        "name": user.name,
        "company": null,
        "blog": "",
        "location": null,
        "email": user.public_email(),
        "hireable": null,
        "bio": null,
        "twitter_username": null,
        "public_repos": 0,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": "2012-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    })
}

fn add_private_part(account: &mut Value) {
    for name in [
        "private_gists",
        "total_private_repos",
        "owned_private_repos",
        "disk_usage",
        "collaborators",
    ] {
        account[name] = 0.into();
    }
    account["two_factor_authentication"] = true.into();
    account["plan"] = json!({
        "name": "free", "space": 976_562_499, "private_repos": 10_000, "collaborators": 0,
    });
}

impl Page {
    fn of(query: &Params) -> Self {
        let number = |name| query.get(name)?.parse().ok().filter(|&number| number > 0);
        let size = number("per_page").unwrap_or(ADDRESSES_PER_PAGE);
        Self {
            number: number("page").unwrap_or(1),
            size: size.min(MAX_ADDRESSES_PER_PAGE),
        }
    }
}

/// All addresses of the account.
///
/// A user with a private address has another one for commits. It comes first here, so that
/// a test detects a broker that reads the first address instead of the primary one.
fn addresses(user: &User) -> Vec<Value> {
    let other = |email: String| json!({ "email": email, "primary": false, "verified": true, "visibility": null });
    let commits = (user.visibility == Visibility::Private)
        .then(|| format!("{}+{}@users.noreply.github.example", user.id, user.login()));
    let others = commits.into_iter().chain(user.other_emails.iter().cloned());
    let visibility = match user.public_email() {
        Some(_) => "public",
        None => "private",
    };
    let own = user.email.as_ref().map(|email| {
        let verified = user.email_verified;
        json!({ "email": email, "primary": true, "verified": verified, "visibility": visibility })
    });
    others.map(other).chain(own).collect()
}

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
    fn serve(
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
        let calls = self.own.count(&access.user.id, now_ms);
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
        self.access(token).ok_or_else(bad_token)
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

fn bad_token() -> Response {
    refused(401, "Bad credentials", REST)
}

/// The response to a call for what the token's scopes do not show.
fn hidden(status: u16) -> Response {
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
fn primary_limit(status: u16) -> Response {
    let message = "API rate limit exceeded for user ID 9000001.";
    refused(status, message, LIMITS).with_header("x-ratelimit-remaining", "0")
}

/// The response to too many calls at once, while most of the hourly calls are left.
fn secondary_limit() -> Response {
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
