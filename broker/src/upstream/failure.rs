//! The error map: each failure at a provider, its error in the LoginResult, and its
//! text in the audit log.

use contract::{LoginError, Provider, Rule};

/// One line a failure: its name, the error for the consumer, and a fixed text for the
/// operator that repeats nothing of the provider's answer.
macro_rules! error_map {
    ($($failure:ident => $error:ident, $why:literal;)+) => {
        /// The reason for which a login failed at a provider.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Failure {
            $(#[doc = concat!("In the audit log: ", $why, ".")] $failure,)+
        }

        impl Failure {
            /// All failures, in the order of the table.
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
    // The callback in the browser.
    Declined => AccessDenied, "the user declined at the provider";
    CallbackServerError => ProviderUnavailable, "the provider's callback reports an internal error";
    CallbackSuspended => ProviderUnavailable, "the provider's callback says that our registration is suspended";
    CallbackError => InvalidProviderResponse, "the provider's callback reports an error";
    CallbackIssuer => InvalidProviderResponse, "the callback's iss is another issuer";
    CallbackCode => InvalidProviderResponse, "the callback carries no usable code";

    // Our own configuration.
    NotConfigured => ProviderUnavailable, "the provider is no longer configured";
    Disabled => ProviderUnavailable, "the provider is disabled";
    OwnCredentials => ProviderUnavailable, "the provider rejects our own credentials";

    // The call.
    TooManyCalls => ProviderUnavailable, "too many calls to the provider are under way";
    Timeout => ProviderUnavailable, "the provider did not answer in time";
    Unreachable => ProviderUnavailable, "the provider cannot be reached";
    Untrusted => ProviderUnavailable, "the provider's certificate is not trusted";
    ConnectionBroken => ProviderUnavailable, "the connection to the provider broke";
    RateLimited => ProviderUnavailable, "the provider limits our rate";
    ServerError => ProviderUnavailable, "the provider reports an internal error";

    // The form of the answer.
    Redirected => InvalidProviderResponse, "the provider redirects a call of ours";
    Refused => InvalidProviderResponse, "the provider refuses a call of ours";
    TooLarge => InvalidProviderResponse, "the provider's answer is too large";
    Encoded => InvalidProviderResponse, "the provider's answer is compressed, which we never request";
    NotJson => InvalidProviderResponse, "the provider's answer is not declared as JSON";
    Malformed => InvalidProviderResponse, "the provider's answer is malformed";

    // The token response.
    CodeRefused => InvalidProviderResponse, "the provider refuses the code";
    TokenType => InvalidProviderResponse, "the provider's token is of an unknown type";

    // Google's documents, which belong to no single login.
    Document => ProviderUnavailable, "discovery or keys are malformed";
    DocumentIssuer => ProviderUnavailable, "discovery names another issuer";
    DocumentHost => ProviderUnavailable, "discovery names a host that is not the issuer's";
    TooManySearches => ProviderUnavailable, "too many unknown keys were looked for";

    // The ID token.
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
    /// The error in the LoginResult.
    pub const fn error(self) -> LoginError {
        self.row().0
    }

    /// The text in the audit log.
    pub const fn why(self) -> &'static str {
        self.row().1
    }

    /// The rule of the catalogue that explains the failure.
    pub fn rule(self) -> Rule {
        match self.error() {
            LoginError::AccessDenied => Rule::UpstreamDenied,
            LoginError::InvalidProviderResponse => Rule::UpstreamInvalid,
            LoginError::ProviderUnavailable => Rule::UpstreamUnavailable,
        }
    }

    /// The failure of fetching one of Google's documents, which belongs to no single
    /// login.
    pub(super) fn of_document(self) -> Self {
        if self.is_transient() {
            self
        } else {
            Self::Document
        }
    }

    /// Whether the failure shows that the provider does not work for the broker, unlike
    /// an error that a browser reports, an invalid answer, or a limit of our own.
    pub(super) fn is_of_provider(self) -> bool {
        matches!(self.error(), LoginError::ProviderUnavailable)
            && !matches!(
                self,
                Self::CallbackServerError
                    | Self::CallbackSuspended
                    | Self::NotConfigured
                    | Self::Disabled
                    | Self::TooManyCalls
                    | Self::TooManySearches
            )
    }

    /// Whether the failure passes by itself and does not invalidate cached documents.
    pub(super) fn is_transient(self) -> bool {
        matches!(
            self,
            Self::TooManyCalls
                | Self::Timeout
                | Self::Unreachable
                | Self::Untrusted
                | Self::ConnectionBroken
                | Self::RateLimited
                | Self::ServerError
        )
    }
}

/// The provider rejects the broker's `client_id` or `client_secret`: the operator's mistake,
/// not the user's and not the provider's. Logged as an error, because every login
/// through the provider fails until the operator corrects it.
pub(super) fn own_credentials_rejected(provider: Provider) -> Failure {
    tracing::error!(
        %provider,
        "{provider} refuses our own client_id or client_secret, and every sign-in through it \
         fails: set upstream.{provider}.client_id and .client_secret to what its console shows"
    );
    Failure::OwnCredentials
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_failures_share_a_text_in_the_audit_log() {
        let texts: HashSet<_> = Failure::ALL.iter().map(|failure| failure.why()).collect();
        assert_eq!(texts.len(), Failure::ALL.len());
    }
}
