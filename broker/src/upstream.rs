//! The providers: where an upstream login leads, and who came back from it.
//!
//! One file per provider's dialect; [`client`] makes the calls, [`normalize`]
//! turns what they say about a person into a [`Profile`]. A provider's tokens
//! live for the length of one function here and go nowhere else.

mod access_token;
mod client;
mod failure;
pub mod github;
pub mod google;
mod health;
#[cfg(test)]
mod hostile;
mod normalize;
pub mod online;

use std::num::NonZeroU32;

use contract::{Profile, Provider, ProviderStatus};

use crate::clock::Clock;
use crate::config::UpstreamConfig;
use crate::model::UnixMs;
use crate::model::upstream_login::UpstreamLogin;
use crate::query::Query;
use client::Client;
pub(crate) use client::{Call, Hear};
pub use failure::Failure;
use github::GitHub;
use google::Google;
use health::Health;

/// Whether a provider must let the person choose an account, and so click once,
/// or may send back at once whoever approved before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountPicker {
    /// It must.
    Shown,
    /// As it likes.
    LeftToThem,
}

impl AccountPicker {
    /// What both providers call it in the query of their address.
    fn parameter(self) -> Option<(&'static str, &'static str)> {
        match self {
            AccountPicker::Shown => Some(("prompt", "select_account")),
            AccountPicker::LeftToThem => None,
        }
    }
}

/// Both providers, as far as they are configured.
#[derive(Debug)]
pub struct Upstreams {
    google: Option<Google>,
    github: Option<GitHub>,
    health: Health,
}

impl Upstreams {
    /// The providers of `config`, whose callbacks are under `base_url`, each with at
    /// most so many calls of ours under way.
    ///
    /// # Errors
    ///
    /// When the HTTP client cannot be made.
    pub fn new(
        config: &UpstreamConfig,
        most_calls: NonZeroU32,
        base_url: &str,
        clock: &Clock,
    ) -> reqwest::Result<Self> {
        let client = Client::new(config)?;
        let google = config.google.clone().map(|google| {
            Google::new(
                google,
                callback_url(base_url, Provider::Google),
                client.taking_turns(most_calls),
                clock.clone(),
            )
        });
        let github = config.github.clone().map(|github| {
            let callback = callback_url(base_url, Provider::GitHub);
            GitHub::new(github, callback, client.taking_turns(most_calls))
        });
        Ok(Self {
            google,
            github,
            health: Health::default(),
        })
    }

    /// Whether logins may go to `provider`: configured and enabled.
    pub fn offers(&self, provider: Provider) -> bool {
        self.is_configured(provider) && self.is_enabled(provider)
    }

    /// Whether `provider` is an imitation on this machine.
    pub fn is_loopback(&self, provider: Provider) -> bool {
        match provider {
            Provider::Google => self.google.as_ref().is_some_and(Google::is_loopback),
            Provider::GitHub => self.github.as_ref().is_some_and(GitHub::is_loopback),
        }
    }

    /// What `GET /api/providers` answers at `now`.
    pub fn statuses(&self, now: UnixMs) -> Vec<ProviderStatus> {
        Provider::ALL
            .map(|provider| self.status(provider, now))
            .into()
    }

    fn status(&self, id: Provider, now: UnixMs) -> ProviderStatus {
        ProviderStatus {
            id,
            configured: self.is_configured(id),
            enabled: self.is_enabled(id),
            available: self.offers(id) && self.health.is_good(id, now),
        }
    }

    fn is_configured(&self, provider: Provider) -> bool {
        match provider {
            Provider::Google => self.google.is_some(),
            Provider::GitHub => self.github.is_some(),
        }
    }

    fn is_enabled(&self, provider: Provider) -> bool {
        match provider {
            Provider::Google => self.google.as_ref().is_some_and(Google::is_enabled),
            Provider::GitHub => self.github.as_ref().is_some_and(GitHub::is_enabled),
        }
    }

