//! The table of misbehaviours: what the provider sends, and how the login must end.
//!
//! Refused connections and TLS failures are not in it: a provider that answers at all
//! can produce neither. `e2e` has a test for an unreachable provider.

use crate::Provider;

/// The user cancelled.
const DENIED: Option<&str> = Some("access_denied");

/// The provider's response proves nothing.
const INVALID: Option<&str> = Some("invalid_provider_response");

/// The provider does not respond, not now, or does not know the client.
const UNAVAILABLE: Option<&str> = Some("provider_unavailable");

/// The account is odd, and that must not matter.
const SUCCEEDS: Option<&str> = None;

/// The columns of the table.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) group: Group,
    pub(super) description: Description,
    pub(super) error: Option<&'static str>,
}

/// The description at each provider; `None` at a provider without this misbehaviour.
pub(super) struct Description {
    google: Option<&'static str>,
    github: Option<&'static str>,
}

impl Description {
    const fn both(text: &'static str) -> Self {
        Self::each(text, text)
    }

    const fn each(google: &'static str, github: &'static str) -> Self {
        Self {
            google: Some(google),
            github: Some(github),
        }
    }

    const fn google(text: &'static str) -> Self {
        Self {
            google: Some(text),
            github: None,
        }
    }

    const fn github(text: &'static str) -> Self {
        Self {
            google: None,
            github: Some(text),
        }
    }

    /// The description at `provider`, if it has this misbehaviour.
    pub(super) fn at(&self, provider: Provider) -> Option<&'static str> {
        match provider {
            Provider::Google => self.google,
            Provider::GitHub => self.github,
        }
    }
}

/// Generates the enums and the rows from one table, so that they cannot differ.
macro_rules! table {
    ($(
        $group:ident $title:literal {
            $( $name:literal $variant:ident, $provider:ident($($description:literal),+) => $error:ident; )+
        }
    )+) => {
        /// The part of a sign-in that goes wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Group {
            $( #[doc = $title] $group, )+
        }

        impl Group {
            /// All groups, in the order of the page.
            pub const ALL: &[Self] = &[$( Self::$group, )+];

            /// The heading on the page.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $( Self::$group => $title, )+ }
            }
        }

        /// One way in which a sign-in goes wrong. It affects one sign-in only: it happens
        /// in the callback, or travels with the code and the token of this sign-in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Misbehaviour {
            $($( #[doc = concat!($($description, " "),+)] $variant, )+)+
        }

        impl Misbehaviour {
            /// All misbehaviours, in the order of the table.
            pub(super) const ALL: &[Self] = &[$($( Self::$variant, )+)+];

            const ROWS: &[Row] = &[$($( Row {
                name: $name,
                group: Group::$group,
                description: Description::$provider($($description),+),
                error: $error,
            }, )+)+];

            /// Rows and variants have the same order: the table generates both.
            pub(super) fn row(self) -> &'static Row {
                &Self::ROWS[self as usize]
            }
        }
    };
}

