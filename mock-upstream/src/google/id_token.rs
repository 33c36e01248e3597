//! The ID token: its claims, and its signature. A misbehaviour changes the claims, or forges
//! the signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::keys::{Key, rsa_key};
use super::request::{Grant, Scope, Scopes};
use crate::provider::context::ProviderContext;
use crate::settings::IssuerForm;
use crate::system::{LOWER_HEX, URL_SAFE, random_string};
use crate::{Misbehaviour, User};

const LIFETIME_SECONDS: i64 = 3600;

/// The id of a client that is not registered.
const ANOTHER_CLIENT: &str = "another-client.apps.example";

/// A clock skew that a client has to tolerate.
const SKEW_SECONDS: i64 = 30;

/// An RSA key that is never published.
const UNPUBLISHED: &[u8] = include_bytes!("../../keys/unpublished.pem");

/// An elliptic-curve key; all published keys are RSA keys.
const ELLIPTIC: &[u8] = include_bytes!("../../keys/elliptic.pem");

/// The ID token of a grant, issued at `now_ms` and signed with `key`.
pub(super) fn id_token(
    grant: &Grant,
    context: &ProviderContext,
    access_token: &str,
    key: &Key,
    now_ms: i64,
) -> String {
    let claims = claims(grant, context, access_token, now_ms / 1000);
    let misbehaviour = grant.script.misbehaviour;
    let claims = match misbehaviour {
        Some(misbehaviour) => corrupt(misbehaviour, claims),
        None => claims.to_string(),
    };
    let has_typ = context.settings.unconfirmed.google_id_token_typ;
    sign(&claims, key, has_typ.then_some("JWT"), misbehaviour)
}

fn claims(grant: &Grant, context: &ProviderContext, access_token: &str, issued_at: i64) -> Value {
    let client_id = grant.request.client.client_id();
    let details = &grant.request.details;
    let mut claims = members(json!({
        "iss": issuer(context),
        "azp": client_id,
        "aud": client_id,
        "sub": grant.script.user.id,
    }));
    claims.extend(scoped_claims(&grant.script.user, &details.scopes));
    claims.extend(members(json!({
        "at_hash": at_hash(access_token),
        "nonce": details.nonce,
        "iat": issued_at,
        "exp": issued_at + LIFETIME_SECONDS,
    })));
    claims.into()
}

/// The claims that depend on the scopes, in an ID token and at the userinfo endpoint.
pub(super) fn scoped_claims(user: &User, scopes: &Scopes) -> Map<String, Value> {
    let email = user.email.as_deref();
    let email = email.filter(|_| scopes.contain(Scope::Email));
    let profile = scopes.contain(Scope::Profile).then_some(user);
    let name = profile.and_then(|user| user.name.as_deref());
    let (given_name, family_name) = name.map(split_name).unwrap_or_default();
    members(json!({
        "email": email,
        "email_verified": email.map(|_| user.email_verified),
        "name": name,
        "picture": profile.and_then(|user| user.picture.as_deref()),
        "given_name": given_name,
        "family_name": family_name,
        "hd": user.hosted_domain,
    }))
}

/// The members of an object. Google omits a claim that the account does not have.
pub(super) fn members(mut object: Value) -> Map<String, Value> {
    let members = object.as_object_mut().map(std::mem::take);
    let mut members = members.unwrap_or_default();
    members.retain(|_, claim| !claim.is_null());
    members
}

/// The first word, and the rest if there is any.
fn split_name(name: &str) -> (Option<&str>, Option<&str>) {
    match name.split_once(' ') {
        Some((given, family)) => (Some(given), Some(family)),
        None => (Some(name), None),
    }
}

/// The issuer in the chosen form.
fn issuer(context: &ProviderContext) -> &str {
    match context.settings.unconfirmed.google_id_token_issuer {
        IssuerForm::Url => &context.url,
        IssuerForm::WithoutScheme => match context.url.split_once("://") {
            Some((_scheme, rest)) => rest,
            None => &context.url,
        },
    }
}

/// The left half of the digest of the access token (OpenID Connect Core, 3.1.3.6).
pub(super) fn at_hash(access_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(access_token)[..16])
}

/// The claims as JSON, with the misbehaviour in them.
fn corrupt(misbehaviour: Misbehaviour, mut claims: Value) -> String {
    use Misbehaviour as M;
    match misbehaviour {
        M::WrongNonce => claims["nonce"] = random_string(URL_SAFE, 43).into(),
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

/// Signs `claims`, which are JSON, with `key`, unless the misbehaviour forges the token.
fn sign(claims: &str, key: &Key, typ: Option<&str>, misbehaviour: Option<Misbehaviour>) -> String {
    use Misbehaviour as M;
    let new_kid = random_string(LOWER_HEX, 40);
    let kid = match misbehaviour {
        Some(M::UnknownKid | M::Keys500 | M::KeysTimeout | M::StaleKeys) => Some(new_kid.as_str()),
        Some(M::NoKid) => None,
        _ => Some(key.kid.as_str()),
    };
    let message = |alg: &str| {
        let header = members(json!({ "alg": alg, "kid": kid, "typ": typ }));
        let encoded = |part: &str| URL_SAFE_NO_PAD.encode(part);
        let header = Value::from(header).to_string();
        format!("{}.{}", encoded(&header), encoded(claims))
    };
    let signed = |algorithm: Algorithm, key: &EncodingKey| {
        let message = message(&format!("{algorithm:?}"));
        let signature = crypto::sign(message.as_bytes(), key, algorithm)
            .expect("each key is used with its own algorithm");
        format!("{message}.{signature}")
    };
    let rs256 = |key| signed(Algorithm::RS256, key);
    match misbehaviour {
        Some(M::BadSignature) => with_bad_signature(&rs256(&key.signing)),
        Some(M::StaleKeys) => rs256(&rsa_key(UNPUBLISHED)),
        Some(M::AlgNone) => format!("{}.", message("none")),
        Some(M::AlgHs256) => {
            let secret = EncodingKey::from_secret(key.modulus.as_bytes());
            signed(Algorithm::HS256, &secret)
        }
        Some(M::AlgEs256) => {
            let key = EncodingKey::from_ec_pem(ELLIPTIC).expect("the committed key is one");
            signed(Algorithm::ES256, &key)
        }
        _ => rs256(&key.signing),
    }
}

/// Flips one bit of the signature: the token is well-formed, its key known, and it is
/// forged.
fn with_bad_signature(token: &str) -> String {
    let (message, signature) = token.rsplit_once('.').expect("a JWT has three parts");
    let mut bytes = URL_SAFE_NO_PAD
        .decode(signature)
        .expect("a signature is base64url");
    bytes[0] ^= 1;
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(bytes))
}
