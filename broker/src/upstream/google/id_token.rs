//! The ID token: whose signature, for whom, from when, and about whom.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::super::Failure;
use crate::flows::UnixMs;

/// How far Google's clock may be from ours.
const SKEW_SECONDS: i64 = 60;

/// Google's older name for itself, which may still stand in an ID token.
const OLD_ISSUER: &str = "accounts.google.com";

/// What a token must say to count.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now: UnixMs,
}

/// The claims we look at.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    iss: String,
    aud: String,
    azp: Option<String>,
    exp: i64,
    iat: i64,
    nonce: Option<String>,
    pub(super) sub: String,
    pub(super) name: Option<String>,
    pub(super) email: Option<String>,
    #[serde(default, deserialize_with = "truth")]
    pub(super) email_verified: bool,
    pub(super) picture: Option<String>,
}

/// The id of the key that `token` claims to be signed with.
pub(super) fn key_id(token: &str) -> Result<String, Failure> {
    let header = decode_header(token).map_err(|_| Failure::invalid("the ID token is not a JWT"))?;
    if header.alg != Algorithm::RS256 {
        return Err(Failure::invalid("the ID token is not signed with RS256"));
    }
    if has_critical_extension(token) {
        return Err(Failure::invalid("the ID token demands an extension"));
    }
    header
        .kid
        .ok_or(Failure::invalid("the ID token names no key"))
}

/// `crit` says that whoever does not know an extension must refuse; we know none.
fn has_critical_extension(token: &str) -> bool {
    let header = token
        .split('.')
        .next()
        .and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let header = header.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    header.is_some_and(|value| value.get("crit").is_some())
}

/// Checks signature and claims.
pub(super) fn verify(
    token: &str,
    key: &DecodingKey,
    expected: &Expected<'_>,
) -> Result<Claims, Failure> {
    let mut validation = Validation::new(Algorithm::RS256);
    // The library would ask the wall clock and knows one form of each claim;
    // `check` judges them all at our own `now`.
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let claims = decode::<Claims>(token, key, &validation)
        .map_err(|_| Failure::invalid("the ID token's signature or shape is wrong"))?
        .claims;
    check(&claims, expected).map(|()| claims)
}

fn check(claims: &Claims, expected: &Expected<'_>) -> Result<(), Failure> {
    let now = expected.now.seconds();
    let is_issuer = claims.iss == expected.issuer
        || (claims.iss == OLD_ISSUER
            && expected.issuer.strip_prefix("https://") == Some(OLD_ISSUER));
    let is_party = claims
        .azp
        .as_deref()
        .is_none_or(|azp| azp == expected.client_id);
    let failures = [
        (
            claims.nonce.as_deref() != Some(expected.nonce),
            "the ID token's nonce is not this login's",
        ),
        (!is_issuer, "the ID token's issuer is another"),
        (
            claims.aud != expected.client_id,
            "the ID token is for another client",
        ),
        (
            !is_party,
            "the ID token's authorized party is another client",
        ),
        (claims.exp <= now - SKEW_SECONDS, "the ID token has expired"),
        (
            claims.iat > now + SKEW_SECONDS,
            "the ID token is from the future",
        ),
    ];
    match failures.into_iter().find(|(failed, _)| *failed) {
        Some((_, why)) => Err(Failure::invalid(why)),
        None => Ok(()),
    }
}

/// `email_verified` is a boolean, in old samples a string; anything else proves
/// nothing.
fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value == Value::Bool(true) || value == Value::String("true".to_owned()))
}
