//! The providers: where an upstream login redirects the browser, and the user who comes
//! back from it.
//!
//! [`google`] and [`github`] speak to one provider each; `client` makes the calls,
//! `normalize` turns a provider's claims into a [`Profile`]. A provider's tokens never
//! leave the function that uses them.

pub mod connectivity;
pub mod github;
pub mod google;

mod cached_document;
mod client;
mod failure;
#[cfg(test)]
mod fuzz;
mod normalize;
mod oauth;

use std::collections::HashMap;
use std::num::NonZeroU32;

use contract::{Profile, Provider, ProviderStatus};
use parking_lot::Mutex;

use crate::clock::Clock;
use crate::config::UpstreamConfig;
use crate::model::UnixMs;
use crate::model::upstream_login::UpstreamLogin;
use crate::untrusted::Query;
use client::Client;
use github::GitHub;
use google::Google;
use oauth::code_from;

pub use client::ClientError;
pub(crate) use client::{Call, Observer};
pub use failure::Failure;
pub(crate) use oauth::AccountPicker;

/// The providers that are configured.
pub struct Upstreams {
    google: Option<Google>,
    github: Option<GitHub>,
    /// Whether each of them is enabled.
    enabled: HashMap<Provider, bool>,
    availability: Availability,
}

impl Upstreams {
    /// The providers of `config`, whose callbacks are under `base_url`, with at most
    /// `max_calls` concurrent calls to each.
    ///
    /// # Errors
    ///
    /// If the HTTP client cannot be made.
    pub fn new(
        config: &UpstreamConfig,
        max_calls: NonZeroU32,
        base_url: &str,
        clock: &Clock,
    ) -> Result<Self, ClientError> {
        let client = Client::new(config, max_calls)?;
        let google = config.google.clone().map(|google| {
            Google::new(
                google,
                callback_url(base_url, Provider::Google),
                client.limited_to(max_calls),
                clock.clone(),
            )
        });
        let github = config.github.clone().map(|github| {
            let callback = callback_url(base_url, Provider::GitHub);
            GitHub::new(github, callback, client.limited_to(max_calls))
        });
        let is_enabled = |it| Some((it, config.is_enabled(it)?));
        Ok(Self {
            google,
            github,
            enabled: Provider::ALL.into_iter().filter_map(is_enabled).collect(),
            availability: Availability::default(),
        })
    }

    /// Whether logins may go to `provider`: configured and enabled.
    pub fn offers(&self, provider: Provider) -> bool {
        self.enabled.get(&provider) == Some(&true)
    }

    /// Whether `provider` is an imitation on loopback.
    pub fn is_loopback(&self, provider: Provider) -> bool {
        match provider {
            Provider::Google => self.google.as_ref().is_some_and(Google::is_loopback),
            Provider::GitHub => self.github.as_ref().is_some_and(GitHub::is_loopback),
        }
    }

    /// The answer of `GET /api/providers` at `now`.
    pub fn statuses(&self, now: UnixMs) -> Vec<ProviderStatus> {
        Provider::ALL
            .map(|provider| self.status(provider, now))
            .into()
    }

    fn status(&self, id: Provider, now: UnixMs) -> ProviderStatus {
        ProviderStatus {
            id,
            configured: self.enabled.contains_key(&id),
            enabled: self.offers(id),
            available: self.offers(id) && self.availability.is_available(id, now),
        }
    }

    /// The address at the provider to which the browser of `upstream_login` is
    /// redirected. Each call for it is reported to `observer`.
    ///
    /// # Errors
    ///
    /// If the provider is off, or Google's metadata cannot be fetched.
    pub(crate) async fn authorization_url(
        &self,
        upstream_login: &UpstreamLogin,
        picker: AccountPicker,
        observer: Observer<'_>,
    ) -> Result<String, Failure> {
        if !self.offers(upstream_login.provider) {
            return Err(Failure::Disabled);
        }
        match upstream_login.provider {
            Provider::Google => {
                let google = self.google()?;
                google
                    .authorization_url(upstream_login, picker, observer)
                    .await
            }
            Provider::GitHub => self.github()?.authorization_url(upstream_login, picker),
        }
    }

    /// The user who came back from `upstream_login`, by the query of the provider's
    /// callback. Each call for it is reported to `observer`.
    ///
    /// # Errors
    ///
    /// If the provider does not prove an identity.
    pub(crate) async fn authenticate(
        &self,
        upstream_login: &UpstreamLogin,
        query: &Query<'_>,
        now: UnixMs,
        observer: Observer<'_>,
    ) -> Result<Profile, Failure> {
        let provider = upstream_login.provider;
        let code = code_from(query, &self.issuer(provider)?)?;
        let profile = match provider {
            Provider::Google => {
                let google = self.google()?;
                google
                    .authenticate(upstream_login, &code, now, observer)
                    .await
            }
            Provider::GitHub => {
                let github = self.github()?;
                github.authenticate(upstream_login, &code, observer).await
            }
        };
        let result = profile.as_ref().map(drop).map_err(|failure| *failure);
        self.availability.record(provider, result, now);
        profile
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

/// The redirect URI of `provider`. One path each, so that a response of one provider
/// can never pass for the other's.
pub fn callback_url(base_url: &str, provider: Provider) -> String {
    format!("{base_url}/callback/{provider}")
}

/// The time after which a failed provider counts as available again: otherwise no
/// client would try it.
const FORGIVEN_AFTER_MS: i64 = 300_000;

/// The availability of the providers, by complete upstream logins alone: the browser
/// came back with a code, and the broker's calls showed whether the provider works. A
/// login that was never redirected, an error in a callback, and a wait for other calls
/// do not count; any visitor can cause those.
///
/// The time of each provider's latest failure, unless a login succeeded since.
#[derive(Debug, Default)]
struct Availability(Mutex<HashMap<Provider, UnixMs>>);

impl Availability {
    /// Records the result of a complete upstream login.
    fn record(&self, provider: Provider, result: Result<(), Failure>, now: UnixMs) {
        let mut failing = self.0.lock();
        match result {
            Ok(()) => {
                failing.remove(&provider);
            }
            Err(failure) if failure.is_of_provider() => {
                failing.insert(provider, now);
            }
            // An invalid answer proves neither.
            Err(_) => {}
        }
    }

    /// Whether `provider` is expected to work.
    fn is_available(&self, provider: Provider, now: UnixMs) -> bool {
        self.0
            .lock()
            .get(&provider)
            .is_none_or(|since| !since.plus_ms(FORGIVEN_AFTER_MS).is_after(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_off_by_its_own_failures_alone() {
        use Failure as F;
        let own = [
            F::OwnCredentials,
            F::Timeout,
            F::Unreachable,
            F::Untrusted,
            F::ConnectionBroken,
            F::RateLimited,
            F::ServerError,
            F::Document,
            F::DocumentIssuer,
            F::DocumentHost,
        ];
        for failure in F::ALL {
            let availability = Availability::default();
            availability.record(Provider::Google, Err(*failure), UnixMs(0));
            let is_available = availability.is_available(Provider::Google, UnixMs(0));
            assert_eq!(is_available, !own.contains(failure), "{failure:?}");
        }
    }
}
