//! The interface of a store, in the words of the state diagrams in
//! [`model`](crate::model).

use async_trait::async_trait;
use contract::Digest;

use super::error::StoreError;
use super::outcome::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead};
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery,
};
use crate::model::upstream_login::UpstreamLogin;
use crate::model::{LoginId, UnixMs};

/// The steps that must happen once.
#[async_trait]
pub trait Store: Send + Sync {
    /// Checks that a step would succeed now.
    async fn ready(&self) -> Result<(), StoreError>;

    /// The time of the store's own clock, if it has one that several brokers
    /// share.
    async fn time(&self) -> Result<Option<UnixMs>, StoreError> {
        Ok(None)
    }

    /// Stores a pending login, unless its session key is taken. A key is free again
    /// when its login has ended.
    async fn open(&self, login: NewLogin, now: UnixMs) -> Result<Opened, StoreError>;

    /// Returns the login behind an authorization URL. Changes nothing.
    async fn find(&self, handle: Digest, now: UnixMs) -> Result<Option<LoginSession>, StoreError>;

    /// Binds a pending login to a browser: the first one, and that one again.
    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Result<Bound, StoreError>;

    /// Consumes an upstream login that has not ended yet, for the first caller only.
    async fn consume_upstream_login(
        &self,
        upstream_login: &UpstreamLogin,
    ) -> Result<Consumed, StoreError>;

    /// Gives a pending login its outcome. A second outcome changes nothing.
    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Result<Completed, StoreError>;

    /// Reads the outcome of a login and consumes it: no later call returns it.
    async fn consume_result(&self, ask: ResultQuery, now: UnixMs)
    -> Result<ResultRead, StoreError>;

    /// Stores a grant under the digest of its handoff code.
    async fn issue(&self, grant: NewGrant) -> Result<(), StoreError>;

    /// Turns a code into a token, once. A second valid redemption ends the token.
    async fn redeem(&self, redemption: Redemption, now: UnixMs) -> Result<Redeemed, StoreError>;

    /// Returns the stored access token with this digest.
    async fn token(&self, token: Digest, now: UnixMs) -> Result<Option<Token>, StoreError>;

    /// Ends an access token, known or not, and returns the login it belonged to.
    async fn revoke(&self, token: Digest) -> Result<Option<LoginId>, StoreError>;

    /// Deletes a bounded number of rows that no rule can see any more, and erases
    /// profiles whose time is over. Returns the number of rows it touched.
    async fn sweep(&self, now: UnixMs) -> Result<usize, StoreError>;
}
