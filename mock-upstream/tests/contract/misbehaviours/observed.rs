//! What a client sees of one sign-in, so that two of them can be compared.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use mock_upstream::{Misbehaviour, Next, Provider};
use reqwest::RequestBuilder;
use serde_json::{Map, Value};

use crate::google::at_hash;
use crate::keys::{key_set, rsa_key};
use crate::test_mock::{GITHUB, GOOGLE, NONCE, Response, STATE, TestMock, redemption};

type Members = BTreeMap<String, String>;

const HEADERS: &str = "content-type content-encoding location retry-after x-ratelimit-limit \
                       x-ratelimit-remaining";

/// The members of each part of a sign-in; values that are random or of this mock are masked.
pub(super) struct Observed(BTreeMap<String, Members>);

impl Observed {
    /// A whole sign-in: the callback, the tokens, and what a client asks after them.
    pub(super) async fn sign_in(
        mock: &TestMock,
        provider: Provider,
        misbehaviour: Option<Misbehaviour>,
    ) -> Self {
        if let Some(misbehaviour) = misbehaviour {
            mock.queue(provider, Next::Misbehave(misbehaviour));
        }
        let mut observed = Self(BTreeMap::new());
        let response = mock.authorize(provider, "").await;
        let callback = response.callback();
        let url = mock.url(provider, "");
        let pairs = callback.0.iter().map(|(name, value)| match value.as_str() {
            STATE => format!("{name}=STATE"),
            _ if name == "code" => "code=CODE".to_owned(),
            value => format!("{name}={}", value.replace(&url, "URL")),
        });
        observed.add("callback", "", pairs.collect::<Vec<_>>().join("&"));
        let Some(code) = callback.get("code") else {
            return observed;
        };
        let tokens = mock.token(provider, &redemption(code)).await;
        observed.add_response("token", &tokens);
        let members: Value = serde_json::from_str(&tokens.body).unwrap_or_default();
        let Some(access_token) = members["access_token"].as_str() else {
            return observed;
        };
        // A good answer arrives within a millisecond; silence is one of a hundred.
        let limit = match misbehaviour {
            Some(Misbehaviour::KeysTimeout | Misbehaviour::ProfileTimeout) => 100,
            _ => 30_000,
        };
        let limit = Duration::from_millis(limit);
        match provider {
            Provider::Google => {
                let request = mock.request(GOOGLE, "GET", "/oauth2/v3/certs");
                observed.add_answer("keys", request.timeout(limit)).await;
                // A failure of the keys is for one request.
                let keys = key_set(mock).await.json();
                let keys = keys["keys"].as_array().unwrap();
                observed.add_id_token(mock, members["id_token"].as_str().unwrap(), keys);
                observed.hide("claims", "at_hash", |hash| match hash {
                    hash if hash == format!("{:?}", at_hash(access_token)) => "good".to_owned(),
                    hash => format!("another, {} characters", hash.len() - 2),
                });
            }
            Provider::GitHub => {
                for path in ["/user", "/user/emails"] {
                    let request = mock.request(GITHUB, "GET", path).bearer_auth(access_token);
                    let request = request.header("user-agent", "contract").timeout(limit);
                    observed.add_answer(path, request).await;
                }
            }
        }
        observed
    }

    fn add(&mut self, part: &str, name: &str, value: impl Into<String>) {
        let members = self.0.entry(part.to_owned()).or_default();
        members.insert(name.to_owned(), value.into());
    }

    async fn add_answer(&mut self, part: &str, request: RequestBuilder) {
        match Response::try_of(request).await {
            Ok(response) => self.add_response(part, &response),
            Err(error) if error.is_timeout() => self.add(part, "", "silence"),
            Err(error) => self.add(part, "", error.to_string()),
        }
    }

