//! The pages that users see, a template each, all in the same frame: the home page, the
//! profile, and the page for a request that no handler answered. The one about a login that
//! did not work has a file of its own.
//!
//! The templates escape every value. A name or an address that came from a
//! provider is text that a stranger has typed.

mod problem;

use std::sync::Arc;

use askama::Template;
use askama_web::WebTemplate;
use contract::{Provider, ProviderStatus};
use rocket::http::Status;
use rocket::time::OffsetDateTime;
use rocket::{Request, catch};

use crate::accounts::Account;
use crate::app::App;
use crate::browser::CurrentUser;
use crate::session::{Flow, Via};

pub(crate) use problem::{Problem, ProblemPage};

/// The home page: a button for each flow and provider.
#[derive(Template, WebTemplate)]
#[template(path = "home.html")]
pub(crate) struct HomePage {
    user: Option<CurrentUser>,
    flows: [FlowCard; 2],
}

/// The section of one flow.
struct FlowCard {
    flow: Flow,
    buttons: [StartButton; 2],
}

/// The button that starts a login with one provider by one flow.
struct StartButton {
    flow: Flow,
    provider: Provider,
    health: Health,
}

/// The status of a provider, as the broker reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Working,
    /// Failing lately. A hint and no more: the next attempt may well succeed,
    /// so the button stays usable.
    Troubled,
    /// Switched off, or not configured: a login would be refused.
    Off,
    /// The broker did not answer.
    Unknown,
}

impl HomePage {
    /// Whether the broker did not answer.
    fn is_unreachable(&self) -> bool {
        let mut buttons = self.flows.iter().flat_map(|card| &card.buttons);
        buttons.all(|button| button.health == Health::Unknown)
    }

    pub(crate) fn new(user: Option<CurrentUser>, statuses: &[ProviderStatus]) -> Self {
        let card = |flow| FlowCard {
            flow,
            buttons: Provider::ALL.map(|provider| StartButton {
                flow,
                provider,
                health: Health::of(provider, statuses),
            }),
        };
        Self {
            user,
            flows: [Flow::Clean, Flow::Legacy].map(card),
        }
    }
}

impl StartButton {
    /// A name for tests and styles: `clean-google`.
    fn name(&self) -> String {
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

    /// The hint below the button, where there is something to say.
    fn label(self) -> Option<&'static str> {
        match self {
            Health::Working => None,
            Health::Troubled => Some("Recent problems"),
            Health::Off => Some("Not offered at the moment"),
            Health::Unknown => Some("Status unknown"),
        }
    }
}

/// The profile page: the profile as the broker sent it, and the account.
#[derive(Template, WebTemplate)]
#[template(path = "profile.html")]
pub(crate) struct ProfilePage {
    user: Option<CurrentUser>,
    account: Account,
    via: Via,
}

impl ProfilePage {
    pub(crate) fn new(user: CurrentUser) -> Self {
        Self {
            account: user.account.clone(),
            via: user.via.clone(),
            user: Some(user),
        }
    }

    /// The fields that may be null, by their JSON names.
    fn nullable(&self) -> [(&'static str, Option<&str>); 4] {
        let profile = &self.account.profile;
        [
            ("name", profile.name.as_deref()),
            ("username", profile.username.as_deref()),
            ("email", profile.email.as_deref()),
            ("avatarUrl", profile.avatar_url.as_deref()),
        ]
    }

    /// The initial that is shown in place of a picture.
    fn initial(&self) -> String {
        let first = self.account.display_name().chars().next();
        first.into_iter().flat_map(char::to_uppercase).collect()
    }

    fn first_seen(&self) -> String {
        date_and_time(self.account.first_seen_ms)
    }

    fn last_seen(&self) -> String {
        date_and_time(self.account.last_seen_ms)
    }

    // [page]
    /// The picture, if it comes over HTTPS.
    fn avatar(&self) -> Option<&str> {
        let url = self.account.profile.avatar_url.as_deref()?;
        url.starts_with("https://").then_some(url)
    }
    // [/]
}

/// A time as a user reads it: `2026-11-21 08:05 UTC`.
fn date_and_time(unix_ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1000)).map_or_else(
        |_| "some other time".to_owned(),
        |at| format!("{} {:02}:{:02} UTC", at.date(), at.hour(), at.minute()),
    )
}

/// The page for an error status.
#[derive(Template, WebTemplate)]
#[template(path = "status.html")]
pub(crate) struct StatusPage {
    user: Option<CurrentUser>,
    code: u16,
    title: &'static str,
    explanation: &'static str,
    base_url: String,
}

// [error_page]
/// Answers every request that was refused before a handler ran.
#[catch(default)]
pub(crate) fn catcher(status: Status, request: &Request<'_>) -> (Status, StatusPage) {
    let status = match status {
        // Rocket's status for `/login/unknown`: for us a path that doesn't exist.
        Status::UnprocessableEntity => Status::NotFound,
        status => status,
    };
    let (title, explanation) = match status.code {
        403 => (
            "This form came from another site",
            "Signing in and out works only from this application's own pages, at its own address.",
        ),
        404 => ("There is no such page", "The address may be mistyped."),
        405 => (
            "This page does not open like this",
            "Its address is not for typing or linking. Use the buttons on the home page.",
        ),
        413 => (
            "The request is too large",
            "It was larger than anything this application needs.",
        ),
        503 => (
            "Not loaded ahead of time",
            "Your browser asked for this page in advance. Visit it to load it.",
        ),
        500.. => ("Something broke", "The fault is ours. Please try again."),
        _ => ("That did not work", "The request made no sense here."),
    };
    let app: Option<&Arc<App>> = request.rocket().state();
    let page = StatusPage {
        user: None,
        code: status.code,
        title,
        explanation,
        // In full: a user who came by another name of this machine should leave it.
        base_url: app.map_or_else(String::new, |app| app.config.consumer_base_url.to_string()),
    };
    (status, page)
}
// [/]
