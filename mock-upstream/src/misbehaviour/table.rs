//! The table of misbehaviours: the effect at each provider, what it sends, and how the login
//! must end.
//!
//! Refused connections and TLS failures are not in it: a provider that answers at all
//! can produce neither. `e2e` has a test for an unreachable provider.

use serde_json::Value;

use super::effect::AccountFault::{
    BadToken, Members, PrimaryLimit, Response, SecondaryLimit, ServerError,
};
use super::effect::CallbackFault::{Error, NoCode, WrongIssuer};
use super::effect::Effect::{self, Account, Callback, Emails, IdToken, TokenCall, User};
use super::effect::IdTokenFault::{
    AlgEs256, AlgHs256, AlgNone, BadSignature, Claims, Keys, NoKid, StaleKeys, TwoSubs, UnknownKid,
};
use super::effect::ResponseFault::{
    self, Body, Delivered, EachMemberTwice, ErrorPage, FirstHalf, GzipBomb, NetworkLogin,
    PlainText, Redirect,
};
use super::effect::TokenFault::{self, Refused};
use super::effect::{remove, shift};
use crate::Provider;
use crate::http::Delivery::{Closed, Drip, Flood, Half, Reset, Silence};
use crate::system::{URL_SAFE, random_string};

/// The user cancelled.
const DENIED: Option<&str> = Some("access_denied");

/// The provider's response proves nothing.
const INVALID: Option<&str> = Some("invalid_provider_response");

/// The provider does not respond, not now, or does not know the client.
const UNAVAILABLE: Option<&str> = Some("provider_unavailable");

/// The account is odd, and that must not matter.
const SUCCEEDS: Option<&str> = None;

/// Google's error for too many calls. Its real body is not confirmed.
const TOO_MANY: &str = "rate_limit_exceeded";
const TOO_MANY_TEXT: &str = "Rate Limit Exceeded";

/// An hour, which is the lifetime of an ID token, too: moved back by it, one expires now.
const HOUR_SECONDS: i64 = 3600;

/// A clock skew that a client has to tolerate.
const SKEW_SECONDS: i64 = 30;

/// The id of a client that is not registered.
const ANOTHER_CLIENT: &str = "another-client.apps.example";

/// The left half of the digest of `another access token`.
const ANOTHER_AT_HASH: &str = "wQFkUtMS3mcGZYkrkP8tUw";

/// The columns of the table.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) group: Group,
    pub(super) effects: Effects,
    pub(super) error: Option<&'static str>,
}

