//! The verification of an ID token: signature and claims (OpenID Connect Core 3.1.3.7).

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::Digest;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::UnixMs;
use crate::upstream::failure::Failure;
use crate::upstream::normalize::LenientString;
use crate::upstream::oauth::AccessToken;

/// The largest accepted difference between Google's clock and the broker's.
const SKEW_SECONDS: i64 = 60;

/// Google's older issuer, which an ID token may still contain.
const OLD_ISSUER: &str = "accounts.google.com";

/// The values that an ID token must contain.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
    pub(crate) access_token: Option<&'a AccessToken>,
    pub(crate) now: UnixMs,
}

/// The claims that the broker reads.
#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    aud: String,
    azp: Option<String>,
    exp: i64,
    iat: i64,
    nonce: Option<String>,
    at_hash: Option<String>,
    pub(crate) sub: String,
    #[serde(default)]
    pub(crate) name: LenientString,
    #[serde(default)]
    pub(crate) email: LenientString,
    #[serde(default, deserialize_with = "lenient_bool")]
    pub(crate) email_verified: bool,
    #[serde(default)]
    pub(crate) picture: LenientString,
}

/// The id of the key with which `token` claims to be signed.
pub(crate) fn key_id(token: &str) -> Result<String, Failure> {
    let header = decode_header(token).map_err(|_| Failure::IdTokenShape)?;
    if header.alg != Algorithm::RS256 {
        return Err(Failure::IdTokenAlgorithm);
    }
    if has_critical_extension(token) {
        return Err(Failure::IdTokenExtension);
    }
    header.kid.ok_or(Failure::IdTokenNoKey)
}

/// A recipient must reject a `crit` extension that it does not know (RFC 7515, section
/// 4.1.11); we know none.
fn has_critical_extension(token: &str) -> bool {
    let header = token
        .split('.')
        .next()
        .and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let header = header.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    header.is_some_and(|value| value.get("crit").is_some())
}

/// The library would read the wall clock and knows one form of each claim; [`check`] checks
/// them all at our own `now`.
static SIGNATURE_ALONE: LazyLock<Validation> = LazyLock::new(|| {
    crypto::install();
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    validation
});

/// Verifies the signature and the claims.
pub(crate) fn verify(
    token: &str,
    key: &DecodingKey,
    expected: &Expected<'_>,
) -> Result<Claims, Failure> {
    let claims = decode::<Claims>(token, key, &SIGNATURE_ALONE)
        .map_err(|_| Failure::IdTokenSignature)?
        .claims;
    check(&claims, expected).map(|()| claims)
}

pub(crate) fn check(claims: &Claims, expected: &Expected<'_>) -> Result<(), Failure> {
    let now = expected.now.seconds();
    let is_issuer = claims.iss == expected.issuer
        || (claims.iss == OLD_ISSUER
            && expected.issuer.strip_prefix("https://") == Some(OLD_ISSUER));
    let is_party = claims
        .azp
        .as_deref()
        .is_none_or(|azp| azp == expected.client_id);
    let is_nonce = claims.nonce.as_deref() == Some(expected.nonce);
    let checks = [
        (is_nonce, Failure::IdTokenNonce),
        (is_issuer, Failure::IdTokenIssuer),
        (claims.aud == expected.client_id, Failure::IdTokenAudience),
        (is_party, Failure::IdTokenParty),
        (claims.exp > now - SKEW_SECONDS, Failure::IdTokenExpired),
        (claims.iat <= now + SKEW_SECONDS, Failure::IdTokenEarly),
        (
            matches_access_token(claims, expected),
            Failure::IdTokenAccess,
        ),
    ];
    match checks.into_iter().find(|(passed, _)| !passed) {
        Some((_, failure)) => Err(failure),
        None => Ok(()),
    }
}

/// Whether `at_hash`, if present, is the left half of the SHA-256 of the access token
/// in the same response (OpenID Connect Core 3.1.3.6).
fn matches_access_token(claims: &Claims, expected: &Expected<'_>) -> bool {
    let Some(at_hash) = &claims.at_hash else {
        return true;
    };
    expected.access_token.is_some_and(|token| {
        let digest = Digest::of(token.expose().as_bytes());
        *at_hash == URL_SAFE_NO_PAD.encode(&digest.as_bytes()[..16])
    })
}

/// `email_verified` is a boolean, in old samples a string; any other value counts as
/// false.
fn lenient_bool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value == Value::Bool(true) || value == Value::String("true".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_800_000_000_000);

    fn claims(exp: i64, iat: i64) -> Claims {
        Claims {
            iss: "https://accounts.google.com".to_owned(),
            aud: "us".to_owned(),
            azp: None,
            exp: NOW.seconds() + exp,
            iat: NOW.seconds() + iat,
            nonce: Some("nonce".to_owned()),
            at_hash: None,
            sub: "1".to_owned(),
            name: LenientString::default(),
            email: LenientString::default(),
            email_verified: false,
            picture: LenientString::default(),
        }
    }

    fn checked(claims: &Claims, issuer: &str) -> Result<(), Failure> {
        let expected = Expected {
            issuer,
            client_id: "us",
            nonce: "nonce",
            access_token: None,
            now: NOW,
        };
        check(claims, &expected)
    }

    #[test]
    fn b20_clocks_may_differ_by_60_seconds_and_no_more() {
        let google = "https://accounts.google.com";
        let check = |exp, iat, expected| assert_eq!(checked(&claims(exp, iat), google), expected);
        check(3600, 0, Ok(()));
        check(-59, 0, Ok(()));
        check(-60, 0, Err(Failure::IdTokenExpired));
        check(-61, 0, Err(Failure::IdTokenExpired));
        check(3600, 59, Ok(()));
        check(3600, 60, Ok(()));
        check(3600, 61, Err(Failure::IdTokenEarly));
    }

    #[test]
    fn b15_googles_old_name_counts_for_google_alone() {
        let old = Claims {
            iss: OLD_ISSUER.to_owned(),
            ..claims(3600, 0)
        };
        assert_eq!(checked(&old, "https://accounts.google.com"), Ok(()));
        let other = checked(&old, "http://127.0.0.1:8020");
        assert_eq!(other, Err(Failure::IdTokenIssuer));
    }
}
