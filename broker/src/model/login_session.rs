//! The clean callback flow: a login session from its opening to its one read.

use contract::{
    ClientId, Digest, LoginError, LoginLifetime, LoginResultRequest, LoginSessionRequest, Profile,
    Provider, RedirectUri, Rule, redacted,
};

use super::{LoginId, UnixMs};

/// The time from its opening for which a session is known, so that a late browser can
/// be sent back: twice its lifetime.
const KNOWN_MS: i64 = 2 * LoginLifetime::MS;

/// A login session, from its opening until it is swept.
#[derive(Debug, Clone)]
pub struct LoginSession {
    /// The id of its login in the audit log.
    pub login: LoginId,
    /// The project that opened it.
    pub project: ClientId,
    /// The callback that its browser goes back to.
    pub redirect_uri: RedirectUri,
    /// The provider that the user signs in with.
    pub provider: Provider,
    /// The end of its validity: 600 s after its opening.
    pub ends: UnixMs,
    /// The time at which it is forgotten: 1200 s after its opening.
    pub known_until: UnixMs,
    /// Its state.
    pub status: SessionStatus,
}

/// The state of a login session. Whether it has expired is a matter of `ends`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// Pending, and open to the first browser.
    Unbound,
    /// Pending, and bound to one browser.
    Bound(BrowserBinding),
    /// There is an outcome, which was not read yet.
    Completed,
    /// The outcome was read.
    Consumed,
    /// The outcome was erased at its end, by a broker whose clock is ahead of this one's.
    Erased,
}

/// The digest that binds a login session to a browser. Only the encrypted cookies of
/// that browser contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrowserBinding(pub Digest);

/// The outcome of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginOutcome {
    /// The user signed in.
    Succeeded(Profile),
    /// The user did not sign in.
    Failed(LoginError),
}

/// A login session about to be stored, under the digests of its two secrets.
#[derive(Debug)]
pub struct NewLogin {
    /// SHA-256 of the session key.
    pub key: Digest,
    /// SHA-256 of the handle in the authorization URL.
    pub handle: Digest,
    /// The session itself, unbound.
    pub session: LoginSession,
}

/// Opens a login at `now`. Only the store can say whether its key is fresh.
pub fn open(request: &LoginSessionRequest, handle: Digest, now: UnixMs) -> NewLogin {
    NewLogin {
        key: request.session_key.digest(),
        handle,
        session: LoginSession {
            login: LoginId::of_key(&request.session_key),
            project: request.client_id.clone(),
            redirect_uri: request.redirect_uri.clone(),
            provider: request.provider,
            ends: now.plus_ms(LoginLifetime::MS),
            known_until: now.plus_ms(KNOWN_MS),
            status: SessionStatus::Unbound,
        },
    }
}

/// The reason why a browser may not have a login session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAdmitted {
    /// The login is over, and the browser goes back to the consumer.
    Over {
        /// The project that opened the login.
        project: ClientId,
        /// The callback of the login.
        redirect_uri: RedirectUri,
    },
    /// The session is bound to another browser.
    OtherBrowser,
}

impl LoginSession {
    /// Admits `browser` at `now` to a session that is pending and not bound to another.
    ///
    /// # Errors
    ///
    /// If the login is over or another browser has it.
    pub fn admit(self, browser: BrowserBinding, now: UnixMs) -> Result<Self, NotAdmitted> {
        match self.status {
            SessionStatus::Unbound if self.ends.is_after(now) => Ok(self),
            SessionStatus::Bound(owner) if owner == browser && self.ends.is_after(now) => Ok(self),
            _ => Err(self.reject(now)),
        }
    }

    /// Rejects a browser that was not granted this session at `now`.
    pub fn reject(self, now: UnixMs) -> NotAdmitted {
        match self.status {
            SessionStatus::Unbound | SessionStatus::Bound(_) if self.ends.is_after(now) => {
                NotAdmitted::OtherBrowser
            }
            _ => NotAdmitted::Over {
                project: self.project,
                redirect_uri: self.redirect_uri,
            },
        }
    }

    /// Explains why `query` consumed no outcome of this session at `now`: the login is
    /// still pending, or a rule was broken.
    pub fn explain(&self, query: &ResultQuery, now: UnixMs) -> Result<StillPending, Rule> {
        if self.project != query.project {
            return Err(Rule::ResultKnown);
        }
        if self.redirect_uri != query.redirect_uri {
            return Err(Rule::ResultCallback);
        }
        match self.status {
            SessionStatus::Consumed => Err(Rule::ResultOnce),
            SessionStatus::Erased => Err(Rule::ResultExpiry),
            _ if !self.ends.is_after(now) => Err(Rule::ResultExpiry),
            SessionStatus::Unbound | SessionStatus::Bound(_) | SessionStatus::Completed => {
                Ok(StillPending)
            }
        }
    }
}

/// The parameters of a result read, without its secrets.
#[derive(Debug)]
pub struct ResultQuery {
    /// SHA-256 of the session key.
    pub key: Digest,
    /// The project that reads.
    pub project: ClientId,
    /// The callback that it names.
    pub redirect_uri: RedirectUri,
}

impl ResultQuery {
    /// The query of `request`.
    pub fn of(request: &LoginResultRequest) -> Self {
        Self {
            key: request.session_key.digest(),
            project: request.client_id.clone(),
            redirect_uri: request.redirect_uri.clone(),
        }
    }
}

/// A read that consumed nothing, because the login is still pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StillPending;

/// The secret in an authorization URL. `Debug` is redacted.
pub struct Handle(String);

impl Handle {
    /// A handle from 32 bytes drawn at random.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Digest::from_bytes(bytes).to_text())
    }

    /// The handle that a browser presents, whatever it is.
    pub fn presented(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// SHA-256 of the handle, under which its session is stored.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }

    /// The text, for the authorization URL.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

redacted!(Handle);