/// The effect at each provider, with its description; `None` at a provider without this
/// misbehaviour.
#[derive(Clone, Copy)]
pub(super) struct Effects {
    google: Option<(Effect, &'static str)>,
    github: Option<(Effect, &'static str)>,
}

impl Effects {
    const NONE: Self = Self {
        google: None,
        github: None,
    };

    const fn both(self, effect: Effect, text: &'static str) -> Self {
        self.google(effect, text).github(effect, text)
    }

    const fn google(self, effect: Effect, text: &'static str) -> Self {
        let has_none = matches!(effect, Account(_) | Emails(_));
        assert!(!has_none, "Google has no REST API");
        let google = Some((effect, text));
        Self { google, ..self }
    }

    const fn github(self, effect: Effect, text: &'static str) -> Self {
        assert!(!matches!(effect, IdToken(_)), "GitHub has no ID token");
        let github = Some((effect, text));
        Self { github, ..self }
    }

    /// The effect at `provider` and its description, if it has this misbehaviour.
    pub(super) fn at(&self, provider: Provider) -> Option<(Effect, &'static str)> {
        match provider {
            Provider::Google => self.google,
            Provider::GitHub => self.github,
        }
    }
}

const fn token(fault: ResponseFault) -> Effect {
    TokenCall(TokenFault::Response(fault))
}

const fn claims(change: fn(&mut Value)) -> Effect {
    IdToken(Claims(change))
}

/// Generates the enums and the rows from one table, so that they cannot differ.
macro_rules! table {
    ($(
        $group:ident $title:literal {
            $( $name:literal $variant:ident => $error:ident, $( $provider:ident($effect:expr, $description:literal) )+; )+
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
                effects: Effects::NONE$( .$provider($effect, $description) )+,
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
        "deny" Deny => DENIED,
            both(Callback(Error("access_denied", "The user has denied your application access.")),
                 "The user cancels: the callback carries error=access_denied.");
        "server_error" ServerError => UNAVAILABLE,
            google(Callback(Error("server_error", "")), "The callback carries error=server_error.")
            github(token(ErrorPage(500)), "The token call is answered with a 500 page.");
        "temporarily_unavailable" TemporarilyUnavailable => UNAVAILABLE,
            google(Callback(Error("temporarily_unavailable", "")), "The callback carries error=temporarily_unavailable.");
        "application_suspended" ApplicationSuspended => UNAVAILABLE,
            github(Callback(Error("application_suspended", "Your application has been suspended. Contact support@github.com.")),
                   "The callback carries error=application_suspended: our registration is at fault.");
        "no_code" NoCode => INVALID,
            both(Callback(NoCode), "The callback carries neither a code nor an error.");
        "wrong_callback_issuer" WrongCallbackIssuer => INVALID,
            both(Callback(WrongIssuer), "The callback carries a good code and the iss of another issuer.");
    }
    Connection "Token request: no or partial answer" {
        "timeout" Timeout => UNAVAILABLE,
            both(token(Delivered(Silence)), "The token call gets no response; the connection stays open.");
        "reset" Reset => UNAVAILABLE,
            both(token(Delivered(Closed)), "The token call's connection is closed without a byte of a response.");
        "reset_after_headers" ResetAfterHeaders => UNAVAILABLE,
            both(token(Delivered(Reset)), "The token call gets status and headers; then the connection is reset.");
        "cut_short" CutShort => UNAVAILABLE,
            both(token(Delivered(Half)),
                 "The token call gets half of the body that its Content-Length promises; then the connection is closed.");
        "drip" Drip => UNAVAILABLE,
            both(token(Delivered(Drip)),
                 "The token call gets its headers at once and then one blank every 20 milliseconds, without an end.");
    }
    Failure "Provider errors (5xx, 429)" {
        "token_500" Token500 => UNAVAILABLE,
            google(token(ErrorPage(500)), "The token call is answered with a 500 page.");
        "token_502" Token502 => UNAVAILABLE,
            both(token(ErrorPage(502)), "The token call is answered with a 502 page.");
        "token_503" Token503 => UNAVAILABLE,
            both(token(ErrorPage(503)), "The token call is answered with a 503 page.");
        "rate_limited" RateLimited => UNAVAILABLE,
            google(TokenCall(TokenFault::Error(429, TOO_MANY, TOO_MANY_TEXT, None)),
                   "The token call is answered with 429 and no Retry-After.")
            github(Account(PrimaryLimit(403, None)),
                   "/user is answered with 403, the message of the primary limit, and x-ratelimit-remaining: 0.");
        "rate_limited_retry_after" RateLimitedRetryAfter => UNAVAILABLE,
            google(TokenCall(TokenFault::Error(429, TOO_MANY, TOO_MANY_TEXT, Some("60"))),
                   "The token call is answered with 429 and Retry-After: 60.")
            github(Account(PrimaryLimit(429, Some("60"))),
                   "/user is answered with 429, retry-after: 60 and x-ratelimit-remaining: 0.");
        "secondary_limit" SecondaryLimit => UNAVAILABLE,
            github(Account(SecondaryLimit(None)),
                   "/user is answered with 403, the message of the secondary limit alone, while calls of the primary one are left.");
        "secondary_limit_retry_after" SecondaryLimitRetryAfter => UNAVAILABLE,
            github(Account(SecondaryLimit(Some("60"))),
                   "/user is answered with 403, the message of the secondary limit, and retry-after: 60.");
    }
    TokenResponse "Token response: bad content" {
        "token_refused" TokenRefused => INVALID,
            google(TokenCall(Refused), "The token call is answered with 400 invalid_grant.")
            github(TokenCall(Refused), "The token call is answered with 200 and error=bad_verification_code.");
        "deleted_client" DeletedClient => UNAVAILABLE,
            google(TokenCall(TokenFault::Error(401, "deleted_client", "The OAuth client was deleted.", None)),
                   "The token call is answered with 401 deleted_client: our registration is at fault.");
        "unverified_user_email" UnverifiedUserEmail => INVALID,
            github(TokenCall(TokenFault::Error(200, "unverified_user_email", "The user must have a verified primary email.", None)),
                   "The token call is answered with 200 and error=unverified_user_email.");
        "token_garbage" TokenGarbage => INVALID,
            both(token(FirstHalf), "The token call is answered with 200 and broken JSON: the first half of a good answer.");
        "token_html" TokenHtml => INVALID,
            both(token(NetworkLogin), "The token call is answered with 200 and an HTML page.");
        "token_wrong_type" TokenWrongType => INVALID,
            both(token(PlainText), "The token call is answered with 200 and good JSON as text/plain.");
        "token_empty" TokenEmpty => INVALID,
            both(token(Body("")), "The token call is answered with 200 and no body.");
        "token_empty_object" TokenEmptyObject => INVALID,
            both(token(Body("{}")), "The token call is answered with 200 and {}.");
        "token_duplicate_keys" TokenDuplicateKeys => INVALID,
            both(token(EachMemberTwice),
                 "The token call is answered with 200 and JSON that names each member twice, forged and good.");
        "token_huge" TokenHuge => INVALID,
            both(token(Delivered(Flood)), "The token call is answered with 200 and 50 MB.");
        "token_gzip_bomb" TokenGzipBomb => INVALID,
            both(token(GzipBomb), "The token call is answered with 200 and 50 KB of unrequested gzip that become 50 MB.");
        "token_redirect_302" TokenRedirect302 => INVALID,
            both(token(Redirect(302)), "The token call is redirected to another host with 302.");
        "token_redirect_307" TokenRedirect307 => INVALID,
            both(token(Redirect(307)), "The token call is redirected to another host with 307, which would take our secret along.");
    }
    Claims "ID token: wrong claims" {
        "wrong_nonce" WrongNonce => INVALID,
            google(claims(|it| it["nonce"] = random_string(URL_SAFE, 43).into()),
                   "The ID token carries a nonce that was never sent.");
        "no_nonce" NoNonce => INVALID,
            google(claims(|it| remove(it, "nonce")), "The ID token carries no nonce.");
        "wrong_audience" WrongAudience => INVALID,
            google(claims(|it| (it["aud"], it["azp"]) = (ANOTHER_CLIENT.into(), ANOTHER_CLIENT.into())),
                   "The ID token is for another client: its aud and azp.");
        "wrong_azp" WrongAzp => INVALID,
            google(claims(|it| it["azp"] = ANOTHER_CLIENT.into()), "The ID token was issued to another client: its azp alone.");
        "wrong_issuer" WrongIssuer => INVALID,
            google(claims(|it| it["iss"] = "https://issuer.example".into()), "The ID token's iss is another issuer.");
        "wrong_at_hash" WrongAtHash => INVALID,
            google(claims(|it| it["at_hash"] = ANOTHER_AT_HASH.into()), "The ID token's at_hash belongs to another access token.");
        "expired_id_token" ExpiredIdToken => INVALID,
            google(claims(|it| shift(it, -2 * HOUR_SECONDS)), "The ID token expired an hour ago.");
        "issued_in_the_future" IssuedInTheFuture => INVALID,
            google(claims(|it| shift(it, HOUR_SECONDS)), "The ID token will be issued in an hour.");
        "duplicate_claims" DuplicateClaims => INVALID,
            google(IdToken(TwoSubs), "The ID token has a valid signature and two members sub, forged and good.");
        "sub_empty" SubEmpty => INVALID,
            google(User(|it| it.id = String::new()), "The ID token's sub is empty.");
        "sub_too_long" SubTooLong => INVALID,
            google(User(|it| it.id = "1".repeat(256)), "The ID token's sub has 256 characters, one more than Google allows.");
        "sub_number" SubNumber => INVALID,
            google(claims(|it| it["sub"] = 100_000_000_000_000_001_u64.into()), "The ID token's sub is a JSON number.");
    }
    Signature "ID token: bad signature" {
        "bad_signature" BadSignature => INVALID,
            google(IdToken(BadSignature), "The ID token's signature does not fit its key.");
        "unknown_kid" UnknownKid => INVALID,
            google(IdToken(UnknownKid), "The ID token's kid is no published key; a published one signed it.");
        "no_kid" NoKid => INVALID,
            google(IdToken(NoKid), "The ID token's header has no kid; a published key signed it.");
        "alg_none" AlgNone => INVALID,
            google(IdToken(AlgNone), "The ID token's alg is none, and its signature empty.");
        "alg_hs256" AlgHs256 => INVALID,
            google(IdToken(AlgHs256), "The ID token's alg is HS256, keyed with the public key's modulus.");
        "alg_es256" AlgEs256 => INVALID,
            google(IdToken(AlgEs256), "The ID token's alg is ES256, signed by an unpublished key under the kid of a published one.");
        "stale_keys" StaleKeys => INVALID,
            google(IdToken(StaleKeys), "A new key signed the ID token, and the key set does not show it yet.");
        "keys_500" Keys500 => UNAVAILABLE,
            google(IdToken(Keys(ErrorPage(500))), "The ID token's kid is new; the next request for the key set gets a 500 page.");
        "keys_timeout" KeysTimeout => UNAVAILABLE,
            google(IdToken(Keys(Delivered(Silence))),
                   "The ID token's kid is new; the next request for the key set gets no response.");
    }
    Account "Account: not readable" {
        "profile_refused" ProfileRefused => INVALID,
            github(Account(BadToken), "/user is answered with 401 Bad credentials.");
        "profile_garbage" ProfileGarbage => INVALID,
            github(Account(Response(FirstHalf)), "/user is answered with 200 and broken JSON.");
        "profile_502" Profile502 => UNAVAILABLE,
            github(Account(ServerError), "/user is answered with 502 and the message Server Error, as slow calls are.");
        "profile_timeout" ProfileTimeout => UNAVAILABLE,
            github(Account(Response(Delivered(Silence))), "/user gets no response; the connection stays open.");
        "emails_garbage" EmailsGarbage => INVALID,
            github(Emails(FirstHalf), "/user/emails is answered with 200 and broken JSON.");
        "emails_503" Emails503 => UNAVAILABLE,
            github(Emails(ErrorPage(503)), "/user/emails is answered with a 503 page.");
        "id_absent" IdAbsent => INVALID,
            github(Account(Members(|it| remove(it, "id"))), "/user has no id.");
        "id_text" IdText => INVALID,
            github(Account(Members(|it| it["id"] = it["id"].to_string().into())), "/user has an id that is a string.");
    }
    Odd "Odd but valid: must still succeed" {
        "clock_ahead" ClockAhead => SUCCEEDS,
            google(claims(|it| shift(it, SKEW_SECONDS)),
                   "The provider's clock is 30 seconds ahead: the ID token's iat lies in the future.");
        "clock_behind" ClockBehind => SUCCEEDS,
            google(claims(|it| shift(it, -HOUR_SECONDS - SKEW_SECONDS)),
                   "The provider's clock is behind: the ID token expired 30 seconds ago.");
        "email_verified_text" EmailVerifiedText => SUCCEEDS,
            google(claims(|it| it["email_verified"] = "true".into()),
                   "The ID token's email_verified is the string \"true\", as an old sample has it.");
        "email_two_ats" EmailTwoAts => SUCCEEDS,
            both(User(|it| it.email = Some("ada@evil.example@people.example".to_owned())), "The e-mail address has two @.");
        "name_bidi" NameBidi => SUCCEEDS,
            both(User(|it| it.name = Some("Ada \u{202e}ecalevoL".to_owned())),
                 "The name reverses the text that follows it (U+202E).");
        "name_nul" NameNul => SUCCEEDS,
            both(User(|it| it.name = Some("Ada\0 Lovelace".to_owned())), "The name contains a NUL.");
        "name_long" NameLong => SUCCEEDS,
            both(User(|it| it.name = Some("A".repeat(10_000))), "The name has 10,000 characters.");
        "avatar_javascript" AvatarJavascript => SUCCEEDS,
            both(User(|it| it.picture = Some("javascript:alert(1)".to_owned())), "The picture is a javascript: URL.");
        "avatar_http" AvatarHttp => SUCCEEDS,
            both(User(|it| it.picture = Some("http://pictures.example/ada".to_owned())), "The picture is an http: URL.");
        "avatar_data" AvatarData => SUCCEEDS,
            both(User(|it| it.picture = Some("data:image/png;base64,AAAA".to_owned())), "The picture is a data: URL.");
    }
}
