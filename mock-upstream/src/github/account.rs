//! The account at the REST API: `/user` and `/user/emails`, each with its misbehaviours.

use serde_json::{Value, json};

use super::api::{bad_token, hidden, primary_limit, secondary_limit};
use super::state::{Access, EMAILS_PATH, GitHub};
use crate::http::{Delivery, Params, Request, Response};
use crate::provider::corrupt::first_half;
use crate::provider::pages;
use crate::users::Visibility;
use crate::{Misbehaviour, Provider, User};

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
            user_response(access.misbehaviour, account(access, &self.context.url))
        })
    }

    pub(super) fn emails(&self, request: &Request) -> Response {
        self.serve(request, "user, user:email", |access| {
            if !access.scopes.allow_emails() {
                return hidden(self.context.settings.unconfirmed.github_hidden_status);
            }
            let page = self.page_of(&addresses(&access.user), &Page::of(request.query()));
            emails_response(access.misbehaviour, page)
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

/// The response of `/user`.
fn user_response(misbehaviour: Option<Misbehaviour>, mut account: Value) -> Response {
    use Misbehaviour as M;
    match misbehaviour {
        Some(M::RateLimited) => primary_limit(403),
        Some(M::RateLimitedRetryAfter) => primary_limit(429).with_header("retry-after", "60"),
        Some(M::SecondaryLimit) => secondary_limit(),
        Some(M::SecondaryLimitRetryAfter) => secondary_limit().with_header("retry-after", "60"),
        Some(M::ProfileRefused) => bad_token(),
        Some(M::ProfileGarbage) => first_half(Response::json(200, &account)),
        Some(M::Profile502) => Response::json(502, &json!({ "message": "Server Error" })),
        Some(M::ProfileTimeout) => Response::json(200, &account).with_delivery(Delivery::Silence),
        Some(M::IdAbsent) => {
            account.as_object_mut().map(|members| members.remove("id"));
            Response::json(200, &account)
        }
        Some(M::IdText) => {
            account["id"] = account["id"].to_string().into();
            Response::json(200, &account)
        }
        _ => Response::json(200, &account),
    }
}

/// The response of `/user/emails`.
fn emails_response(misbehaviour: Option<Misbehaviour>, page: Response) -> Response {
    match misbehaviour {
        Some(Misbehaviour::EmailsGarbage) => first_half(page),
        Some(Misbehaviour::Emails503) => pages::server_error(Provider::GitHub, 503),
        _ => page,
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
