//! The e-mail addresses: `/user/emails`.

use serde::Serialize;

use super::api::Refusal;
use super::failure;
use super::state::GitHub;
use crate::User;
use crate::http::{Params, Request, Response};
use crate::users::Visibility;

const ADDRESSES_PER_PAGE: usize = 30;
const MAX_ADDRESSES_PER_PAGE: usize = 100;

#[derive(Serialize)]
struct Address {
    email: String,
    primary: bool,
    verified: bool,
    visibility: Option<&'static str>,
}

/// The requested part of a list.
struct Page {
    number: usize,
    size: usize,
}

impl GitHub {
    pub(super) fn emails(&self, request: &Request) -> Response {
        self.serve(request, "user, user:email", |access| {
            if !access.scopes.allow_emails() {
                return Refusal::Hidden(self.context.unconfirmed.github_hidden_status).response();
            }
            let page = self.page_of(&addresses(&access.user), &Page::of(request.query()));
            failure::emails(access.misbehaviour, page)
        })
    }

    fn page_of(&self, addresses: &[Address], page: &Page) -> Response {
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
            size: size.min(MAX_ADDRESSES_PER_PAGE),
        }
    }
}

/// All addresses of the account.
///
/// A user with a private address has another one for commits. It comes first here, so that
/// a test detects a broker that reads the first address instead of the primary one.
fn addresses(user: &User) -> Vec<Address> {
    let commits = (user.visibility == Visibility::Private).then(|| Address {
        email: format!("{}+{}@users.noreply.github.example", user.id, user.login()),
        primary: false,
        verified: true,
        visibility: None,
    });
    let others = user.other_emails.iter().map(|email| Address {
        email: email.clone(),
        primary: false,
        verified: true,
        visibility: None,
    });
    let own = user.email.clone().map(|email| Address {
        email,
        primary: true,
        verified: user.email_verified,
        visibility: Some(visibility(user)),
    });
    commits.into_iter().chain(others).chain(own).collect()
}

fn visibility(user: &User) -> &'static str {
    match user.public_email() {
        Some(_) => "public",
        None => "private",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, number: usize, size: usize) {
        let page = Page::of(&Params::parse(query.as_bytes()));
        assert_eq!((page.number, page.size), (number, size), "{query}");
    }

    // REST API reference: per_page is 30 by default and 100 at most.
    #[test]
    fn a_page_has_a_number_and_a_bounded_size() {
        check("", 1, 30);
        check("page=2&per_page=5", 2, 5);
        check("per_page=101", 1, 100);
        check("page=0&per_page=0", 1, 30);
        check("page=-1&per_page=many", 1, 30);
    }
}
