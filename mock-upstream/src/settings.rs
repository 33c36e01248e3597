//! The settings that a mock upstream starts with: the addresses, the registered clients,
//! the clock, and the doubtful facts about the real providers.

use std::net::{Ipv4Addr, SocketAddr};

mod client;
mod provider;
mod switches;
mod unconfirmed;

pub(crate) use client::RedirectUri;
pub use client::{Client, Clients, InvalidClient};
pub use provider::{Provider, UnknownProvider};
pub use switches::{Iss, Mode, UnknownValue};
pub use unconfirmed::{IssuerForm, Unconfirmed};

use crate::users::KnownUsers;
use crate::{Clock, Labels};

/// Everything that a [`MockUpstream`](crate::MockUpstream) starts with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The settings of Google.
    pub google: ProviderSettings,
    /// The settings of GitHub.
    pub github: ProviderSettings,
    /// The clock by which codes, tokens and ID tokens expire.
    pub clock: Clock,
    /// The users that the sign-in pages offer.
    pub users: KnownUsers,
    /// The labels of sign-ins, for entries of a queue that wait for a label.
    pub labels: Labels,
}

impl Settings {
    /// Both providers on free loopback ports, by the system's clock, with the seed users.
    /// GitHub's metadata announces `iss`, so that each of its callbacks carries it.
    #[must_use]
    pub fn new(google: impl Into<Clients>, github: impl Into<Clients>) -> Self {
        Self {
            google: ProviderSettings::new(google),
            github: ProviderSettings {
                iss: Iss::Errors,
                ..ProviderSettings::new(github)
            },
            clock: Clock::system(),
            users: KnownUsers::default(),
            labels: Labels::none(),
        }
    }
}

/// The settings of one provider.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The provider's URL without a trailing slash, if it is not that of the address:
    /// with another host name, or behind a server that terminates TLS.
    pub url: Option<String>,
    /// The clients that it serves.
    pub clients: Clients,
    /// The mode at the start and after a reset.
    pub mode: Mode,
    /// The callbacks that carry `iss`, at the start and after a reset.
    pub iss: Iss,
    /// The number of REST API calls that GitHub grants a user per hour; the real limit
    /// is 5,000. With `None`, calls are counted and never refused, because many tests
    /// sign in the same user.
    pub hourly_calls: Option<u32>,
    /// The unconfirmed facts.
    pub unconfirmed: Unconfirmed,
}

impl ProviderSettings {
    /// A free loopback port, automatic mode, `iss` in every success.
    #[must_use]
    pub fn new(clients: impl Into<Clients>) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            url: None,
            clients: clients.into(),
            mode: Mode::Automatic,
            iss: Iss::On,
            hourly_calls: None,
            unconfirmed: Unconfirmed::default(),
        }
    }
}
