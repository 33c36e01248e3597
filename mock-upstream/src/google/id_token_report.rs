//! The checks that a client makes of an ID token (OpenID Connect Core, 3.1.3.7), each with
//! its outcome.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::id_token::at_hash;
use super::state::Google;
use crate::journal::{IdTokenCheck, IdTokenReport, Recipient};

/// The difference between two clocks that a client tolerates.
const SKEW_SECONDS: i64 = 60;

impl Google {
    /// The report on `token`.
    pub(super) fn report(&self, token: &str, recipient: &Recipient<'_>) -> IdTokenReport {
        let mut parts = token.split('.').map(decoded);
        let header = parts.next().flatten();
        let claims = parts.next().flatten();
        let mut checks = vec![
            IdTokenCheck {
                requirement: "alg is RS256, and the header demands no extension",
                passed: header.as_ref().is_some_and(has_known_header),
            },
            IdTokenCheck {
                requirement: "the signature is by a published key",
                passed: self.keys.verified(token).is_some(),
            },
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
        let check = |requirement, passes: &dyn Fn(&Claims) -> bool| IdTokenCheck {
            requirement,
            passed: claims.is_some_and(passes),
        };
        let now = self.context.now_ms() / 1000;
        vec![
            check("each claim is there once", &|it| !it.has_duplicates),
            check("nonce is that of this login", &|it| {
                it.text("nonce") == recipient.nonce
            }),
            check("iss is the provider", &|it| {
                it.text("iss") == Some(&self.context.url)
            }),
            check("aud is the client", &|it| {
                it.text("aud") == Some(recipient.client_id)
            }),
            check("azp, if it is there, is the client", &|it| {
                !it.members.contains_key("azp") || it.text("azp") == Some(recipient.client_id)
            }),
            check("exp is not over", &|it| {
                it.seconds("exp")
                    .is_some_and(|exp| exp > now - SKEW_SECONDS)
            }),
            check("iat is not in the future", &|it| {
                it.seconds("iat")
                    .is_some_and(|iat| iat <= now + SKEW_SECONDS)
            }),
            check("at_hash is that of the access token", &|it| {
                let Some(access_token) = recipient.access_token else {
                    return true;
                };
                it.text("at_hash") == Some(&at_hash(access_token))
            }),
            check("sub is an identifier of 1 to 255 ASCII characters", &|it| {
                let sub = it.text("sub");
                sub.is_some_and(|sub| (1..=255).contains(&sub.len()) && sub.is_ascii())
            }),
        ]
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

fn decoded(part: &str) -> Option<Claims> {
    let json = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&json).ok()
}

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ClaimsVisitor)
    }
}

struct ClaimsVisitor;

impl<'de> Visitor<'de> for ClaimsVisitor {
    type Value = Claims;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Claims, A::Error> {
        let mut claims = Claims {
            members: Map::new(),
            has_duplicates: false,
        };
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            claims.has_duplicates |= claims.members.insert(name, value).is_some();
        }
        Ok(claims)
    }
}
