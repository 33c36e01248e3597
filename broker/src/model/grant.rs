//! The legacy flow: a grant is a handoff code first, and then the access token that the
//! code was redeemed for.

use contract::rules::CODE_LIFETIME_SECONDS;
use contract::{ClientId, CodeChallenge, Digest, Profile, Rule, TokenLifetime, TokenRequest};

use super::upstream_login::UpstreamLogin;
use super::{LoginId, UnixMs};

/// The lifetime of a handoff code.
pub const CODE_LIFETIME_MS: i64 = CODE_LIFETIME_SECONDS as i64 * 1000;

/// The time for which an expired token is known, so that its refusal can be explained.
const EXPLAINED_MS: i64 = 600_000;

/// A grant about to be stored, under the digest of its code.
#[derive(Debug)]
pub struct NewGrant {
    /// SHA-256 of the handoff code.
    pub code: Digest,
    /// The id of its login in the audit log.
    pub login: LoginId,
    /// The project that the code is issued to.
    pub project: ClientId,
    /// SHA-256 of the callback that the code goes to.
    pub callback: Digest,
    /// The challenge that the verifier has to match.
    pub challenge: CodeChallenge,
    /// The profile of the user who signed in.
    pub profile: Profile,
    /// The end of the code.
    pub code_ends: UnixMs,
    /// The time at which an unredeemed grant is forgotten: the end of the last token it
    /// could have become.
    pub known_until: UnixMs,
}

impl NewGrant {
    /// A grant of `profile`, which `upstream_login` proved at `now`, for the code with
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

/// The parameters of a redemption, without its secrets.
#[derive(Debug)]
pub struct Redemption {
    /// SHA-256 of the code.
    pub code: Digest,
    /// The project that redeems.
    pub project: ClientId,
    /// SHA-256 of the callback that it names.
    pub callback: Digest,
    /// The challenge that its verifier matches.
    pub challenge: CodeChallenge,
    /// SHA-256 of the access token that it is about to get.
    pub token: Digest,
    /// The end of that token.
    pub token_ends: UnixMs,
    /// The time at which the redeemed grant is forgotten.
    pub known_until: UnixMs,
}

impl Redemption {
    /// The redemption that `request` of `project` asks for at `now`, for the token with
    /// this digest.
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

/// The part of a stored grant that explains a refused redemption.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The id of its login in the audit log.
    pub login: LoginId,
    /// The project that its code was issued to.
    pub project: ClientId,
    /// SHA-256 of its callback.
    pub callback: Digest,
    /// Its challenge.
    pub challenge: CodeChallenge,
    /// Whether its code was redeemed.
    pub is_redeemed: bool,
}

impl Grant {
    /// Explains why `redemption` got no token for this grant, and ended none.
    pub fn explain(&self, redemption: &Redemption) -> Rule {
        if self.project != redemption.project {
            Rule::CodeClient
        } else if self.callback != redemption.callback {
            Rule::CodeCallback
        } else if self.challenge != redemption.challenge {
            Rule::CodeVerifier
        } else if self.is_redeemed {
            Rule::CodeOnce
        } else {
            Rule::CodeExpiry
        }
    }
}

/// The part of a stored token that serves its bearer.
#[derive(Debug, Clone)]
pub struct Token {
    /// The id of its login in the audit log.
    pub login: LoginId,
    /// The project that it was issued to.
    pub project: ClientId,
    /// The profile of the user who signed in; erased once the token has ended.
    pub profile: Option<Profile>,
    /// The end of its lifetime, unless it is revoked before.
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
