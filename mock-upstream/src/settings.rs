//! The settings that a mock upstream starts with: the addresses, the registered clients,
//! the clock, the labels of sign-ins, and the doubtful facts about the real providers.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

mod client;

pub(crate) use client::RedirectUri;
pub use client::{Client, Clients, InvalidClient};

use crate::Clock;
use crate::users::{KnownUsers, Provider};

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
            labels: Labels::client_ids(),
        }
    }

    pub(crate) fn of(&self, provider: Provider) -> &ProviderSettings {
        match provider {
            Provider::Google => &self.google,
            Provider::GitHub => &self.github,
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

/// The way in which a sign-in is answered while the queue is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A page lets the browser's user choose an account. A queued entry is still used
    /// first, without the page, so that tests can script an interactive stack too.
    Interactive,
    /// The default user signs in, without a page.
    Automatic,
}

/// The callbacks that carry `iss` (RFC 9207). Both providers rolled it out and back in
/// 2026.
///
/// Metadata announces `iss` under [`Iss::Errors`] alone: only then does every callback
/// carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iss {
    /// Every success.
    On,
    /// None.
    Off,
    /// Every success and every error.
    Errors,
}

/// A value that the setting does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("valid: {0}")]
pub struct UnknownValue(&'static str);

impl Mode {
    /// The name that it is parsed from: `interactive`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Automatic => "automatic",
        }
    }
}

impl Iss {
    /// The name that it is parsed from: `errors`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Errors => "errors",
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownValue;

    fn from_str(value: &str) -> Result<Self, UnknownValue> {
        let mut all = [Self::Interactive, Self::Automatic].into_iter();
        let known = all.find(|it| it.name() == value);
        known.ok_or(UnknownValue("`interactive`, `automatic`"))
    }
}

impl FromStr for Iss {
    type Err = UnknownValue;

    fn from_str(value: &str) -> Result<Self, UnknownValue> {
        let mut all = [Self::On, Self::Off, Self::Errors].into_iter();
        let known = all.find(|it| it.name() == value);
        known.ok_or(UnknownValue("`on`, `off`, `errors`"))
    }
}

/// A function from the `state` of an authorization request to the label of its sign-in.
///
/// The mock knows one client. A program that signs users in for several of its own labels
/// its sign-ins, and [queues entries for a label](crate::Upstream::queue_for).
#[derive(Clone)]
pub struct Labels(Arc<LabelOf>);

type LabelOf = dyn Fn(&str, Option<&str>) -> Option<String> + Send + Sync;

impl Labels {
    /// Labels that `label_of` gives to the `state`, once for each sign-in.
    pub fn new(label_of: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |_, state| label_of(state?)))
    }

    /// The label of each sign-in is the id of its client.
    #[must_use]
    pub fn client_ids() -> Self {
        Self(Arc::new(|client_id, _| Some(client_id.to_owned())))
    }

    /// The label of the sign-in of this client with this `state`.
    pub(crate) fn of(&self, client_id: &str, state: Option<&str>) -> Option<String> {
        (self.0)(client_id, state)
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Labels")
    }
}

/// Facts about the real providers that no source confirms, each with the likelier answer as
/// its default. A broker must work with either answer; a test shows that by choosing the
/// other one.
#[derive(Clone, Copy, Debug)]
pub struct Unconfirmed {
    /// The lifetime of Google's codes. A developer's note has "about a minute".
    pub google_code_lifetime_seconds: u32,
    /// Google's description of a code that was used or has expired. Older texts have
    /// "Code was already redeemed.".
    pub google_used_code: &'static str,
    /// The `max-age` of Google's key set; it varies.
    pub google_keys_max_age_seconds: u32,
    /// Whether Google's discovery document announces `iss` while all callbacks carry
    /// it. In February 2026 it did not.
    pub google_announces_iss: bool,
    /// Whether the header of Google's ID token has `typ`.
    pub google_id_token_typ: bool,
    /// The spelling of `iss` in Google's ID token. Google does not document when it
    /// uses the older one.
    pub google_id_token_issuer: IssuerForm,
    /// Google's error for `prompt=none` without a signed-in user:
    /// `interaction_required` or `login_required`.
    pub google_prompt_none_error: &'static str,
    /// The status of GitHub's `invalid_grant` for a missing verifier.
    pub github_missing_verifier_status: u16,
    /// GitHub's error for a wrong verifier.
    pub github_wrong_verifier_error: &'static str,
    /// The status with which GitHub hides what a token's scopes do not show: 404 or 403.
    pub github_hidden_status: u16,
    /// Whether GitHub lists scopes in the headers of its REST API.
    pub github_scope_headers: bool,
}

/// The spelling of Google's issuer in an ID token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerForm {
    /// The issuer's URL.
    Url,
    /// The URL without its scheme: the "legacy implementations" of Google's
    /// reference.
    WithoutScheme,
}

impl Default for Unconfirmed {
    fn default() -> Self {
        Self {
            google_code_lifetime_seconds: 60,
            google_used_code: "Bad Request",
            google_keys_max_age_seconds: 24_442,
            google_announces_iss: false,
            google_id_token_typ: true,
            google_id_token_issuer: IssuerForm::Url,
            google_prompt_none_error: "interaction_required",
            github_missing_verifier_status: 200,
            github_wrong_verifier_error: "bad_verification_code",
            github_hidden_status: 404,
            github_scope_headers: true,
        }
    }
}
