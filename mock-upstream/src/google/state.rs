//! Google's addresses, and its state: the pending sign-ins, the codes, the tokens and the
//! keys.

use std::sync::Arc;

use super::keys::KeyRing;
use super::request::{GoogleDetails, Scopes};
use crate::expiring_store::{ExpiringStore, HeapSize};
use crate::provider::context::ProviderContext;
use crate::provider::sign_in::SignIns;
use crate::{Misbehaviour, User};

pub(super) const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
pub(super) const AUTHORIZATION_PATH: &str = "/o/oauth2/v2/auth";
/// The authorization endpoint in the client files that Google's console hands out.
pub(super) const OLDER_AUTHORIZATION_PATH: &str = "/o/oauth2/auth";
pub(super) const TOKEN_PATH: &str = "/token";
pub(super) const REVOCATION_PATH: &str = "/revoke";
pub(super) const USERINFO_PATH: &str = "/v1/userinfo";
pub(super) const TOKENINFO_PATH: &str = "/tokeninfo";
pub(super) const KEYS_PATH: &str = "/oauth2/v3/certs";
pub(super) const CERTIFICATES_PATH: &str = "/oauth2/v1/certs";

/// The start of every code. Its slash is not part of base64url.
pub(super) const CODE_PREFIX: &str = "4/0A";

/// The imitated Google.
pub(crate) struct Google {
    pub(super) context: Arc<ProviderContext>,
    pub(super) keys: KeyRing,
    pub(super) sign_ins: SignIns<GoogleDetails>,
    pub(super) tokens: ExpiringStore<Access>,
    /// The clients and the users who granted them offline access, by `sub`.
    pub(super) offline_users: ExpiringStore<()>,
    /// The failure of the next request for the published keys.
    pub(super) key_failure: ExpiringStore<Misbehaviour>,
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
    pub(crate) fn new(context: Arc<ProviderContext>) -> Self {
        Self {
            context,
            keys: KeyRing::default(),
            sign_ins: SignIns::new(),
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

impl HeapSize for Access {
    fn heap_bytes(&self) -> usize {
        self.client_id.len() + self.user.heap_bytes()
    }
}
