//! The ID token and its claims.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::keys::Key;
use super::scopes::{Scope, Scopes};
use super::signature::sign;
use super::state::Grant;
use crate::provider::ProviderContext;
use crate::settings::IssuerForm;
use crate::{Misbehaviour, Unconfirmed, User, random};

const LIFETIME_SECONDS: i64 = 3600;

/// The claims of a token, and its misbehaviour.
pub(super) struct IdToken<'a> {
    claims: Claims<'a>,
    misbehaviour: Option<Misbehaviour>,
    unconfirmed: Unconfirmed,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    azp: &'a str,
    aud: &'a str,
    sub: &'a str,
    #[serde(flatten)]
    scoped: ScopedClaims<'a>,
    at_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    iat: i64,
    exp: i64,
}

/// The claims that depend on the scopes, in an ID token and at the userinfo endpoint.
/// Google omits a claim that the account does not have.
#[derive(Serialize)]
pub(super) struct ScopedClaims<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) email_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    given_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    family_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hd: Option<&'a str>,
}

impl<'a> IdToken<'a> {
    pub(super) fn new(
        grant: &'a Grant,
        context: &'a ProviderContext,
        access_token: &str,
        now_ms: i64,
    ) -> Self {
        let client_id = grant.request.client.client_id();
        let issued_at = now_ms / 1000;
        let claims = Claims {
            iss: issuer(context),
            azp: client_id,
            aud: client_id,
            sub: &grant.script.user.id,
            scoped: ScopedClaims::of(&grant.script.user, &grant.request.scopes),
            at_hash: at_hash(access_token),
            nonce: grant.request.nonce.as_deref(),
            iat: issued_at,
            exp: issued_at + LIFETIME_SECONDS,
        };
        Self {
            claims,
            misbehaviour: grant.script.misbehaviour,
            unconfirmed: context.unconfirmed,
        }
    }

    /// The token, signed with `key`.
    pub(super) fn signed(&self, key: &Key) -> String {
        let claims = serde_json::to_value(&self.claims).expect("our own types become JSON");
        let claims = match self.misbehaviour {
            Some(misbehaviour) => corrupt(misbehaviour, claims),
            None => claims.to_string(),
        };
        let typ = self.unconfirmed.google_id_token_typ.then_some("JWT");
        sign(&claims, key, typ, self.misbehaviour)
    }
}

/// The claims as JSON, with the misbehaviour in them.
fn corrupt(misbehaviour: Misbehaviour, mut claims: Value) -> String {
    use Misbehaviour as M;
    match misbehaviour {
        M::WrongNonce => claims["nonce"] = random::url_safe(43).into(),
        M::NoNonce => remove(&mut claims, "nonce"),
        M::WrongAudience => {
            claims["aud"] = ANOTHER_CLIENT.into();
            claims["azp"] = ANOTHER_CLIENT.into();
        }
        M::WrongAzp => claims["azp"] = ANOTHER_CLIENT.into(),
        M::WrongIssuer => claims["iss"] = "https://issuer.example".into(),
        M::WrongAtHash => claims["at_hash"] = at_hash("another access token").into(),
        M::ExpiredIdToken => shift(&mut claims, -2 * LIFETIME_SECONDS),
        M::IssuedInTheFuture => shift(&mut claims, LIFETIME_SECONDS),
        M::ClockAhead => shift(&mut claims, SKEW_SECONDS),
        M::ClockBehind => shift(&mut claims, -LIFETIME_SECONDS - SKEW_SECONDS),
        M::SubNumber => claims["sub"] = 100_000_000_000_000_001_u64.into(),
        M::EmailVerifiedText => claims["email_verified"] = "true".into(),
        M::DuplicateClaims => return with_duplicate_sub(&claims.to_string()),
        _ => {}
    }
    claims.to_string()
}

/// The id of a client that is not registered.
const ANOTHER_CLIENT: &str = "another-client.apps.example";

/// A clock skew that a client has to tolerate.
const SKEW_SECONDS: i64 = 30;

fn remove(claims: &mut Value, name: &str) {
    claims.as_object_mut().map(|claims| claims.remove(name));
}

/// Moves the token to another time.
fn shift(claims: &mut Value, seconds: i64) {
    for name in ["iat", "exp"] {
        let time = claims[name].as_i64().unwrap_or_default();
        claims[name] = (time + seconds).into();
    }
}

/// Adds a forged `sub` before the good one, for a client that reads the first of two.
fn with_duplicate_sub(claims: &str) -> String {
    claims.replacen('{', r#"{"sub":"forged","#, 1)
}

/// The issuer in the chosen form.
fn issuer(context: &ProviderContext) -> &str {
    match context.unconfirmed.google_id_token_issuer {
        IssuerForm::Url => &context.url,
        IssuerForm::WithoutScheme => match context.url.split_once("://") {
            Some((_scheme, rest)) => rest,
            None => &context.url,
        },
    }
}

impl<'a> ScopedClaims<'a> {
    pub(super) fn of(user: &'a User, scopes: &Scopes) -> Self {
        let email = user
            .email
            .as_deref()
            .filter(|_| scopes.contain(Scope::Email));
        let profile = scopes.contain(Scope::Profile).then_some(user);
        let name = profile.and_then(|user| user.name.as_deref());
        let (given_name, family_name) = name.map(split_name).unwrap_or_default();
        Self {
            email,
            email_verified: email.map(|_| user.email_verified),
            name,
            picture: profile.and_then(|user| user.picture.as_deref()),
            given_name,
            family_name,
            hd: user.hosted_domain.as_deref(),
        }
    }
}

/// The first word, and the rest if there is any.
fn split_name(name: &str) -> (Option<&str>, Option<&str>) {
    match name.split_once(' ') {
        Some((given, family)) => (Some(given), Some(family)),
        None => (Some(name), None),
    }
}

/// The left half of the digest of the access token (OpenID Connect Core, 3.1.3.6).
pub(super) fn at_hash(access_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(access_token)[..16])
}
