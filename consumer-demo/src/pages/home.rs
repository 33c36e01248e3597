//! The home page: a button for each flow and provider.

use askama::Template;
use askama_web::WebTemplate;
use contract::{Provider, ProviderStatus};

use super::flow::Flow;
use crate::browser::CurrentUser;

/// The home page.
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

    fn label(self) -> &'static str {
        match self {
            Health::Working => "Available",
            Health::Troubled => "Recent problems",
            Health::Off => "Not offered at the moment",
            Health::Unknown => "Status unknown",
        }
    }
}
