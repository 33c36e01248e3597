//! The clean callback flow: a login session from its opening to its one read.

use contract::{
    ClientId, Digest, LoginError, LoginLifetime, LoginResultRequest, LoginSessionRequest, Profile,
    Provider, RedirectUri, Rule,
};

use super::{LoginId, UnixMs};

/// How long after its opening a login is still recognised, so that a late
/// browser can be sent home: twice its lifetime.
const KNOWN_MS: i64 = 2 * LoginLifetime::MS;

/// A login session as it is known between its opening and its sweeping.
#[derive(Debug, Clone)]
pub struct LoginSession {
    /// What its events are filed under.
    pub login: LoginId,
    /// Whose login it is.
    pub project: ClientId,
    /// Where its browser goes home to.
    pub redirect_uri: RedirectUri,
    /// Where the person signs in.
    pub provider: Provider,
    /// When it stops being readable: 600 s after its opening.
    pub ends: UnixMs,
    /// When it is forgotten: 1200 s after its opening.
    pub known_until: UnixMs,
    /// The browser it belongs to, once there is one.
    pub bound_to: Option<BrowserBinding>,
    /// How far it got.
    pub stage: Stage,
}

/// Which browser claimed a login: a value only that browser's sealed cookies hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrowserBinding(pub Digest);

/// How far a login session got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nobody has finished signing in.
    Pending,
    /// There is an outcome that nobody has read.
    Completed,
    /// The outcome was read.
    Consumed,
    /// The outcome was erased at its end, by a broker whose clock is ahead of ours.
    Erased,
}

/// How a login ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginOutcome {
    /// The person is known.
    Succeeded(Profile),
    /// They are not, and why.
    Failed(LoginError),
}

/// A login session about to be stored, under the digests of its two secrets.
#[derive(Debug, Clone)]
pub struct NewLogin {
    /// SHA-256 of the session key.
    pub key: Digest,
    /// SHA-256 of the handle in the authorization URL.
    pub handle: Digest,
    /// The session itself, pending.
    pub session: LoginSession,
}

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

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle([redacted])")
    }
}

/// Opens a login at `now`. Whether its key is fresh, only the store can say.
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
            bound_to: None,
            stage: Stage::Pending,
        },
    }
}

/// What is asked when a result is read.
#[derive(Debug, Clone)]
pub struct Ask {
    /// SHA-256 of the session key.
    pub key: Digest,
    /// Who asks.
    pub project: ClientId,
    /// The callback they name.
    pub redirect_uri: RedirectUri,
}

impl Ask {
    /// What `request` asks, without its secrets.
    pub fn of(request: &LoginResultRequest) -> Self {
        Self {
            key: request.session_key.digest(),
            project: request.client_id.clone(),
            redirect_uri: request.redirect_uri.clone(),
        }
    }
}

/// A result that was not taken, although nobody is to blame for it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StillPending;

impl LoginSession {
    /// Explains why `ask` took no outcome from this session at `now`: the person
    /// is still signing in, or a rule was broken.
    pub fn explain(&self, ask: &Ask, now: UnixMs) -> Result<StillPending, Rule> {
        if self.project != ask.project {
            return Err(Rule::ResultKnown);
        }
        if self.redirect_uri != ask.redirect_uri {
            return Err(Rule::ResultCallback);
        }
        match self.stage {
            Stage::Consumed => Err(Rule::ResultOnce),
            Stage::Erased => Err(Rule::ResultExpiry),
            _ if !self.ends.is_after(now) => Err(Rule::ResultExpiry),
            Stage::Pending | Stage::Completed => Ok(StillPending),
        }
    }

    /// Whether `browser` could be granted this session at `now`: it is pending and
    /// nobody else's.
    pub fn admits(&self, browser: BrowserBinding, now: UnixMs) -> bool {
        self.stage == Stage::Pending
            && self.ends.is_after(now)
            && self.bound_to.is_none_or(|owner| owner == browser)
    }

    /// Where a browser stands that was not granted the session at `now`: its
    /// login is over and it goes home, or another browser has it.
    pub fn turn_away(self, now: UnixMs) -> Result<RedirectUri, Rule> {
        match self.stage {
            Stage::Pending if self.ends.is_after(now) => Err(Rule::HandleOneBrowser),
            _ => Ok(self.redirect_uri),
        }
    }
}