    /// Where the browser of `upstream_login` is sent, and whether to a choice of accounts;
    /// `hear` is told of each call for it.
    ///
    /// # Errors
    ///
    /// When the provider is off, or cannot say where, which only Google is asked.
    pub(crate) async fn departure(
        &self,
        upstream_login: &UpstreamLogin,
        picker: AccountPicker,
        hear: Hear<'_>,
    ) -> Result<String, Failure> {
        if !self.offers(upstream_login.provider) {
            return Err(Failure::SwitchedOff);
        }
        match upstream_login.provider {
            Provider::Google => self.google()?.departure(upstream_login, picker, hear).await,
            Provider::GitHub => self.github()?.departure(upstream_login, picker),
        }
    }

    /// Who came back from `upstream_login`, by the query of the provider's callback; `hear`
    /// is told of each call for it.
    ///
    /// # Errors
    ///
    /// When that cannot be proven.
    pub(crate) async fn arrival(
        &self,
        upstream_login: &UpstreamLogin,
        query: &Query<'_>,
        now: UnixMs,
        hear: Hear<'_>,
    ) -> Result<Profile, Failure> {
        let code = code_from(query, &self.issuer(upstream_login.provider)?)?;
        let arrival = match upstream_login.provider {
            Provider::Google => {
                self.google()?
                    .arrival(upstream_login, &code, now, hear)
                    .await
            }
            Provider::GitHub => self.github()?.arrival(upstream_login, &code, hear).await,
        };
        let outcome = arrival.as_ref().map(drop).map_err(|failure| *failure);
        self.health.note(upstream_login.provider, outcome, now);
        arrival
    }

    fn issuer(&self, provider: Provider) -> Result<String, Failure> {
        Ok(match provider {
            Provider::Google => self.google()?.issuer(),
            Provider::GitHub => self.github()?.issuer(),
        })
    }

    fn google(&self) -> Result<&Google, Failure> {
        self.google.as_ref().ok_or(Failure::NotConfigured)
    }

    fn github(&self) -> Result<&GitHub, Failure> {
        self.github.as_ref().ok_or(Failure::NotConfigured)
    }
}

/// Where `provider` sends browsers back to. One path each, so that an answer of
/// one can never pass for the other's.
pub fn callback_url(base_url: &str, provider: Provider) -> String {
    format!("{base_url}/callback/{provider}")
}

/// Reads the code out of a callback's query; `issuer` must match if it is named.
fn code_from(query: &Query<'_>, issuer: &str) -> Result<String, Failure> {
    // RFC 9207. Both providers began to send it in 2026, took it back, and began
    // again: absent is fine, wrong never.
    match query.once("iss") {
        Ok(None) => {}
        Ok(Some(iss)) if iss == issuer => {}
        Ok(Some(_)) | Err(_) => return Err(Failure::CallbackIssuer),
    }
    match (query.once("code"), query.once("error")) {
        (Ok(Some(code)), Ok(None)) if is_code(&code) => Ok(code),
        (Ok(None), Ok(Some(error))) => Err(declined(&error)),
        _ => Err(Failure::CallbackCode),
    }
}

fn is_code(code: &str) -> bool {
    (1..=2048).contains(&code.len()) && !code.contains(char::is_control)
}

fn declined(error: &str) -> Failure {
    match error {
        "access_denied" => Failure::Declined,
        "server_error" | "temporarily_unavailable" => Failure::CallbackTrouble,
        "application_suspended" => Failure::CallbackSuspended,
        _ => Failure::CallbackError,
    }
}

/// The provider does not know us: the operator's mistake, not the person's and
/// not the provider's. Said loudly, because every login fails until it is mended.
fn wrong_credentials(provider: Provider) -> Failure {
    tracing::error!(
        %provider,
        "{provider} refuses our own client_id or client_secret, and every sign-in through it \
         fails: set upstream.{provider}.client_id and .client_secret to what its console shows"
    );
    Failure::OwnCredentials
}
