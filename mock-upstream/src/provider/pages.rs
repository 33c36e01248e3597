//! The HTML pages: the sign-in page, the home page, and the pages that report an error.

use std::collections::VecDeque;

use askama::Template;

use super::context::{Next, Queued};
use crate::http::{Params, Response};
use crate::misbehaviour::Ending;
use crate::users::InvalidUser;
use crate::{Misbehaviour, Mode, Provider, User};

/// The path of the home page.
pub(crate) const HOME_PATH: &str = "/";

/// The path that receives the forms of the sign-in page. The real providers have no such path.
pub(crate) const SIGN_IN_PATH: &str = "/mock/sign-in";

/// The path that forgets the user of the last time.
pub(crate) const FORGET_PATH: &str = "/mock/forget";

/// The script of the sign-in page, which works without it.
pub(crate) const SCRIPT_PATH: &str = "/mock/sign-in.js";

/// The `person` of the form's own account in the page's forms.
pub(crate) const OTHER: &str = "other";

/// The `person` of the account of the last time, if it is none of the known users. A dot
/// is in no key of a user.
pub(crate) const LAST_TIME: &str = "last.time";

/// A permission that the client asks for, in the provider's plain words.
pub(crate) struct Permission {
    pub(crate) text: String,
    /// The requested value.
    pub(crate) scope: String,
}

/// The page on which a user chooses an account.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignInPage<'a> {
    pub(crate) provider: Provider,
    /// The handle of the pending sign-in, which the forms carry.
    pub(crate) handle: &'a str,
    /// The name of the client.
    pub(crate) client: &'a str,
    pub(crate) callback_host: &'a str,
    pub(crate) permissions: &'a [Permission],
    pub(crate) rows: &'a [Row<'a>],
    pub(crate) problem: Option<&'a Problem<'a>>,
}

/// The reason why a choice on the page was invalid.
pub(crate) struct Problem<'a> {
    message: String,
    /// The form for an account that is none of the known users, and the reason why it is
    /// refused: it is shown again with its values.
    form: Option<(&'a Params, InvalidUser)>,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(message: String) -> Self {
        let form = None;
        Self { message, form }
    }

    pub(crate) fn of_form(form: &'a Params, refusal: InvalidUser) -> Self {
        Self {
            message: "This account cannot sign in. Correct the field that is marked below."
                .to_owned(),
            form: Some((form, refusal)),
        }
    }
}

/// An account on the page.
pub(crate) struct Row<'a> {
    /// The `person` in the form.
    pub(crate) key: &'a str,
    pub(crate) account: &'a User,
    pub(crate) reason: &'a str,
    /// Whether this browser signs it in again.
    pub(crate) is_of_last_time: bool,
}

impl SignInPage<'_> {
    fn is_github(&self) -> bool {
        self.provider == Provider::GitHub
    }

    /// Whether this browser signs an account in again.
    fn has_last_time(&self) -> bool {
        self.rows.iter().any(|row| row.is_of_last_time)
    }

    /// The value of a field in a refused form.
    fn value(&self, name: &str) -> &str {
        let form = self.problem.and_then(|problem| problem.form);
        form.and_then(|(form, _)| form.get(name))
            .unwrap_or_default()
    }

    fn is_checked(&self, name: &str) -> bool {
        !self.value(name).is_empty()
    }

    /// The advice to the user at the field `id` of a refused form, the only one that can be
    /// wrong; the API's own messages speak of JSON.
    fn id_message(&self) -> Option<&'static str> {
        let (_, refusal) = self.problem?.form?;
        Some(match refusal {
            InvalidUser::GoogleId => "Use 1 to 255 ASCII characters, as Google’s IDs have.",
            InvalidUser::GitHubId => "Use digits without leading zeros, as in 4711.",
            _ => "Enter an ID: an account has at least that.",
        })
    }

    fn endings(&self) -> Vec<Ending> {
        Ending::all_at(self.provider)
    }

    fn common(&self) -> &'static [(&'static str, Misbehaviour)] {
        Misbehaviour::common(self.provider)
    }
}

