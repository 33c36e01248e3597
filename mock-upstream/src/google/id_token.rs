//! The ID token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Grant;
use super::keys::Key;
use super::scopes::{Scope, Scopes};
use super::seal::seal;
use crate::desk::Desk;
use crate::unconfirmed::IssuerForm;
use crate::{Misbehaviour, Person, Unconfirmed, chance};

const LIFETIME_SECONDS: i64 = 3600;

/// Claims, and what is wrong with the token that carries them.
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
    personal: Personal<'a>,
    at_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    iat: i64,
    exp: i64,
}

/// What the scopes let through, here and at the userinfo endpoint. Google leaves
/// out what it does not have.
#[derive(Serialize)]
pub(super) struct Personal<'a> {
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
    pub(super) fn new(grant: &'a Grant, desk: &'a Desk, access_token: &str, now_ms: i64) -> Self {
        let client_id = desk.client.client_id();
        let issued_at = now_ms / 1000;
        let claims = Claims {
            iss: issuer(desk),
            azp: client_id,
            aud: client_id,
            sub: &grant.cast.person.id,
            personal: Personal::of(&grant.cast.person, &grant.request.scopes),
            at_hash: at_hash(access_token),
            nonce: grant.request.nonce.as_deref(),
            iat: issued_at,
            exp: issued_at + LIFETIME_SECONDS,
        };
        Self {
            claims,
            misbehaviour: grant.cast.misbehaviour,
            unconfirmed: desk.unconfirmed,
        }
    }

    /// The token, sealed with `key`.
    pub(super) fn sealed(&self, key: &Key) -> String {
        let claims = serde_json::to_value(&self.claims).expect("our own types become JSON");
        let claims = match self.misbehaviour {
            Some(misbehaviour) => forged(misbehaviour, claims),
            None => claims.to_string(),
        };
        let typ = self.unconfirmed.google_id_token_typ.then_some("JWT");
        seal(&claims, key, typ, self.misbehaviour)
    }
}

/// The claims as JSON, with what is wrong in them.
fn forged(misbehaviour: Misbehaviour, mut claims: Value) -> String {
    use Misbehaviour as M;
    match misbehaviour {
        M::WrongNonce => claims["nonce"] = chance::url_safe(43).into(),
        M::NoNonce => remove(&mut claims, "nonce"),
        M::WrongAudience => {
            claims["aud"] = SOMEBODY_ELSE.into();
            claims["azp"] = SOMEBODY_ELSE.into();
        }
        M::WrongAzp => claims["azp"] = SOMEBODY_ELSE.into(),
        M::WrongIssuer => claims["iss"] = "https://issuer.example".into(),
        M::WrongAtHash => claims["at_hash"] = at_hash("another access token").into(),
        M::ExpiredIdToken => shift(&mut claims, -2 * LIFETIME_SECONDS),
        M::IssuedInTheFuture => shift(&mut claims, LIFETIME_SECONDS),
        M::ClockAhead => shift(&mut claims, SKEW_SECONDS),
        M::ClockBehind => shift(&mut claims, -LIFETIME_SECONDS - SKEW_SECONDS),
        M::SubNumber => claims["sub"] = 100_000_000_000_000_001_u64.into(),
        M::EmailVerifiedText => claims["email_verified"] = "true".into(),
        M::DuplicateClaims => return sub_twice(&claims.to_string()),
        _ => {}
    }
    claims.to_string()
}

/// A client that is not ours.
const SOMEBODY_ELSE: &str = "another-client.apps.example";

/// How far a clock may be off without harm.
const SKEW_SECONDS: i64 = 30;

fn remove(claims: &mut Value, name: &str) {
    claims.as_object_mut().map(|claims| claims.remove(name));
}

/// The claims of another time.
fn shift(claims: &mut Value, seconds: i64) {
    for name in ["iat", "exp"] {
        let time = claims[name].as_i64().unwrap_or_default();
        claims[name] = (time + seconds).into();
    }
}

/// Whoever takes the first of the two sees somebody else.
fn sub_twice(claims: &str) -> String {
    claims.replacen('{', r#"{"sub":"forged","#, 1)
}

/// The issuer, in the form that was chosen.
fn issuer(desk: &Desk) -> &str {
    match desk.unconfirmed.google_id_token_issuer {
        IssuerForm::Url => &desk.url,
        IssuerForm::WithoutScheme => desk.url.trim_start_matches("http://"),
    }
}

impl<'a> Personal<'a> {
    pub(super) fn of(person: &'a Person, scopes: &Scopes) -> Self {
        let email = person
            .email
            .as_deref()
            .filter(|_| scopes.contain(Scope::Email));
        let profile = scopes.contain(Scope::Profile).then_some(person);
        let name = profile.and_then(|person| person.name.as_deref());
        let (given_name, family_name) = name.map(split_name).unwrap_or_default();
        Self {
            email,
            email_verified: email.map(|_| person.email_verified),
            name,
            picture: profile.and_then(|person| person.picture.as_deref()),
            given_name,
            family_name,
            hd: person.hosted_domain.as_deref(),
        }
    }
}

/// The first word, and the rest if there is one.
fn split_name(name: &str) -> (Option<&str>, Option<&str>) {
    match name.split_once(' ') {
        Some((given, family)) => (Some(given), Some(family)),
        None => (Some(name), None),
    }
}

/// The left half of the access token's digest (OpenID Connect Core, 3.1.3.6).
fn at_hash(access_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(access_token)[..16])
}
