//! What may go wrong at a provider, one name each.

use crate::Provider;

/// One way in which a sign-in goes wrong. It concerns one sign-in only: it is
/// answered at once, or travels with the code that this sign-in gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misbehaviour {
    /// The person cancels.
    Deny,
    /// The provider fails.
    ServerError,
    /// The token call is cut.
    Reset,
    /// The code is refused.
    TokenRefused,
    /// The token answer is broken JSON.
    TokenGarbage,
    /// The ID token carries a nonce that nobody sent.
    WrongNonce,
    /// The ID token's signature does not fit.
    BadSignature,
}

/// A name that is no misbehaviour of the provider in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMisbehaviour(Provider);

impl Misbehaviour {
    /// What `provider` can do wrong, in the order of its page.
    #[must_use]
    pub fn of(provider: Provider) -> &'static [Self] {
        const BOTH: usize = 5;
        const ALL: [Misbehaviour; BOTH + 2] = [
            Misbehaviour::Deny,
            Misbehaviour::ServerError,
            Misbehaviour::Reset,
            Misbehaviour::TokenRefused,
            Misbehaviour::TokenGarbage,
            Misbehaviour::WrongNonce,
            Misbehaviour::BadSignature,
        ];
        match provider {
            Provider::Google => &ALL,
            Provider::GitHub => &ALL[..BOTH],
        }
    }

    /// The misbehaviour that `provider` knows under `name`.
    ///
    /// # Errors
    ///
    /// When it knows none; the error lists the names that are known.
    pub fn parse(provider: Provider, name: &str) -> Result<Self, UnknownMisbehaviour> {
        Self::of(provider)
            .iter()
            .copied()
            .find(|known| known.name() == name)
            .ok_or(UnknownMisbehaviour(provider))
    }

    /// The name in the control API and on the page.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::ServerError => "server_error",
            Self::Reset => "reset",
            Self::TokenRefused => "token_refused",
            Self::TokenGarbage => "token_garbage",
            Self::WrongNonce => "wrong_nonce",
            Self::BadSignature => "bad_signature",
        }
    }

    /// What is sent, as a sentence.
    #[must_use]
    pub fn says(self, provider: Provider) -> &'static str {
        use Provider::{GitHub, Google};
        match (self, provider) {
            (Self::Deny, _) => "The person cancels: the callback carries error=access_denied.",
            (Self::ServerError, Google) => "The callback carries error=server_error.",
            (Self::ServerError, GitHub) => "The token call is answered with a 500 page.",
            (Self::Reset, _) => "The token call is closed without a byte of an answer.",
            (Self::TokenRefused, Google) => "The token call is answered with 400 invalid_grant.",
            (Self::TokenRefused, GitHub) => {
                "The token call is answered with 200 and error=bad_verification_code."
            }
            (Self::TokenGarbage, _) => "The token call is answered with 200 and broken JSON.",
            (Self::WrongNonce, _) => "The ID token carries a nonce that nobody sent.",
            (Self::BadSignature, _) => "The ID token's signature does not fit its key.",
        }
    }

    /// The error that a login must end with: a value of `LoginResult.error`.
    #[must_use]
    pub fn error(self) -> &'static str {
        match self {
            Self::Deny => "access_denied",
            Self::ServerError | Self::Reset => "provider_unavailable",
            Self::TokenRefused | Self::TokenGarbage | Self::WrongNonce | Self::BadSignature => {
                "invalid_provider_response"
            }
        }
    }
}

impl std::error::Error for UnknownMisbehaviour {}

impl std::fmt::Display for UnknownMisbehaviour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = Misbehaviour::of(self.0)
            .iter()
            .map(|known| known.name())
            .collect();
        write!(f, "{} can misbehave as: {}", self.0, names.join(", "))
    }
}
