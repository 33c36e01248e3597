//! The HTML pages: the sign-in page, and the pages that report an error.

use askama::Template;

use crate::http::Response;
use crate::misbehaviour::Group;
use crate::users::KnownUsers;
use crate::{Misbehaviour, Provider, User};

/// The page on which a user chooses an account.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignInPage<'a> {
    pub(crate) provider: Provider,
    /// The path that receives the forms.
    pub(crate) action: &'a str,
    /// The handle of the pending sign-in, which the forms carry.
    pub(crate) handle: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) callback_host: &'a str,
    pub(crate) scope: &'a str,
    pub(crate) users: &'a KnownUsers,
    pub(crate) misbehaviours: &'a [(Group, Vec<Misbehaviour>)],
    /// The reason why the last choice was invalid.
    pub(crate) problem: Option<&'a str>,
}

impl SignInPage<'_> {
    fn is_github(&self) -> bool {
        self.provider == Provider::GitHub
    }
}

#[derive(Template)]
#[template(path = "notice.html")]
struct Notice<'a> {
    provider: Provider,
    heading: &'a str,
    /// The name of the error, where the provider shows it.
    error: Option<&'a str>,
    text: &'a str,
}

/// The sign-in page; 400 if it reports a problem.
pub(crate) fn sign_in(page: &SignInPage<'_>) -> Response {
    let status = if page.problem.is_some() { 400 } else { 200 };
    Response::html(status, rendered(page))
}

/// Google's page for a request that it does not redirect.
pub(crate) fn blocked(provider: Provider, error: &str, text: &str) -> Response {
    let notice = Notice {
        provider,
        heading: "Access blocked: This app’s request is invalid",
        error: Some(error),
        text,
    };
    Response::html(400, rendered(&notice))
}

pub(crate) fn not_found(provider: Provider) -> Response {
    let text = "There is no such page, or not for this method.";
    notice(provider, 404, "404: Not found", text)
}

/// A requested failure of the provider.
pub(crate) fn server_error(provider: Provider, status: u16) -> Response {
    let text = "Something went wrong on our side. This misbehaviour was requested.";
    notice(provider, status, &format!("{status}: Server error"), text)
}

/// A page in place of JSON, as a network sends it that requires a login of its own.
pub(crate) fn network_login(provider: Provider) -> Response {
    let text = "Accept the terms of this network first. This misbehaviour was requested.";
    notice(provider, 200, "Welcome", text)
}

/// The page for a second choice, or a late one.
pub(crate) fn sign_in_over(provider: Provider) -> Response {
    let text = "You have already chosen, or this page has expired. \
                Go back to the app and sign in again.";
    notice(provider, 400, "This sign-in is over", text)
}

fn notice(provider: Provider, status: u16, heading: &str, text: &str) -> Response {
    let notice = Notice {
        provider,
        heading,
        error: None,
        text,
    };
    Response::html(status, rendered(&notice))
}

fn rendered(page: &impl Template) -> String {
    page.render().expect("a template writes to memory alone")
}

/// A letter in place of the picture, whose host does not exist.
fn initial(user: &User) -> char {
    let name = user.name.as_deref().unwrap_or("?");
    name.chars().next().unwrap_or('?')
}