    fn add_response(&mut self, part: &str, response: &Response) {
        self.add(part, "status", response.status.to_string());
        for name in HEADERS.split(' ') {
            match response.header(name) {
                "" => {}
                value => self.add(part, name, value),
            }
        }
        let body = &format!("{part} body");
        let json = serde_json::from_str(&response.body).unwrap_or_default();
        match json {
            _ if part == "keys" && response.status == 200 => {}
            Value::Object(members) if !members.is_empty() => self.add_json(body, &members),
            _ => self.add(body, "body", kind(response)),
        }
        if part == "token" {
            // A parser keeps the last of two members.
            let forged = response.body.matches(r#":"forged""#).count();
            self.add(part, "forged members", forged.to_string());
            for name in ["access_token", "id_token"] {
                self.hide(body, name, |token| match token {
                    r#""forged""# => "forged".to_owned(),
                    _ => "good".to_owned(),
                });
            }
        }
    }

    fn add_json(&mut self, part: &str, object: &Map<String, Value>) {
        for (name, value) in object {
            match value {
                Value::String(text) => self.add(part, name, short(text)),
                other => self.add(part, name, other.to_string()),
            }
        }
    }

    /// The header, the claims and the signer of an ID token.
    fn add_id_token(&mut self, mock: &TestMock, token: &str, keys: &[Value]) {
        let parts: Vec<_> = token.split('.').collect();
        let decoded = |part| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        let (header, claims) = (decoded(parts[0]), decoded(parts[1]));
        let json = |text| serde_json::from_str::<Map<_, _>>(text).unwrap();
        self.add_json("header", &json(&header));
        self.add_json("claims", &json(&claims));
        let kid = json(&header).remove("kid").unwrap_or_default();
        let is_published = keys.iter().any(|key| key["kid"] == kid);
        self.hide("header", "kid", |kid| match is_published {
            true => "published".to_owned(),
            false => format!("unknown, {} characters", kid.len() - 2),
        });
        self.add("header", "signature", signer(token, keys, &kid));
        let now = mock.now_ms() / 1000;
        let url = mock.url(GOOGLE, "");
        for name in ["iat", "exp"] {
            let since = |time: &str| format!("{:+}", time.parse::<i64>().unwrap() - now);
            self.hide("claims", name, since);
        }
        self.hide("claims", "iss", |issuer| issuer.replace(&url, "URL"));
        self.hide("claims", "nonce", |nonce| match nonce.trim_matches('"') {
            NONCE => "sent".to_owned(),
            other => format!("another, {} characters", other.len()),
        });
        let subs = claims.split(r#""sub":"#).skip(1);
        let subs = subs.map(|rest| rest.split([',', '}']).next().unwrap());
        let subs: Vec<_> = subs.map(|sub| short(sub.trim_matches('"'))).collect();
        self.add("claims", "subs", subs.join(" and "));
    }

    /// Replaces the value of a member, if it is there.
    fn hide(&mut self, part: &str, name: &str, mask: impl Fn(&str) -> String) {
        let members = self.0.get_mut(part);
        if let Some(value) = members.and_then(|members| members.get_mut(name)) {
            *value = mask(value);
        }
    }

    /// Every difference from a good sign-in, in alphabetical order, as in `token.status: 500`.
    /// Of a part that has nothing in common with the good one it is the whole part.
    pub(super) fn changes(&self, good: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (part, members) in &self.0 {
            let good = &good.0.get(part).cloned().unwrap_or_default();
            let is_another = !members.keys().any(|name| good.contains_key(name));
            let absent = good
                .keys()
                .filter(|name| !is_another && !members.contains_key(*name));
            changes.extend(absent.map(|name| format!("{part}.{name}: absent")));
            let other = members
                .iter()
                .filter(|(name, value)| good.get(*name) != Some(value));
            changes.extend(other.map(|(name, value)| match name.as_str() {
                "" => format!("{part}: {value}"),
                name => format!("{part}.{name}: {value}"),
            }));
        }
        changes.sort_unstable();
        changes
    }
}

/// A string in quotes; a long one of a single character is abbreviated.
fn short(text: &str) -> String {
    let first = text.chars().next().unwrap_or_default();
    match text.chars().count() {
        length if length > 200 && text.chars().all(|it| it == first) => {
            format!("{first:?} {length} times")
        }
        _ => format!("{text:?}"),
    }
}

/// What a body is that is no JSON object with members.
fn kind(response: &Response) -> String {
    let Response { body, bytes, .. } = response;
    if bytes.starts_with(&[0x1F, 0x8B]) {
        let unpacked = u32::from_le_bytes(*bytes.last_chunk().unwrap());
        assert!(bytes.len() < 60_000 && unpacked > 50 * 1024 * 1024);
        return "a gzip bomb".to_owned();
    }
    if body.starts_with("<!doctype html>") {
        let (_, heading) = body.split_once("<h1>").unwrap();
        return format!("a page, {}", heading.split_once("</h1>").unwrap().0);
    }
    match serde_json::from_str::<Value>(body) {
        Ok(json) => json.to_string(),
        Err(_) if body.is_empty() => "nothing".to_owned(),
        Err(_) => format!("broken JSON that begins with {}", &body[..2]),
    }
}

/// Who signed an ID token whose header names `kid`.
fn signer(token: &str, keys: &[Value], kid: &Value) -> String {
    let (message, signature) = token.rsplit_once('.').unwrap();
    let fits = |key: &DecodingKey, algorithm| {
        crypto::verify(signature, message.as_bytes(), key, algorithm).unwrap_or(false)
    };
    if signature.is_empty() {
        return "empty".to_owned();
    }
    for key in keys {
        let is_named = key["kid"] == *kid;
        let name = if is_named {
            "the named key"
        } else {
            "another key"
        };
        if fits(&rsa_key(key), Algorithm::RS256) {
            return format!("by {name}");
        }
        // The public key as a shared secret: RFC 8725, section 2.1.
        let secret = DecodingKey::from_secret(key["n"].as_str().unwrap().as_bytes());
        if fits(&secret, Algorithm::HS256) {
            return format!("keyed with the modulus of {name}");
        }
    }
    let bytes = URL_SAFE_NO_PAD.decode(signature).unwrap().len();
    format!("by no published key, {bytes} bytes")
}
