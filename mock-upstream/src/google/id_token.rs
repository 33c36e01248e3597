//! The ID token: its claims and its signature, of which a misbehaviour changes one; and the
//! checks that a client makes of it (OpenID Connect Core, 3.1.3.7), each with its outcome.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Google;
use super::keys::{Key, rsa_key};
use super::request::{Grant, Scope, Scopes};
use crate::User;
use crate::journal::{IdTokenCheck, IdTokenReport, Recipient};
use crate::misbehaviour::{Effect, IdTokenFault};
use crate::provider::context::ProviderContext;
use crate::settings::IssuerForm;
use crate::system::{LOWER_HEX, random_string};

const LIFETIME_SECONDS: i64 = 3600;

/// The difference between two clocks that a client tolerates.
const SKEW_SECONDS: i64 = 60;

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
    let mut claims = claims(grant, context, access_token, now_ms / 1000);
    let fault = match grant.script.effect {
        Some(Effect::IdToken(fault)) => Some(fault),
        _ => None,
    };
    if let Some(IdTokenFault::Claims(change)) = fault {
        change(&mut claims);
    }
    let claims = match fault {
        // For a client that reads the first of two.
        Some(IdTokenFault::TwoSubs) => claims.to_string().replacen('{', r#"{"sub":"forged","#, 1),
        _ => claims.to_string(),
    };
    let has_typ = context.settings.unconfirmed.google_id_token_typ;
    sign(&claims, key, has_typ.then_some("JWT"), fault)
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

/// The members of an object that have a value: Google omits the others.
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

/// Signs `claims`, which are JSON, with `key`, unless the fault forges the token.
fn sign(claims: &str, key: &Key, typ: Option<&str>, fault: Option<IdTokenFault>) -> String {
    use IdTokenFault as F;
    let new_kid = random_string(LOWER_HEX, 40);
    let kid = match fault {
        Some(F::UnknownKid | F::Keys(_) | F::StaleKeys) => Some(new_kid.as_str()),
        Some(F::NoKid) => None,
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
    match fault {
        Some(F::BadSignature) => with_bad_signature(&rs256(&key.signing)),
        Some(F::StaleKeys) => rs256(&rsa_key(UNPUBLISHED)),
        Some(F::AlgNone) => format!("{}.", message("none")),
        Some(F::AlgHs256) => {
            let secret = EncodingKey::from_secret(key.modulus.as_bytes());
            signed(Algorithm::HS256, &secret)
        }
        Some(F::AlgEs256) => {
            let key = EncodingKey::from_ec_der(&::crypto::pkcs8(ELLIPTIC));
            signed(Algorithm::ES256, &key)
        }
        None | Some(F::Claims(_) | F::TwoSubs | F::UnknownKid | F::NoKid | F::Keys(_)) => {
            rs256(&key.signing)
        }
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

impl Google {
    /// The report on `token`.
    pub(super) fn report(&self, token: &str, recipient: &Recipient<'_>) -> IdTokenReport {
        let mut parts = token.split('.').map(decoded);
        let header = parts.next().flatten();
        let claims = parts.next().flatten();
        let known_header = header.as_ref().is_some_and(has_known_header);
        let mut checks = vec![
            IdTokenCheck::new(
                "alg is RS256, and the header demands no extension",
                known_header,
            ),
            IdTokenCheck::new(
                "the signature is by a published key",
                self.own.keys.verified(token).is_some(),
            ),
        ];
        checks.extend(self.checks_of(claims.as_ref(), recipient));
        let shown = |part: Option<Claims>| part.map_or(Value::Null, |it| Value::Object(it.members));
        IdTokenReport {
            header: shown(header),
            claims: shown(claims),
            checks,
        }
    }

    fn checks_of(&self, claims: Option<&Claims>, recipient: &Recipient<'_>) -> Vec<IdTokenCheck> {
        let check = |requirement, passes: &dyn Fn(&Claims) -> bool| {
            IdTokenCheck::new(requirement, claims.is_some_and(passes))
        };
        let is = |requirement, claim: &'static str, expected: Option<&str>| {
            check(requirement, &|it| it.text(claim) == expected).of(claim, expected.into())
        };
        let now = self.context.now_ms() / 1000;
        let (oldest, newest) = (now - SKEW_SECONDS, now + SKEW_SECONDS);
        let client_id = recipient.client_id;
        let own_hash = recipient.access_token.map(at_hash);
        vec![
            check("each claim is there once", &|it| !it.has_duplicates),
            is("nonce is that of this login", "nonce", recipient.nonce),
            is("iss is the provider", "iss", Some(&self.context.url)),
            is("aud is the client", "aud", Some(client_id)),
            check("azp, if it is there, is the client", &|it| {
                !it.members.contains_key("azp") || it.text("azp") == Some(client_id)
            })
            .of("azp", client_id.into()),
            check("exp is not over", &|it| {
                it.seconds("exp").is_some_and(|exp| exp > oldest)
            })
            .of("exp", format!("later than {oldest}").into()),
            check("iat is not in the future", &|it| {
                it.seconds("iat").is_some_and(|iat| iat <= newest)
            })
            .of("iat", format!("not later than {newest}").into()),
            check("at_hash is that of the access token", &|it| {
                own_hash.is_none() || it.text("at_hash") == own_hash.as_deref()
            })
            .of("at_hash", own_hash.clone().into()),
            check("sub is an identifier of 1 to 255 ASCII characters", &|it| {
                let sub = it.text("sub");
                sub.is_some_and(|sub| (1..=255).contains(&sub.len()) && sub.is_ascii())
            }),
        ]
    }
}

impl IdTokenCheck {
    fn new(requirement: &'static str, passed: bool) -> Self {
        Self {
            requirement,
            passed,
            expected: None,
        }
    }

    /// The same check, of a claim whose right value is known.
    fn of(self, claim: &'static str, value: Value) -> Self {
        let expected = Some((claim, value));
        Self { expected, ..self }
    }
}

fn has_known_header(header: &Claims) -> bool {
    header.text("alg") == Some("RS256") && !header.members.contains_key("crit")
}

/// The members of a part of a token, and whether a name came twice.
struct Claims {
    members: Map<String, Value>,
    has_duplicates: bool,
}

impl Claims {
    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }

    fn seconds(&self, name: &str) -> Option<i64> {
        self.members.get(name)?.as_i64()
    }
}

/// The mock writes JSON without blanks, so that only a member that came twice makes it longer than
/// its members are.
fn decoded(part: &str) -> Option<Claims> {
    let json = URL_SAFE_NO_PAD.decode(part).ok()?;
    let members: Map<_, _> = serde_json::from_slice(&json).ok()?;
    let written = serde_json::to_vec(&members).ok()?;
    let has_duplicates = written.len() < json.len();
    Some(Claims {
        members,
        has_duplicates,
    })
}
