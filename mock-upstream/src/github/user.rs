//! The account: `/user`.

use serde_json::{Map, Value, json};

use super::failure;
use super::state::{Access, GitHub};
use crate::User;
use crate::http::{Request, Response};

impl GitHub {
    pub(super) fn user(&self, request: &Request) -> Response {
        self.serve(request, "", |access| {
            failure::user(access.misbehaviour, account(access, &self.context.url))
        })
    }
}

fn account(access: &Access, url: &str) -> Map<String, Value> {
    let mut account = members(public_part(&access.user, url));
    if access.scopes.allow_private_profile() {
        account.extend(members(private_part()));
    }
    account
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
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

fn private_part() -> Value {
    json!({
        "private_gists": 0,
        "total_private_repos": 0,
        "owned_private_repos": 0,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": true,
        "plan": { "name": "free", "space": 976_562_499, "private_repos": 10_000, "collaborators": 0 },
    })
}
