//! The upstream login: the sign-in of one browser at a provider.
//!
//! It lives encrypted in a cookie of its browser; the store remembers only that it was
//! consumed. All its secrets are derived from one seed, so that the cookie stays small.

use contract::{
    ClientId, CodeChallenge, CodeVerifier, Digest, LoginLifetime, Provider, RedirectUri, Rule,
    State, redacted,
};

use super::login_session::{BrowserBinding, LoginSession};
use super::{LoginId, UnixMs};

/// The sign-in of one browser at a provider.
#[derive(Debug)]
pub struct UpstreamLogin {
    /// The secret from which the others are derived.
    pub seed: Seed,
    /// The id of its login in the audit log.
    pub login: LoginId,
    /// The provider that the user signs in with.
    pub provider: Provider,
    /// The project of its login.
    pub project: ClientId,
    /// SHA-256 of the callback that its browser goes back to.
    pub callback: Digest,
    /// The end of its validity.
    pub ends: UnixMs,
    /// Its flow, with the data of that flow.
    pub purpose: Purpose,
}

/// The flow that an upstream login serves.
#[derive(Debug)]
pub enum Purpose {
    /// The clean callback flow.
    Clean {
        /// SHA-256 of the handle in the authorization URL.
        handle: Digest,
        /// The browser of the upstream login.
        browser: BrowserBinding,
    },
    /// The legacy flow, of which nothing is stored yet.
    Legacy {
        /// The consumer's state, which goes back with the browser.
        state: State,
        /// The consumer's challenge, which becomes the grant's.
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

    /// The bytes, to be encrypted.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    fn derive(&self, purpose: &str) -> Digest {
        Digest::derive(purpose, &self.0)
    }
}

redacted!(Seed);

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
    /// An upstream login for a login session, in the browser with this binding.
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

    /// The id under which a consumed upstream login is remembered.
    pub fn id(&self) -> Digest {
        self.seed.derive("trip id")
    }

    /// The time beyond its end for which a consumed upstream login is remembered: for a
    /// request that read the time just before, and for a broker whose clock is behind.
    pub const REMEMBERED_MS: i64 = 60_000;

    /// The time until which a consumed upstream login is remembered.
    pub fn known_until(&self) -> UnixMs {
        self.ends.plus_ms(Self::REMEMBERED_MS)
    }

    /// The `state` for the provider: 256 bits, which only this browser and the provider
    /// know.
    pub fn upstream_state(&self) -> UpstreamState {
        UpstreamState(self.seed.derive("upstream state"))
    }

    /// The PKCE verifier for the provider.
    pub fn upstream_verifier(&self) -> CodeVerifier {
        CodeVerifier::from_random(self.seed.derive("upstream verifier").as_bytes())
    }

    /// The `nonce` that must come back in an ID token.
    pub fn nonce(&self) -> String {
        self.seed.derive("nonce").to_text()
    }

    /// Checks that the provider's answer is still accepted at `now`.
    pub fn check_time(&self, now: UnixMs) -> Result<(), Rule> {
        if self.ends.is_after(now) {
            Ok(())
        } else {
            Err(Rule::UpstreamLoginExpiry)
        }
    }

    /// The browser of this upstream login, if it is one of the session of `handle`.
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
