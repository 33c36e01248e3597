//! GitHub's state: the pending sign-ins, the codes, the tokens and the rate limit.

use std::sync::Arc;

use super::rate_limit::RateLimit;
use super::request::AuthorizationRequest;
use super::scopes::Scopes;
use crate::provider::sign_in::PendingSignIns;
use crate::provider::{ExpiringStore, HeapSize, ProviderContext};
use crate::script::SignInScript;
use crate::{Misbehaviour, User};

/// The imitated GitHub.
pub(crate) struct GitHub {
    pub(super) context: Arc<ProviderContext>,
    /// The counterpart of `https://github.com/login/oauth`.
    pub(super) issuer: String,
    pub(super) pending: PendingSignIns<AuthorizationRequest>,
    pub(super) codes: ExpiringStore<Grant>,
    pub(super) tokens: ExpiringStore<Access>,
    pub(super) rate_limit: RateLimit,
}

/// The grant that a code stands for. It is redeemed once, so it is not `Clone`.
pub(super) struct Grant {
    pub(super) request: AuthorizationRequest,
    pub(super) script: SignInScript,
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
            pending: PendingSignIns::new(),
            codes: ExpiringStore::new(),
            tokens: ExpiringStore::new(),
            rate_limit: RateLimit::new(),
        }
    }
}

impl HeapSize for Grant {
    fn heap_bytes(&self) -> usize {
        self.request.heap_bytes() + self.script.heap_bytes()
    }
}

impl HeapSize for Access {
    fn heap_bytes(&self) -> usize {
        self.user.heap_bytes() + self.scopes.heap_bytes()
    }
}
