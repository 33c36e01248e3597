//! An upstream login: one browser's way to a provider and back.
//!
//! It lives sealed in a cookie of the browser that makes it. The store remembers
//! only that an upstream login is spent. Everything secret in it grows from one seed, so
//! that the cookie stays small.

use contract::{
    ClientId, CodeChallenge, CodeVerifier, Digest, LoginLifetime, Provider, RedirectUri, Rule,
    State,
};

use super::login_session::{BrowserBinding, LoginSession};
use super::{LoginId, UnixMs};

/// One way to a provider and back.
#[derive(Debug)]
pub struct UpstreamLogin {
    /// The secret it all grows from.
    pub seed: Seed,
    /// What its events are filed under.
    pub login: LoginId,
    /// Where it leads.
    pub provider: Provider,
    /// Whose login it serves.
    pub project: ClientId,
    /// SHA-256 of the callback it comes home to.
    pub callback: Digest,
    /// When it stops counting.
    pub ends: UnixMs,
    /// Which flow it belongs to, with what that flow needs.
    pub purpose: Purpose,
}

/// Which flow an upstream login serves.
#[derive(Debug)]
pub enum Purpose {
    /// The clean callback flow.
    Clean {
        /// SHA-256 of the handle in the authorization URL.
        handle: Digest,
        /// The browser that made the upstream login.
        browser: BrowserBinding,
    },
    /// The legacy flow, of which nothing is stored yet.
    Legacy {
        /// Goes back with the browser.
        state: State,
        /// Goes into the grant.
        challenge: CodeChallenge,
    },
}

/// 32 random bytes. `Debug` is redacted.
pub struct Seed([u8; 32]);

impl Seed {
    /// A seed from 32 bytes drawn at random.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be sealed.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    fn grow(&self, purpose: &str) -> Digest {
        Digest::derive(purpose, &self.0)
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed([redacted])")
    }
}

/// The `state` for the provider. Only [`UpstreamState::matches`] compares it.
#[derive(Debug)]
pub struct UpstreamState(Digest);

impl UpstreamState {
    /// The text, for the provider.
    pub fn to_text(&self) -> String {
        self.0.to_text()
    }

    /// Whether `text` is this state: compared in constant time, as a `Digest` is.
    pub fn matches(&self, text: &str) -> bool {
        text.parse().is_ok_and(|state: Digest| state == self.0)
    }
}

impl UpstreamLogin {
    /// An upstream login for a login session, by the browser that bears `browser`.
    pub fn for_session(
        seed: Seed,
        session: &LoginSession,
        handle: Digest,
        browser: BrowserBinding,
    ) -> Self {
        Self {
            seed,
            login: session.login.clone(),
            provider: session.provider,
            project: session.project.clone(),
            callback: session.redirect_uri.digest(),
            ends: session.ends,
            purpose: Purpose::Clean { handle, browser },
        }
    }

    /// An upstream login for a legacy login that begins at `now`.
    pub fn for_authorization(
        seed: Seed,
        project: &ClientId,
        redirect_uri: &RedirectUri,
        provider: Provider,
        (state, challenge): (State, CodeChallenge),
        now: UnixMs,
    ) -> Self {
        Self {
            seed,
            login: LoginId::of_state(&state),
            provider,
            project: project.clone(),
            callback: redirect_uri.digest(),
            ends: now.plus_ms(LoginLifetime::MS),
            purpose: Purpose::Legacy { state, challenge },
        }
    }

    /// Under which a spent upstream login is remembered.
    pub fn id(&self) -> Digest {
        self.seed.grow("trip id")
    }

    /// The time for which a spent upstream login is remembered beyond its end: for a request that
    /// looked at the time just before, and for a broker whose clock is behind.
    pub const REMEMBERED_MS: i64 = 60_000;

    /// Until when a spent upstream login is remembered.
    pub fn known_until(&self) -> UnixMs {
        self.ends.plus_ms(Self::REMEMBERED_MS)
    }

    /// The `state` for the provider: 256 bits, known to this browser and the
    /// provider alone.
    pub fn upstream_state(&self) -> UpstreamState {
        UpstreamState(self.seed.grow("upstream state"))
    }

    /// The PKCE verifier for the provider.
    pub fn upstream_verifier(&self) -> CodeVerifier {
        CodeVerifier::from_random(self.seed.grow("upstream verifier").as_bytes())
    }

    /// The `nonce` that must come back in an ID token.
    pub fn nonce(&self) -> String {
        self.seed.grow("nonce").to_text()
    }

    /// Whether the provider's answer still counts at `now`.
    pub fn check_time(&self, now: UnixMs) -> Result<(), Rule> {
        if self.ends.is_after(now) {
            Ok(())
        } else {
            Err(Rule::UpstreamLoginExpiry)
        }
    }

    /// The browser that made this upstream login, if it was for the login of `handle`.
    pub fn browser_of(&self, handle: &Digest) -> Option<BrowserBinding> {
        match &self.purpose {
            Purpose::Clean {
                handle: own,
                browser,
            } if own == handle => Some(*browser),
            _ => None,
        }
    }
}
