//! Whether a provider is failing lately, by what our own calls to it saw when
//! people signed in. No traffic of its own, and no word of a browser's.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use contract::{LoginError, Provider};

use crate::flows::UnixMs;

/// After this long without news a provider gets the benefit of the doubt: else
/// nobody would try it again.
const FORGIVEN_AFTER_MS: i64 = 300_000;

/// When each provider last failed, unless it has worked since.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<HashMap<Provider, UnixMs>>);

impl Health {
    /// Notes how our calls for a trip ended. An invalid answer says nothing either
    /// way.
    pub(super) fn note(&self, provider: Provider, error: Option<LoginError>, now: UnixMs) {
        let mut failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            None => {
                failing.remove(&provider);
            }
            Some(LoginError::ProviderUnavailable) => {
                failing.insert(provider, now);
            }
            Some(LoginError::AccessDenied | LoginError::InvalidProviderResponse) => {}
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