/// The page at the provider's base URL.
#[derive(Template)]
#[template(path = "home.html")]
pub(crate) struct HomePage<'a> {
    pub(crate) provider: Provider,
    pub(crate) mode: Mode,
    pub(crate) app_url: Option<&'a str>,
    pub(crate) rows: &'a [Row<'a>],
    pub(crate) queue: &'a VecDeque<Queued>,
    /// The endpoints, by what they are.
    pub(crate) urls: &'a [(&'static str, String)],
}

impl HomePage<'_> {
    fn is_automatic(&self) -> bool {
        self.mode == Mode::Automatic
    }

    fn last_time(&self) -> Option<&Row<'_>> {
        self.rows.iter().find(|row| row.is_of_last_time)
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
    /// The URL of the app.
    back: Option<&'a str>,
}

/// The sign-in page; 400 if it reports a problem.
pub(crate) fn sign_in(page: &SignInPage<'_>) -> Response {
    let status = if page.problem.is_some() { 400 } else { 200 };
    Response::html(status, rendered(page))
}

pub(crate) fn home(page: &HomePage<'_>) -> Response {
    Response::html(200, rendered(page))
}

/// The script at [`SCRIPT_PATH`].
pub(crate) fn script() -> Response {
    let script = include_str!("../../static/sign-in.js");
    Response::of_type("text/javascript; charset=utf-8", 200, script)
        .with_header("cache-control", "no-store")
        .with_header("x-content-type-options", "nosniff")
}

/// Google's page for a request that it does not redirect.
pub(crate) fn blocked(provider: Provider, error: &str, text: &str) -> Response {
    let heading = "Access blocked: This app’s request is invalid";
    Notice {
        error: Some(error),
        ..Notice::new(provider, heading, text)
    }
    .response(400)
}

pub(crate) fn not_found(provider: Provider) -> Response {
    notice(provider, 404, "404: Not found", "There is no such page.")
}

/// The page for a method that a path does not have; `allowed` lists those that it has.
pub(crate) fn method_not_allowed(provider: Provider, allowed: &str) -> Response {
    let text = format!("This address answers other methods: {allowed}.");
    notice(provider, 405, "405: Method not allowed", &text).with_header("allow", allowed)
}

/// The page for a request with a header that could be read in two ways, or in none.
pub(crate) fn unclear_header(provider: Provider, name: &str) -> Response {
    let text = format!("The header {name} is there twice, or is not text.");
    notice(provider, 400, "400: Bad request", &text)
}

/// The page for a request without a callback, where none is registered because any is
/// accepted.
pub(crate) fn no_callback(provider: Provider) -> Response {
    let text = "Any client is accepted here, so that none has a registered callback. \
                Add redirect_uri to the request, an absolute http or https URL.";
    notice(provider, 400, "No callback", text)
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

/// The page for a second choice, or a late one, with a link to the app at `back`.
pub(crate) fn sign_in_over(provider: Provider, back: Option<&str>) -> Response {
    let text = "You have already chosen, or this page expired. \
                Go back to the app and sign in again.";
    Notice {
        back,
        ..Notice::new(provider, "This sign-in is over", text)
    }
    .response(400)
}

fn notice(provider: Provider, status: u16, heading: &str, text: &str) -> Response {
    Notice::new(provider, heading, text).response(status)
}

impl<'a> Notice<'a> {
    fn new(provider: Provider, heading: &'a str, text: &'a str) -> Self {
        Self {
            provider,
            heading,
            error: None,
            text,
            back: None,
        }
    }

    fn response(&self, status: u16) -> Response {
        Response::html(status, rendered(self))
    }
}

fn rendered(page: &impl Template) -> String {
    page.render().expect("a template writes to memory alone")
}

fn is_github(provider: Provider) -> bool {
    provider == Provider::GitHub
}

/// A letter in place of the picture, whose host does not exist.
fn initial(user: &User) -> char {
    let name = user.name.as_deref().unwrap_or("?");
    name.chars().next().unwrap_or('?')
}
