//! The error map: everything that can go wrong at a provider, which of the three
//! errors the LoginResult says then, and what the audit log says.

use contract::{LoginError, Rule};

/// One line a failure: its name, the error for the consumer, and fixed words for
/// the operator that repeat nothing of what the provider said.
macro_rules! error_map {
    ($($failure:ident => $error:ident, $why:literal;)+) => {
        /// Why a login failed at a provider.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Failure {
            $(#[doc = concat!("What the audit log says: ", $why, ".")] $failure,)+
        }

        impl Failure {
            /// Every one, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$failure),+];

            const fn row(self) -> (LoginError, &'static str) {
                match self {
                    $(Self::$failure => (LoginError::$error, $why),)+
                }
            }
        }
    };
}

error_map! {
    // What the browser brings back.
    Declined => AccessDenied, "the person declined at the provider";
    CallbackTrouble => ProviderUnavailable, "the provider reported trouble of its own in the callback";
    CallbackSuspended => ProviderUnavailable, "the provider's callback says that our registration is suspended";
    CallbackError => InvalidProviderResponse, "the provider's callback reports an error";
    CallbackIssuer => InvalidProviderResponse, "the callback's iss is another's";
    CallbackCode => InvalidProviderResponse, "the callback carries no usable code";

    // What we ourselves have done.
    NotConfigured => ProviderUnavailable, "the provider is no longer configured";
    SwitchedOff => ProviderUnavailable, "the provider is switched off";
    OwnCredentials => ProviderUnavailable, "the provider refuses our own credentials";

    // Whether our call was made and answered.
    Crowded => ProviderUnavailable, "too many calls to the provider are under way";
    Timeout => ProviderUnavailable, "the provider did not answer in time";
    Unreachable => ProviderUnavailable, "the provider cannot be reached";
    Untrusted => ProviderUnavailable, "the provider's certificate is not trusted";
    Broken => ProviderUnavailable, "the connection to the provider broke";
    RateLimited => ProviderUnavailable, "the provider limits our rate";
    ServerTrouble => ProviderUnavailable, "the provider reports trouble of its own";

    // Whether the answer is one.
    Redirected => InvalidProviderResponse, "the provider redirects a call of ours";
    Refused => InvalidProviderResponse, "the provider refuses a call of ours";
    TooLarge => InvalidProviderResponse, "the provider's answer is too large";
    Encoded => InvalidProviderResponse, "the provider's answer is compressed, which we never ask for";
    NotJson => InvalidProviderResponse, "the provider's answer does not say that it is JSON";
    Malformed => InvalidProviderResponse, "the provider's answer is not what it should be";

    // What the answer grants.
    CodeRefused => InvalidProviderResponse, "the provider refuses the code";
    TokenType => InvalidProviderResponse, "the provider's token is of an unknown type";

    // Whether Google's documents can be used; no person's answer is to blame.
    Document => ProviderUnavailable, "discovery or keys are not what they should be";
    DocumentIssuer => ProviderUnavailable, "discovery names another issuer";
    DocumentHost => ProviderUnavailable, "discovery leads to a host that is not the issuer's";

    // Whether the ID token proves anything.
    IdTokenShape => InvalidProviderResponse, "the ID token is not a JWT";
    IdTokenAlgorithm => InvalidProviderResponse, "the ID token is not signed with RS256";
    IdTokenExtension => InvalidProviderResponse, "the ID token demands an extension";
    IdTokenNoKey => InvalidProviderResponse, "the ID token names no key";
    IdTokenUnknownKey => InvalidProviderResponse, "the ID token's key is not one of the provider's";
    IdTokenSignature => InvalidProviderResponse, "the ID token's signature or shape is wrong";
    IdTokenNonce => InvalidProviderResponse, "the ID token's nonce is not this login's";
    IdTokenIssuer => InvalidProviderResponse, "the ID token's issuer is another";
    IdTokenAudience => InvalidProviderResponse, "the ID token is for another client";
    IdTokenParty => InvalidProviderResponse, "the ID token's authorized party is another client";
    IdTokenExpired => InvalidProviderResponse, "the ID token has expired";
    IdTokenEarly => InvalidProviderResponse, "the ID token is from the future";
    IdTokenAccess => InvalidProviderResponse, "the ID token came with another access token";
    IdTokenSubject => InvalidProviderResponse, "the ID token's sub is not an identifier";
}

impl Failure {
    /// What the LoginResult says.
    pub const fn error(self) -> LoginError {
        self.row().0
    }

    /// What the audit log says.
    pub const fn why(self) -> &'static str {
        self.row().1
    }

    /// The rule of the catalogue that explains it.
    pub fn rule(self) -> Rule {
        match self.error() {
            LoginError::AccessDenied => Rule::UpstreamDenied,
            LoginError::InvalidProviderResponse => Rule::UpstreamInvalid,
            LoginError::ProviderUnavailable => Rule::UpstreamUnavailable,
        }
    }

    /// The same of one of Google's documents, which is not a person's answer.
    pub(super) fn of_document(self) -> Self {
        if self.may_pass() {
            self
        } else {
            Self::Document
        }
    }

    /// Whether it shows that the provider does not work for us, as opposed to what
    /// a browser claims, an answer that proves nothing, and a queue of our own.
    pub(super) fn is_of_provider(self) -> bool {
        matches!(self.error(), LoginError::ProviderUnavailable)
            && !matches!(
                self,
                Self::CallbackTrouble
                    | Self::CallbackSuspended
                    | Self::NotConfigured
                    | Self::SwitchedOff
                    | Self::Crowded
            )
    }

    /// Whether it is the kind of trouble that passes by itself and says nothing
    /// against what we know from before.
    pub(super) fn may_pass(self) -> bool {
        matches!(
            self,
            Self::Crowded
                | Self::Timeout
                | Self::Unreachable
                | Self::Untrusted
                | Self::Broken
                | Self::RateLimited
                | Self::ServerTrouble
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_audit_log_tells_every_failure_from_every_other() {
        let said: HashSet<_> = Failure::ALL.iter().map(|failure| failure.why()).collect();
        assert_eq!(said.len(), Failure::ALL.len());
    }
}
