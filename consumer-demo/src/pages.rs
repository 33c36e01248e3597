//! What people see: one template per page, all in the same frame.
//!
//! The templates escape every value. A name or an address that came from a
//! provider is text that a stranger has typed.

use std::sync::Arc;

use askama::Template;
use askama_web::WebTemplate;
use contract::{LoginError, Provider, ProviderStatus};
use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::time::OffsetDateTime;
use rocket::{Request, catch};

use crate::App;
use crate::accounts::Account;
use crate::broker::Failure;
use crate::browser::{Browser, Visitor};
use crate::session::Via;

/// One of the two flows, as a page offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// `clean.rs`.
    Clean,
    /// `legacy.rs`.
    Legacy,
}

impl Flow {
    fn as_str(self) -> &'static str {
        match self {
            Flow::Clean => "clean",
            Flow::Legacy => "legacy",
        }
    }

    fn start_path(self, provider: Provider) -> String {
        match self {
            Flow::Clean => format!("/login/{provider}"),
            Flow::Legacy => format!("/legacy/login/{provider}"),
        }
    }
}

/// The home page.
#[derive(Template, WebTemplate)]
#[template(path = "home.html")]
pub(crate) struct HomePage {
    visitor: Option<Visitor>,
    flows: [FlowCard; 2],
}

/// What the home page says of one flow.
struct FlowCard {
    flow: Flow,
    choices: [Choice; 2],
}

/// A button: one provider, by one flow.
struct Choice {
    flow: Flow,
    provider: Provider,
    health: Health,
}

/// What the broker says of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Working,
    /// Failing lately. A hint and no more: the next attempt may well succeed,
    /// so the button stays usable.
    Troubled,
    /// Switched off, or never set up: a login would be refused.
    Off,
    /// The broker did not say.
    Unknown,
}

impl HomePage {
    pub(crate) fn new(visitor: Option<Visitor>, statuses: &[ProviderStatus]) -> Self {
        let card = |flow| FlowCard {
            flow,
            choices: Provider::ALL.map(|provider| Choice {
                flow,
                provider,
                health: Health::of(provider, statuses),
            }),
        };
        Self {
            visitor,
            flows: [Flow::Clean, Flow::Legacy].map(card),
        }
    }
}

impl Choice {
    /// A name for tests and styles: `clean-google`.
    fn hook(&self) -> String {
        format!("{}-{}", self.flow.as_str(), self.provider)
    }

    fn start_path(&self) -> String {
        self.flow.start_path(self.provider)
    }
}

impl Health {
    fn of(provider: Provider, statuses: &[ProviderStatus]) -> Self {
        let status = statuses.iter().find(|status| status.id == provider);
        match status {
            None => Health::Unknown,
            Some(status) if !(status.configured && status.enabled) => Health::Off,
            Some(status) if !status.available => Health::Troubled,
            Some(_) => Health::Working,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Health::Working => "working",
            Health::Troubled => "troubled",
            Health::Off => "off",
            Health::Unknown => "unknown",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Health::Working => "Available",
            Health::Troubled => "Having trouble lately",
            Health::Off => "Not offered at the moment",
            Health::Unknown => "Status unknown",
        }
    }
}

/// The profile page.
#[derive(Template, WebTemplate)]
#[template(path = "profile.html")]
pub(crate) struct ProfilePage {
    visitor: Option<Visitor>,
    account: Account,
    via: Via,
}

impl ProfilePage {
    pub(crate) fn new(visitor: Visitor) -> Self {
        Self {
            account: visitor.account.clone(),
            via: visitor.via.clone(),
            visitor: Some(visitor),
        }
    }

    /// The fields that may be null, by their names on the wire.
    fn nullable(&self) -> [(&'static str, Option<&str>); 4] {
        let profile = &self.account.profile;
        [
            ("name", profile.name.as_deref()),
            ("username", profile.username.as_deref()),
            ("email", profile.email.as_deref()),
            ("avatarUrl", profile.avatar_url.as_deref()),
        ]
    }

    /// In place of a picture: how the name begins.
    fn initial(&self) -> String {
        let first = self.account.display_name().chars().next();
        first.into_iter().flat_map(char::to_uppercase).collect()
    }

    fn first_seen(&self) -> String {
        moment(self.account.first_seen_ms)
    }

    fn last_seen(&self) -> String {
        moment(self.account.last_seen_ms)
    }

    /// The picture, if it comes over HTTPS.
    fn avatar(&self) -> Option<&str> {
        let url = self.account.profile.avatar_url.as_deref()?;
        url.starts_with("https://").then_some(url)
    }
}

impl Account {
    /// What to call the person: whatever of this the provider tells.
    fn display_name(&self) -> &str {
        let profile = &self.profile;
        [&profile.name, &profile.username, &profile.email]
            .into_iter()
            .find_map(Option::as_deref)
            .unwrap_or(profile.subject.as_str())
    }
}

/// Why a login did not work, or not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It ended, and not well.
    Failed(LoginError),
    /// It has not ended.
    Pending,
    /// This browser has no login under way here.
    NoSession,
    /// Somebody said no: the broker, or we to what a browser brought.
    Refused,
    /// Nobody knows how it ended.
    Lost,
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(_) => Problem::Refused,
            Failure::Ambiguous(_) => Problem::Lost,
        }
    }
}

