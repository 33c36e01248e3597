//! The ID token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::scopes::{Scope, Scopes};
use super::{Grant, KeyRing};
use crate::desk::Desk;
use crate::{Misbehaviour, Person, chance};

const LIFETIME_SECONDS: i64 = 3600;

/// Claims, and what is wrong with the token that carries them.
pub(super) struct IdToken<'a> {
    claims: Claims<'a>,
    misbehaviour: Option<Misbehaviour>,
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
    nonce: Option<String>,
    iat: i64,
    exp: i64,
}

/// What the scopes let through, here and at the userinfo endpoint. Google leaves
/// out what it does not have.
#[derive(Serialize)]
pub(super) struct Personal<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    given_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    family_name: Option<&'a str>,
}

impl<'a> IdToken<'a> {
    pub(super) fn new(grant: &'a Grant, desk: &'a Desk, access_token: &str, now_ms: i64) -> Self {
        let client_id = desk.client.client_id();
        let issued_at = now_ms / 1000;
        let claims = Claims {
            iss: &desk.url,
            azp: client_id,
            aud: client_id,
            sub: &grant.cast.person.id,
            personal: Personal::of(&grant.cast.person, &grant.request.scopes),
            at_hash: at_hash(access_token),
            nonce: nonce(grant),
            iat: issued_at,
            exp: issued_at + LIFETIME_SECONDS,
        };
        Self {
            claims,
            misbehaviour: grant.cast.misbehaviour,
        }
    }

    pub(super) fn sign(&self, keys: &KeyRing) -> String {
        let token = keys.sign(&self.claims);
        match self.misbehaviour {
            Some(Misbehaviour::BadSignature) => with_bad_signature(&token),
            _ => token,
        }
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

fn nonce(grant: &Grant) -> Option<String> {
    match grant.cast.misbehaviour {
        Some(Misbehaviour::WrongNonce) => Some(chance::url_safe(43)),
        _ => grant.request.nonce.clone(),
    }
}

/// One bit off: the token is well-formed, its key known, and yet it is forged.
fn with_bad_signature(token: &str) -> String {
    let (signed, signature) = token.rsplit_once('.').expect("a JWT has three parts");
    let mut bytes = URL_SAFE_NO_PAD
        .decode(signature)
        .expect("a signature is base64url");
    bytes[0] ^= 1;
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(bytes))
}
