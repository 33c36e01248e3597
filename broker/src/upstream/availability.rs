//! Whether a provider is failing lately. What counts are complete upstream logins
//! alone: the browser came back with a code, and our own calls showed whether the
//! provider works. A login that could not leave, a callback that only claims
//! trouble, and a queue of our own calls say nothing; anybody can cause those.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use contract::Provider;

use super::Failure;
use crate::model::UnixMs;

/// After this long without news a provider gets the benefit of the doubt: else
/// nobody would try it again.
const FORGIVEN_AFTER_MS: i64 = 300_000;

/// When each provider last failed, unless it has worked since.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<HashMap<Provider, UnixMs>>);

impl Health {
    /// Notes how a complete upstream login ended.
    pub(super) fn note(&self, provider: Provider, outcome: Result<(), Failure>, now: UnixMs) {
        let mut failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(()) => {
                failing.remove(&provider);
            }
            Err(failure) if failure.is_of_provider() => {
                failing.insert(provider, now);
            }
            // An invalid answer says nothing either way.
            Err(_) => {}
        }
    }

    /// Whether `provider` may be expected to work.
    pub(super) fn is_good(&self, provider: Provider, now: UnixMs) -> bool {
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
            F::Broken,
            F::RateLimited,
            F::ServerTrouble,
            F::Document,
            F::DocumentIssuer,
            F::DocumentHost,
        ];
        for failure in F::ALL {
            let health = Health::default();
            health.note(Provider::Google, Err(*failure), UnixMs(0));
            let is_good = health.is_good(Provider::Google, UnixMs(0));
            assert_eq!(is_good, !own.contains(failure), "{failure:?}");
        }
    }
}
