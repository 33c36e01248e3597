//! The legacy flow: a grant is a handoff code first, and the access token it was
//! redeemed for afterwards.

use contract::{ClientId, CodeChallenge, Digest, Profile, Rule, TokenLifetime, TokenRequest};

use super::upstream_login::UpstreamLogin;
use super::{LoginId, UnixMs};

// The spec gives a code no lifetime; OAuth's advice is at most a minute.
/// How long a handoff code may be redeemed.
pub const CODE_LIFETIME_MS: i64 = 60_000;

/// How long a token that has ended by itself is still told from one that nobody
/// issued: long enough to explain a refusal.
const EXPLAINED_MS: i64 = 600_000;

/// A grant about to be stored: who signed in, for whom, under the digest of its
/// code.
#[derive(Debug)]
pub struct NewGrant {
    /// SHA-256 of the handoff code.
    pub code: Digest,
    /// What its events are filed under.
    pub login: LoginId,
    /// Whose login it was.
    pub project: ClientId,
    /// SHA-256 of the callback that the code goes to.
    pub callback: Digest,
    /// The challenge that the verifier must meet.
    pub challenge: CodeChallenge,
    /// Who signed in.
    pub profile: Profile,
    /// When the code ends.
    pub code_ends: UnixMs,
    /// When it is forgotten, if nobody redeems it: once a token could not live.
    pub known_until: UnixMs,
}

impl NewGrant {
    /// The grant of `profile`, who came back from `upstream_login` at `now`, for a code of
    /// this digest.
    pub fn of(
        upstream_login: &UpstreamLogin,
        challenge: &CodeChallenge,
        profile: Profile,
        code: Digest,
        now: UnixMs,
    ) -> Self {
        let code_ends = now.plus_ms(CODE_LIFETIME_MS);
        Self {
            code,
            login: upstream_login.login.clone(),
            project: upstream_login.project.clone(),
            callback: upstream_login.callback,
            challenge: challenge.clone(),
            profile,
            code_ends,
            known_until: code_ends.plus_ms(TokenLifetime::MS),
        }
    }
}

/// What a redemption presents, without its secrets.
#[derive(Debug)]
pub struct Redemption {
    /// SHA-256 of the code.
    pub code: Digest,
    /// Who redeems.
    pub project: ClientId,
    /// SHA-256 of the callback they name.
    pub callback: Digest,
    /// The challenge that their verifier meets.
    pub challenge: CodeChallenge,
    /// SHA-256 of the access token that they will get.
    pub token: Digest,
    /// When that token ends.
    pub token_ends: UnixMs,
    /// When the grant is forgotten then.
    pub known_until: UnixMs,
}

impl Redemption {
    /// What `request` of `project` presents at `now`, for a token of this digest.
    pub fn of(request: &TokenRequest, project: &ClientId, token: Digest, now: UnixMs) -> Self {
        let token_ends = now.plus_ms(TokenLifetime::MS);
        Self {
            code: request.code.digest(),
            project: project.clone(),
            callback: request.redirect_uri.digest(),
            challenge: request.code_verifier.challenge(),
            token,
            token_ends,
            known_until: token_ends.plus_ms(EXPLAINED_MS),
        }
    }
}

/// A stored grant, as far as a refused redemption needs it.
#[derive(Debug, Clone)]
pub struct Grant {
    /// What its events are filed under.
    pub login: LoginId,
    /// Whose it is.
    pub project: ClientId,
    /// SHA-256 of its callback.
    pub callback: Digest,
    /// Its challenge.
    pub challenge: CodeChallenge,
}

impl Grant {
    /// Explains why `redemption` got nothing from this grant, given that it was
    /// not a second valid one.
    pub fn explain(&self, redemption: &Redemption) -> Rule {
        if self.project != redemption.project {
            Rule::CodeClient
        } else if self.callback != redemption.callback {
            Rule::CodeCallback
        } else if self.challenge != redemption.challenge {
            Rule::CodeVerifier
        } else {
            Rule::CodeExpiry
        }
    }
}

/// A stored token, as far as the bearer of one needs it.
#[derive(Debug, Clone)]
pub struct Token {
    /// What its events are filed under.
    pub login: LoginId,
    /// Whose it is.
    pub project: ClientId,
    /// Who signed in; gone once the token has ended.
    pub profile: Option<Profile>,
    /// When it ends by itself.
    pub ends: UnixMs,
}

impl Token {
    /// The profile that this token opens at `now`.
    pub fn open(self, now: UnixMs) -> Result<Profile, Rule> {
        match self.profile {
            _ if !self.ends.is_after(now) => Err(Rule::BearerExpiry),
            None => Err(Rule::BearerEnded),
            Some(profile) => Ok(profile),
        }
    }
}
