//! What a browser sees: the sign-in page, and the pages that refuse.

use askama::Template;

use crate::answer::Answer;
use crate::misbehaviour::Group;
use crate::people::Seeded;
use crate::{Misbehaviour, Person, Provider};

/// The page that asks who signs in.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignInPage<'a> {
    pub(crate) provider: Provider,
    /// Where the forms go.
    pub(crate) action: &'a str,
    /// What the forms carry in place of the request.
    pub(crate) handle: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) callback_host: &'a str,
    pub(crate) scope: &'a str,
    pub(crate) people: &'a [Seeded],
    pub(crate) misbehaviours: &'a [(Group, Vec<Misbehaviour>)],
    /// Why the last choice was not taken.
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
    /// The error's name, where the provider shows it.
    error: Option<&'a str>,
    says: &'a str,
}

/// Shows the sign-in page; with 400 when it tells of a problem.
pub(crate) fn sign_in(page: &SignInPage<'_>) -> Answer {
    let status = if page.problem.is_some() { 400 } else { 200 };
    Answer::html(status, rendered(page))
}

/// Google does not go on with a request, and no browser comes back.
pub(crate) fn blocked(provider: Provider, error: &str, says: &str) -> Answer {
    let notice = Notice {
        provider,
        heading: "Access blocked: This app’s request is invalid",
        error: Some(error),
        says,
    };
    Answer::html(400, rendered(&notice))
}

pub(crate) fn not_found(provider: Provider) -> Answer {
    let says = "There is no such page, or not for this method.";
    notice(provider, 404, "404: Not found", says)
}

/// Trouble of the provider's own, which was asked for.
pub(crate) fn server_error(provider: Provider, status: u16) -> Answer {
    let says = "Something went wrong on our side. This was asked for: it is a misbehaviour.";
    notice(provider, status, &format!("{status}: Server error"), says)
}

/// A page where there should be none, like that of a network which wants one to
/// log in first.
pub(crate) fn in_the_way(provider: Provider) -> Answer {
    let says = "Accept the terms of this network first. It is a misbehaviour.";
    notice(provider, 200, "Welcome", says)
}

/// A choice that comes twice, or too late.
pub(crate) fn sign_in_over(provider: Provider) -> Answer {
    let says = "A choice was already made here, or it took too long. \
                Go back to the application and sign in again.";
    notice(provider, 400, "This sign-in is over", says)
}

fn notice(provider: Provider, status: u16, heading: &str, says: &str) -> Answer {
    let notice = Notice {
        provider,
        heading,
        error: None,
        says,
    };
    Answer::html(status, rendered(&notice))
}

fn rendered(page: &impl Template) -> String {
    page.render().expect("a template writes to memory alone")
}

/// A letter in place of the picture, which is on a host that does not exist.
fn initial(person: &Person) -> char {
    let name = person.name.as_deref().unwrap_or("?");
    name.chars().next().unwrap_or('?')
}
