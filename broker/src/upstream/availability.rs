//! The availability of the providers, by complete upstream logins alone: the browser
//! came back with a code, and the broker's calls showed whether the provider works. A
//! login that was never redirected, an error in a callback, and a wait for other calls
//! do not count; any visitor can cause those.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use contract::Provider;

use super::failure::Failure;
use crate::model::UnixMs;

/// The time after which a failed provider counts as available again: otherwise no
/// client would try it.
const FORGIVEN_AFTER_MS: i64 = 300_000;

/// The time of each provider's latest failure, unless a login succeeded since.
#[derive(Debug, Default)]
pub(super) struct Availability(Mutex<HashMap<Provider, UnixMs>>);

impl Availability {
    /// Records the result of a complete upstream login.
    pub(super) fn record(&self, provider: Provider, result: Result<(), Failure>, now: UnixMs) {
        let mut failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
    pub(super) fn is_available(&self, provider: Provider, now: UnixMs) -> bool {
        let failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failing
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
