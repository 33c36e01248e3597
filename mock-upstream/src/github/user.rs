//! The account: `/user` and `/user/emails`.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::api::Refusal;
use super::{Access, GitHub, trouble};
use crate::Person;
use crate::answer::Answer;
use crate::call::{Call, Params};
use crate::people::Visibility;

const ADDRESSES_PER_PAGE: usize = 30;
const MOST_ADDRESSES_PER_PAGE: usize = 100;

#[derive(Serialize)]
struct Address {
    email: String,
    primary: bool,
    verified: bool,
    visibility: Option<&'static str>,
}

/// A part of a list, as the caller asked for it.
struct Page {
    number: usize,
    size: usize,
}

impl GitHub {
    pub(super) fn user(&self, call: &Call) -> Answer {
        self.serve(call, "", |access| {
            trouble::user(access.misbehaviour, account(access, &self.desk.url))
        })
    }

    pub(super) fn emails(&self, call: &Call) -> Answer {
        self.serve(call, "user, user:email", |access| {
            if !access.scopes.allow_emails() {
                return Refusal::Hidden(self.desk.unconfirmed.github_hidden_status).answer();
            }
            let page = self.page_of(&addresses(&access.person), &Page::of(call.query()));
            trouble::emails(access.misbehaviour, page)
        })
    }

    fn page_of(&self, addresses: &[Address], page: &Page) -> Answer {
        let pages: Vec<_> = addresses.chunks(page.size).collect();
        let shown = pages.get(page.number - 1).copied().unwrap_or_default();
        let answer = Answer::json(200, &shown);
        match page.number < pages.len() {
            true => answer.with("link", self.links(page, pages.len())),
            false => answer,
        }
    }

    /// Where the list goes on (RFC 8288).
    fn links(&self, page: &Page, last: usize) -> String {
        let link = |number: usize, relation: &str| {
            let (url, size) = (&self.desk.url, page.size);
            format!(r#"<{url}/user/emails?per_page={size}&page={number}>; rel="{relation}""#)
        };
        format!("{}, {}", link(page.number + 1, "next"), link(last, "last"))
    }
}

impl Page {
    fn of(query: &Params) -> Self {
        let number = |name| query.get(name)?.parse().ok().filter(|&number| number > 0);
        let size = number("per_page").unwrap_or(ADDRESSES_PER_PAGE);
        Self {
            number: number("page").unwrap_or(1),
            size: size.min(MOST_ADDRESSES_PER_PAGE),
        }
    }
}

/// Every address of the account.
///
/// Who keeps the own one private has another one for commits. It comes first
/// here, so that a broker that takes the first instead of the primary is found
/// out.
fn addresses(person: &Person) -> Vec<Address> {
    let commits = (person.visibility == Visibility::Private).then(|| Address {
        email: format!(
            "{}+{}@users.noreply.github.example",
            person.id,
            person.login()
        ),
        primary: false,
        verified: true,
        visibility: None,
    });
    let others = person.other_emails.iter().map(|email| Address {
        email: email.clone(),
        primary: false,
        verified: true,
        visibility: None,
    });
    let own = person.email.clone().map(|email| Address {
        email,
        primary: true,
        verified: person.email_verified,
        visibility: Some(visibility(person)),
    });
    commits.into_iter().chain(others).chain(own).collect()
}

fn visibility(person: &Person) -> &'static str {
    match person.public_email() {
        Some(_) => "public",
        None => "private",
    }
}

fn account(access: &Access, url: &str) -> Map<String, Value> {
    let mut account = members(public_part(&access.person, url));
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

fn public_part(person: &Person, url: &str) -> Value {
    let login = person.login();
    json!({
        "login": login,
        "id": person.id.parse::<u64>().expect("a person's id was checked for GitHub"),
        "node_id": format!("U_mock{}", person.id),
        "avatar_url": person.picture,
        "gravatar_id": "",
        "url": format!("{url}/users/{login}"),
        "html_url": format!("{url}/{login}"),
        "type": "User",
        "site_admin": false,
        "name": person.name,
        "company": null,
        "blog": "",
        "location": null,
        "email": person.public_email(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, number: usize, size: usize) {
        let page = Page::of(&Params::parse(query.as_bytes()));
        assert_eq!((page.number, page.size), (number, size), "{query}");
    }

    // REST API reference: per_page is 30 unless told and 100 at most.
    #[test]
    fn a_page_has_a_number_and_a_bounded_size() {
        check("", 1, 30);
        check("page=2&per_page=5", 2, 5);
        check("per_page=101", 1, 100);
        check("page=0&per_page=0", 1, 30);
        check("page=-1&per_page=many", 1, 30);
    }
}
