//! GitHub's addresses, and its state: the pending sign-ins, the codes, the tokens and the
//! calls of each user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::request::Scopes;
use crate::expiring_store::{ExpiringStore, HeapSize};
use crate::provider::context::ProviderContext;
use crate::provider::sign_in::SignIns;
use crate::{Misbehaviour, User};

/// The well-known path; the path of the issuer comes last.
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-authorization-server/login/oauth";
pub(super) const AUTHORIZATION_PATH: &str = "/login/oauth/authorize";
pub(super) const TOKEN_PATH: &str = "/login/oauth/access_token";
pub(super) const USER_PATH: &str = "/user";
pub(super) const EMAILS_PATH: &str = "/user/emails";

const HOUR_MS: i64 = 60 * 60 * 1000;

/// The maximum number of users whose calls are counted; at one more, all counts start again.
const MAX_USERS: usize = 10_000;

/// The imitated GitHub.
pub(crate) struct GitHub {
    pub(super) context: Arc<ProviderContext>,
    /// The counterpart of `https://github.com/login/oauth`.
    pub(super) issuer: String,
    pub(super) sign_ins: SignIns<Scopes>,
    pub(super) tokens: ExpiringStore<Access>,
    pub(super) rate_limit: RateLimit,
}

/// The access that an access token gives.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) user: User,
    pub(super) scopes: Scopes,
    pub(super) misbehaviour: Option<Misbehaviour>,
}

impl GitHub {
    pub(crate) fn new(context: Arc<ProviderContext>) -> Self {
        Self {
            issuer: format!("{}/login/oauth", context.url),
            context,
            sign_ins: SignIns::new(),
            tokens: ExpiringStore::new(),
            rate_limit: RateLimit::new(),
        }
    }
}

impl HeapSize for Access {
    fn heap_bytes(&self) -> usize {
        self.user.heap_bytes() + self.scopes.heap_bytes()
    }
}

/// The calls of each user, by id.
pub(super) struct RateLimit(Mutex<HashMap<String, HourlyCalls>>);

/// The calls of one user within the hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HourlyCalls {
    pub(super) used: u32,
    /// The time at which the count starts again.
    pub(super) resets_ms: i64,
}

impl RateLimit {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Counts one more call of the user, and returns the count with it.
    pub(super) fn count(&self, user_id: &str, now_ms: i64) -> HourlyCalls {
        let mut users = self.lock();
        if users.len() == MAX_USERS {
            users.clear();
        }
        let new_hour = HourlyCalls {
            used: 0,
            resets_ms: now_ms + HOUR_MS,
        };
        let calls = users.entry(user_id.to_owned()).or_insert(new_hour);
        if now_ms >= calls.resets_ms {
            *calls = new_hour;
        }
        calls.used += 1;
        *calls
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HourlyCalls>> {
        self.0.lock().expect("nothing panics while it counts")
    }
}
