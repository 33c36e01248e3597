//! The wire types of the Federated Sign-In Service, and the rules they obey.
//!
//! The files follow the tables of the specification (contract version 0.1.0). Every value is
//! parsed into a type that cannot hold anything else, so that no code behind the
//! parser checks it again.
//!
//! # Layout
//!
//! | file | table of the specification |
//! |---|---|
//! | [`address`] | base addresses, the definition of loopback, RedirectUri, and the URL a login session answers with |
//! | [`credentials`] | `client_id`, `client_secret`, `session_key` |
//! | [`login`] | LoginSessionRequest, LoginResultRequest and their answers |
//! | [`legacy`] | `state`, `code_verifier`, `code_challenge`, Transaction; TokenRequest, TokenResponse |
//! | [`profile`] | Provider, ProviderStatus, Profile |
//! | [`answer`] | ApiError, and the constants of `expires_in` |
//! | [`Digest`] | SHA-256, the only form in which a secret may be stored |
//! | [`openapi`] | the same contract as OpenAPI and JSON Schema |
//! | [`rules`] | the catalogue: every reason to refuse, in one sentence each |
//!
//! # Invariants
//!
//! - Parsing, hashing and nothing else: no sockets, no clock, no randomness.
//! - A secret's `Debug` is redacted, it has no `Display`, and its text leaves
//!   through a method named `expose` or onto the wire.
//! - An error names the rule that was broken and never repeats the input.

#![warn(missing_docs)]

pub mod address;
pub mod answer;
pub mod credentials;
pub mod legacy;
pub mod login;
pub mod profile;
pub mod rules;

mod text;
mod uri;

/// The published contract: `openapi.yaml` and `schemas/*.json`, bundled into one document by
/// the build script.
pub mod openapi {
    /// OpenAPI 3.1.1 as JSON, with every schema inside and no reference to another
    /// document: the body of `GET /openapi.json`.
    pub const DOCUMENT: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));
}

/// Implements `Debug` for a type that holds a secret: its name, and nothing of its value.
#[macro_export]
macro_rules! redacted {
    ($name:ident) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(concat!(stringify!($name), "([redacted])"))
            }
        }
    };
}

/// Implements `TryFrom<String>` by `FromStr`, for `#[serde(try_from = "String")]`.
#[macro_export]
macro_rules! parsed {
    ($name:ident) => {
        impl ::std::convert::TryFrom<::std::string::String> for $name {
            type Error = <Self as ::std::str::FromStr>::Err;

            fn try_from(text: ::std::string::String) -> ::std::result::Result<Self, Self::Error> {
                text.parse()
            }
        }
    };
}

pub use address::{AuthorizationUrl, Origin, RedirectUri};
pub use answer::{ApiError, Lifetime, LoginLifetime, TokenLifetime};
pub use credentials::{ClientId, ClientSecret, DEVELOPMENT_SECRET, PresentedClientId, SessionKey};
pub use legacy::{
    AccessToken, CodeChallenge, CodeVerifier, GrantType, HandoffCode, Scope, State, TokenRequest,
    TokenResponse, TokenType, Transaction,
};
pub use login::{
    LoginError, LoginResult, LoginResultRequest, LoginSessionRequest, LoginSessionResponse,
};
pub use profile::{Profile, Provider, ProviderStatus, Subject};
pub use rules::{Malformed, Rule, Source};
pub use text::Digest;