impl Problem {
    fn as_str(self) -> &'static str {
        match self {
            Problem::Failed(error) => error.as_str(),
            Problem::Pending => "pending",
            Problem::NoSession => "no_session",
            Problem::Refused => "refused",
            Problem::Lost => "lost",
        }
    }

    fn status(self) -> Status {
        match self {
            // A login that failed is an answer, not an error of HTTP.
            Problem::Failed(_) | Problem::Pending => Status::Ok,
            Problem::NoSession | Problem::Refused => Status::BadRequest,
            Problem::Lost => Status::BadGateway,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Problem::Failed(LoginError::AccessDenied) => "You declined to sign in",
            Problem::Failed(LoginError::InvalidProviderResponse) => {
                "The provider's answer could not be trusted"
            }
            Problem::Failed(LoginError::ProviderUnavailable) => "The provider did not answer",
            Problem::Pending => "Still signing in",
            Problem::NoSession => "No sign-in is under way here",
            Problem::Refused => "This sign-in was refused",
            Problem::Lost => "The answer got lost",
        }
    }

    fn what_happened(self) -> &'static str {
        match self {
            Problem::Failed(LoginError::AccessDenied) => {
                "The sign-in was cancelled, or the permission was not given. Nothing was shared with us."
            }
            Problem::Failed(LoginError::InvalidProviderResponse) => {
                "What came back did not prove who you are, so nobody was signed in. This is not your fault."
            }
            Problem::Failed(LoginError::ProviderUnavailable) => {
                "The provider could not be reached, or is too busy. Try again in a moment, or use the other one."
            }
            Problem::Pending => {
                "The sign-in has been started and has not been finished. Perhaps it is still open in another tab."
            }
            Problem::NoSession => {
                "This browser did not start a sign-in here, or it was more than ten minutes ago. \
                 Cookies must be allowed, and a sign-in must end in the browser in which it began."
            }
            Problem::Refused => {
                "It took too long, was finished before, or did not begin in this browser. Nobody was signed in by it."
            }
            Problem::Lost => {
                "The sign-in service could not be reached, or its answer did not arrive whole. Such a \
                 sign-in is not repeated by itself, because it counts only once. Please start again."
            }
        }
    }
}

/// A page about a [`Problem`], with one button that starts again.
pub(crate) struct Page {
    status: Status,
    template: Box<ProblemPage>,
}

#[derive(Template, WebTemplate)]
#[template(path = "problem.html")]
struct ProblemPage {
    visitor: Option<Visitor>,
    problem: Problem,
    /// Where a form starts the same again, when we know what it was.
    again: Option<Again>,
}

/// The same provider, by the same flow.
struct Again {
    provider: Provider,
    start_path: String,
}

impl Page {
    /// A problem of a login that we can't name: start again at home.
    pub(crate) fn problem(browser: &Browser<'_>, problem: Problem) -> Self {
        Self::new(browser, problem, None)
    }

    /// A problem of a login by `flow`: one click starts the same again.
    pub(crate) fn problem_of(
        browser: &Browser<'_>,
        problem: Problem,
        flow: Flow,
        provider: Provider,
    ) -> Self {
        let again = Again {
            provider,
            start_path: flow.start_path(provider),
        };
        Self::new(browser, problem, Some(again))
    }

    /// What a failed call of the broker means for a login by `flow`.
    pub(crate) fn failure_of(
        browser: &Browser<'_>,
        failure: Failure,
        flow: Flow,
        provider: Provider,
    ) -> Self {
        // For the operator, once, where it is handled. It bears no secrets.
        tracing::warn!(%failure, flow = flow.as_str(), %provider, "a login could not go on");
        Self::problem_of(browser, Problem::from(failure), flow, provider)
    }

    fn new(browser: &Browser<'_>, problem: Problem, again: Option<Again>) -> Self {
        // A problem never touches the cookie. It might belong to an older
        // request, overtaken by one that has just signed this browser in.
        Self {
            status: problem.status(),
            template: Box::new(ProblemPage {
                visitor: browser.visitor(),
                problem,
                again,
            }),
        }
    }
}

impl<'r> Responder<'r, 'static> for Page {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        (self.status, *self.template).respond_to(request)
    }
}

/// Everything that went wrong before a handler was reached.
#[derive(Template, WebTemplate)]
#[template(path = "status.html")]
pub(crate) struct StatusPage {
    visitor: Option<Visitor>,
    code: u16,
    title: &'static str,
    what_happened: &'static str,
    home: String,
}

/// One page for all such statuses: the words differ, the look doesn't.
#[catch(default)]
pub(crate) fn catcher(status: Status, request: &Request<'_>) -> (Status, StatusPage) {
    let status = match status {
        // Rocket's word for `/login/nobody`: a path that isn't there, to us.
        Status::UnprocessableEntity => Status::NotFound,
        status => status,
    };
    let (title, what_happened) = match status.code {
        403 => (
            "This form came from somewhere else",
            "Signing in and out works only from this application's own pages, at its own address.",
        ),
        404 => ("There is no such page", "The address may be mistyped."),
        405 => (
            "Not this way",
            "This address is for a button, not for typing or linking.",
        ),
        413 => (
            "Too much",
            "The request was larger than anything this application needs.",
        ),
        503 => (
            "Not ahead of time",
            "This page is not prepared in advance. It works when you visit it.",
        ),
        500.. => ("Something broke", "The fault is ours. Please try again."),
        _ => ("That did not work", "The request made no sense here."),
    };
    let app: Option<&Arc<App>> = request.rocket().state();
    let page = StatusPage {
        visitor: None,
        code: status.code,
        title,
        what_happened,
        // In full: whoever came by another name of this machine should leave it.
        home: app.map_or_else(String::new, |app| app.config.consumer_base_url.to_string()),
    };
    (status, page)
}

/// A moment, for a person: `2026-11-21 08:05 UTC`.
fn moment(unix_ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1000)).map_or_else(
        |_| "some other time".to_owned(),
        |at| format!("{} {:02}:{:02} UTC", at.date(), at.hour(), at.minute()),
    )
}
