//! An authorization request that passed every check of its provider, the grant that its code
//! stands for, and PKCE with S256 (RFC 7636).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::context::SignInScript;
use super::pages::Permission;
use crate::Client;
use crate::expiring_store::HeapSize;
use crate::http::{Params, Response};
use crate::settings::{ProviderSettings, RedirectUri};

/// An authorization request that passed every check.
pub(crate) struct AuthorizationRequest<D> {
    pub(crate) client: Client,
    pub(crate) redirect_uri: RedirectUri,
    pub(crate) state: Option<String>,
    pub(crate) challenge: Option<Challenge>,
    pub(crate) page: ChoicePage,
    /// The parameters that this provider alone has, and the scopes.
    pub(crate) details: D,
}

/// Whether the client wants the page on which the user chooses an account.
pub(crate) enum ChoicePage {
    /// Yes, if it is not known which user signs in.
    IfNeeded,
    /// Yes, also for a user of the last time.
    Always,
    /// Never: where it is needed, the callback carries this error.
    Never(&'static str),
}

/// The part of a request that only its provider understands.
pub(crate) trait RequestDetails: HeapSize + Send + Sized {
    /// Reads an authorization request and checks it.
    fn parse(
        query: &Params,
        settings: &ProviderSettings,
    ) -> Result<AuthorizationRequest<Self>, Refusal>;

    /// The callback with a code.
    fn success(grant: &Grant<Self>, code: &str, iss: Option<&str>) -> String;

    /// The permissions that the page lists.
    fn permissions(&self) -> Vec<Permission>;

    /// The user consents by a choice on the page.
    fn consent(&mut self) {}
}

/// The reason why a request is refused.
pub(crate) enum Refusal {
    /// A page in place of a redirect.
    Page(Response),
    /// A callback with this error and its description.
    Callback(RedirectUri, &'static str, &'static str),
}

/// The grant that a code stands for. It is redeemed once, so it is not `Clone`.
pub(crate) struct Grant<D> {
    pub(crate) request: AuthorizationRequest<D>,
    pub(crate) script: SignInScript,
}

impl<D: HeapSize> HeapSize for AuthorizationRequest<D> {
    fn heap_bytes(&self) -> usize {
        let client = self.client.heap_bytes() + self.redirect_uri.heap_bytes();
        client + self.state.heap_bytes() + self.details.heap_bytes()
    }
}

impl<D: HeapSize> HeapSize for Grant<D> {
    fn heap_bytes(&self) -> usize {
        self.request.heap_bytes() + self.script.heap_bytes()
    }
}

/// A code challenge: the digest of the verifier in 43 characters of base64url.
pub(crate) struct Challenge(String);

/// A challenge or a method that the mock does not support.
pub(crate) struct UnusableChallenge;

impl Challenge {
    /// Reads `code_challenge` and `code_challenge_method`, which come both or not at
    /// all. `plain` is unusable, and so is a missing method, because it means `plain`.
    pub(crate) fn of(query: &Params) -> Result<Option<Self>, UnusableChallenge> {
        let method = query.get("code_challenge_method");
        match (query.get("code_challenge"), method) {
            (None, None) => Ok(None),
            (Some(challenge), Some("S256")) if is_sha256(challenge) => {
                Ok(Some(Self(challenge.to_owned())))
            }
            _ => Err(UnusableChallenge),
        }
    }

    /// Whether this challenge is the digest of `verifier`.
    pub(crate) fn matches(&self, verifier: &str) -> bool {
        URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == self.0
    }
}

fn is_sha256(challenge: &str) -> bool {
    let url_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    challenge.len() == 43 && challenge.bytes().all(url_safe)
}
