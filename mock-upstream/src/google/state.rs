//! Google's state: the pending sign-ins, the codes, the tokens and the keys.

use std::sync::Arc;

use super::keys::KeyRing;
use super::request::{AuthorizationRequest, Consent};
use super::scopes::Scopes;
use crate::provider::sign_in::PendingSignIns;
use crate::provider::{ExpiringStore, HeapSize, ProviderContext};
use crate::script::SignInScript;
use crate::{Misbehaviour, User};

/// The imitated Google.
pub(crate) struct Google {
    pub(super) context: Arc<ProviderContext>,
    pub(super) keys: Arc<KeyRing>,
    pub(super) pending: PendingSignIns<AuthorizationRequest>,
    pub(super) codes: ExpiringStore<Grant>,
    pub(super) tokens: ExpiringStore<Access>,
    /// The clients and the users who granted them offline access, by `sub`.
    pub(super) offline_users: ExpiringStore<()>,
    /// The failure of the next request for the published keys.
    pub(super) key_failure: ExpiringStore<Misbehaviour>,
}

/// The grant that a code stands for. It is redeemed once, so it is not `Clone`.
pub(super) struct Grant {
    pub(super) request: AuthorizationRequest,
    pub(super) script: SignInScript,
    pub(super) consent: Consent,
}

/// The access that an access token gives.
#[derive(Clone)]
pub(super) struct Access {
    /// The client that the token was issued to.
    pub(super) client_id: String,
    pub(super) user: User,
    pub(super) scopes: Scopes,
    pub(super) is_offline: bool,
    pub(super) expires_ms: i64,
}

impl Google {
    pub(crate) fn new(context: Arc<ProviderContext>, keys: Arc<KeyRing>) -> Self {
        Self {
            context,
            keys,
            pending: PendingSignIns::new(),
            codes: ExpiringStore::new(),
            tokens: ExpiringStore::new(),
            offline_users: ExpiringStore::new(),
            key_failure: ExpiringStore::new(),
        }
    }

    /// The access of a token that has not expired.
    pub(super) fn access(&self, token: &str) -> Option<Access> {
        self.tokens
            .read(token, self.context.now_ms(), Access::clone)
    }
}

impl HeapSize for Grant {
    fn heap_bytes(&self) -> usize {
        self.request.heap_bytes() + self.script.heap_bytes()
    }
}

impl HeapSize for Access {
    fn heap_bytes(&self) -> usize {
        self.client_id.len() + self.user.heap_bytes()
    }
}