table! {
    Callback "Callback" {
        "deny" Deny,
            both("The user cancels: the callback carries error=access_denied.") => DENIED;
        "server_error" ServerError,
            each("The callback carries error=server_error.",
                 "The token call is answered with a 500 page.") => UNAVAILABLE;
        "temporarily_unavailable" TemporarilyUnavailable,
            google("The callback carries error=temporarily_unavailable.") => UNAVAILABLE;
        "application_suspended" ApplicationSuspended,
            github("The callback carries error=application_suspended: our registration is at fault.") => UNAVAILABLE;
        "no_code" NoCode,
            both("The callback carries neither a code nor an error.") => INVALID;
        "wrong_callback_issuer" WrongCallbackIssuer,
            both("The callback carries a good code and the iss of another issuer.") => INVALID;
    }
    Connection "Token request: no or partial answer" {
        "timeout" Timeout,
            both("The token call gets no response; the connection stays open.") => UNAVAILABLE;
        "reset" Reset,
            both("The token call's connection is closed without a byte of a response.") => UNAVAILABLE;
        "reset_after_headers" ResetAfterHeaders,
            both("The token call gets status and headers; then the connection is reset.") => UNAVAILABLE;
        "cut_short" CutShort,
            both("The token call gets half of the body that its Content-Length promises; then the connection is closed.") => UNAVAILABLE;
        "drip" Drip,
            both("The token call gets its headers at once and then one blank every 20 milliseconds, without an end.") => UNAVAILABLE;
    }
    Failure "Provider errors (5xx, 429)" {
        "token_500" Token500,
            google("The token call is answered with a 500 page.") => UNAVAILABLE;
        "token_502" Token502,
            both("The token call is answered with a 502 page.") => UNAVAILABLE;
        "token_503" Token503,
            both("The token call is answered with a 503 page.") => UNAVAILABLE;
        "rate_limited" RateLimited,
            each("The token call is answered with 429 and no Retry-After.",
                 "/user is answered with 403, the message of the primary limit, and x-ratelimit-remaining: 0.") => UNAVAILABLE;
        "rate_limited_retry_after" RateLimitedRetryAfter,
            each("The token call is answered with 429 and Retry-After: 60.",
                 "/user is answered with 429, retry-after: 60 and x-ratelimit-remaining: 0.") => UNAVAILABLE;
        "secondary_limit" SecondaryLimit,
            github("/user is answered with 403, the message of the secondary limit alone, while calls of the primary one are left.") => UNAVAILABLE;
        "secondary_limit_retry_after" SecondaryLimitRetryAfter,
            github("/user is answered with 403, the message of the secondary limit, and retry-after: 60.") => UNAVAILABLE;
    }
    TokenResponse "Token response: bad content" {
        "token_refused" TokenRefused,
            each("The token call is answered with 400 invalid_grant.",
                 "The token call is answered with 200 and error=bad_verification_code.") => INVALID;
        "deleted_client" DeletedClient,
            google("The token call is answered with 401 deleted_client: our registration is at fault.") => UNAVAILABLE;
        "unverified_user_email" UnverifiedUserEmail,
            github("The token call is answered with 200 and error=unverified_user_email.") => INVALID;
        "token_garbage" TokenGarbage,
            both("The token call is answered with 200 and broken JSON: the first half of a good answer.") => INVALID;
        "token_html" TokenHtml,
            both("The token call is answered with 200 and an HTML page.") => INVALID;
        "token_wrong_type" TokenWrongType,
            both("The token call is answered with 200 and good JSON as text/plain.") => INVALID;
        "token_empty" TokenEmpty,
            both("The token call is answered with 200 and no body.") => INVALID;
        "token_empty_object" TokenEmptyObject,
            both("The token call is answered with 200 and {}.") => INVALID;
        "token_duplicate_keys" TokenDuplicateKeys,
            both("The token call is answered with 200 and JSON that names each member twice, forged and good.") => INVALID;
        "token_huge" TokenHuge,
            both("The token call is answered with 200 and 50 MB.") => INVALID;
        "token_gzip_bomb" TokenGzipBomb,
            both("The token call is answered with 200 and 50 KB of unrequested gzip that become 50 MB.") => INVALID;
        "token_redirect_302" TokenRedirect302,
            both("The token call is redirected to another host with 302.") => INVALID;
        "token_redirect_307" TokenRedirect307,
            both("The token call is redirected to another host with 307, which would take our secret along.") => INVALID;
    }
    Claims "ID token: wrong claims" {
        "wrong_nonce" WrongNonce,
            google("The ID token carries a nonce that was never sent.") => INVALID;
        "no_nonce" NoNonce,
            google("The ID token carries no nonce.") => INVALID;
        "wrong_audience" WrongAudience,
            google("The ID token is for another client: its aud and azp.") => INVALID;
        "wrong_azp" WrongAzp,
            google("The ID token was issued to another client: its azp alone.") => INVALID;
        "wrong_issuer" WrongIssuer,
            google("The ID token's iss is another issuer.") => INVALID;
        "wrong_at_hash" WrongAtHash,
            google("The ID token's at_hash belongs to another access token.") => INVALID;
        "expired_id_token" ExpiredIdToken,
            google("The ID token expired an hour ago.") => INVALID;
        "issued_in_the_future" IssuedInTheFuture,
            google("The ID token will be issued in an hour.") => INVALID;
        "duplicate_claims" DuplicateClaims,
            google("The ID token has a valid signature and two members sub, forged and good.") => INVALID;
        "sub_empty" SubEmpty,
            google("The ID token's sub is empty.") => INVALID;
        "sub_too_long" SubTooLong,
            google("The ID token's sub has 256 characters, one more than Google allows.") => INVALID;
        "sub_number" SubNumber,
            google("The ID token's sub is a JSON number.") => INVALID;
    }
    Signature "ID token: bad signature" {
        "bad_signature" BadSignature,
            google("The ID token's signature does not fit its key.") => INVALID;
        "unknown_kid" UnknownKid,
            google("The ID token's kid is no published key; a published one signed it.") => INVALID;
        "no_kid" NoKid,
            google("The ID token's header has no kid; a published key signed it.") => INVALID;
        "alg_none" AlgNone,
            google("The ID token's alg is none, and its signature empty.") => INVALID;
        "alg_hs256" AlgHs256,
            google("The ID token's alg is HS256, keyed with the public key's modulus.") => INVALID;
        "alg_es256" AlgEs256,
            google("The ID token's alg is ES256, signed by an unpublished key under the kid of a published one.") => INVALID;
        "stale_keys" StaleKeys,
            google("A new key signed the ID token, and the key set does not show it yet.") => INVALID;
        "keys_500" Keys500,
            google("The ID token's kid is new; the next request for the key set gets a 500 page.") => UNAVAILABLE;
        "keys_timeout" KeysTimeout,
            google("The ID token's kid is new; the next request for the key set gets no response.") => UNAVAILABLE;
    }
    Account "Account: not readable" {
        "profile_refused" ProfileRefused,
            github("/user is answered with 401 Bad credentials.") => INVALID;
        "profile_garbage" ProfileGarbage,
            github("/user is answered with 200 and broken JSON.") => INVALID;
        "profile_502" Profile502,
            github("/user is answered with 502 and the message Server Error, as slow calls are.") => UNAVAILABLE;
        "profile_timeout" ProfileTimeout,
            github("/user gets no response; the connection stays open.") => UNAVAILABLE;
        "emails_garbage" EmailsGarbage,
            github("/user/emails is answered with 200 and broken JSON.") => INVALID;
        "emails_503" Emails503,
            github("/user/emails is answered with a 503 page.") => UNAVAILABLE;
        "id_absent" IdAbsent,
            github("/user has no id.") => INVALID;
        "id_text" IdText,
            github("/user has an id that is a string.") => INVALID;
    }
    Odd "Odd but valid: must still succeed" {
        "clock_ahead" ClockAhead,
            google("The provider's clock is 30 seconds ahead: the ID token's iat lies in the future.") => SUCCEEDS;
        "clock_behind" ClockBehind,
            google("The provider's clock is behind: the ID token expired 30 seconds ago.") => SUCCEEDS;
        "email_verified_text" EmailVerifiedText,
            google("The ID token's email_verified is the string \"true\", as an old sample has it.") => SUCCEEDS;
        "email_two_ats" EmailTwoAts,
            both("The e-mail address has two @.") => SUCCEEDS;
        "name_bidi" NameBidi,
            both("The name reverses the text that follows it (U+202E).") => SUCCEEDS;
        "name_nul" NameNul,
            both("The name contains a NUL.") => SUCCEEDS;
        "name_long" NameLong,
            both("The name has 10,000 characters.") => SUCCEEDS;
        "avatar_javascript" AvatarJavascript,
            both("The picture is a javascript: URL.") => SUCCEEDS;
        "avatar_http" AvatarHttp,
            both("The picture is an http: URL.") => SUCCEEDS;
        "avatar_data" AvatarData,
            both("The picture is a data: URL.") => SUCCEEDS;
    }
}
