//! The paths, documents, keys and tokens of the fake providers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use broker::config::{GitHubConfig, GoogleConfig, UpstreamSecret};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Value, json};

use super::Reply;

pub(crate) const DISCOVERY: &str = "/.well-known/openid-configuration";
pub(crate) const KEYS: &str = "/certs";
/// The token endpoint of both providers.
pub(crate) const TOKEN: &str = "/login/oauth/access_token";
pub(crate) const USER: &str = "/user";
pub(crate) const EMAILS: &str = "/user/emails";

/// The broker's client secret at both providers.
pub(crate) const OUR_SECRET: &str = "LeakMark-Ada-at-providers-k2mW9pL4tR8sB3nF6hJ1d";
pub(crate) const ACCESS_TOKEN: &str = "gho_ScriptedToken7vK2mW9pL4tR8sB3nF6hJ1d";

pub(crate) const KEY_ONE: &str = include_str!("keys/one.pem");
pub(crate) const KEY_TWO: &str = include_str!("keys/two.pem");

pub(crate) fn google_config(url: &str) -> GoogleConfig {
    GoogleConfig {
        client_id: "us".to_owned(),
        client_secret: UpstreamSecret::new(OUR_SECRET),
        enabled: true,
        issuer: url.parse().unwrap(),
    }
}

pub(crate) fn github_config(url: &str) -> GitHubConfig {
    GitHubConfig {
        client_id: "us-at-github".to_owned(),
        client_secret: UpstreamSecret::new(OUR_SECRET),
        enabled: true,
        web_url: url.parse().unwrap(),
        api_url: url.parse().unwrap(),
    }
}

pub(crate) fn discovery_document(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/o/oauth2/v2/auth"),
        "token_endpoint": format!("{url}{TOKEN}"),
        "userinfo_endpoint": format!("{url}/userinfo"),
        "revocation_endpoint": format!("{url}/revoke"),
        "jwks_uri": format!("{url}{KEYS}"),
        "authorization_response_iss_parameter_supported": true,
    })
}

pub(crate) fn github_token() -> Reply {
    let answer = json!({ "access_token": ACCESS_TOKEN, "token_type": "bearer", "scope": "" });
    Reply::json(&answer)
}

pub(crate) fn adas_github_user() -> Value {
    json!({ "id": 583_231, "login": "ada", "name": "Ada Lovelace", "email": null,
        "avatar_url": null })
}

pub(super) fn adas_github_emails() -> Value {
    json!([{ "email": "ada@mail.example", "primary": true, "verified": true,
        "visibility": "private" }])
}

pub(crate) fn signing_key(pem: &str) -> EncodingKey {
    EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap()
}

/// The public half of a key, as Google publishes it.
pub(crate) fn jwk(id: &str, pem: &str) -> Value {
    let key = Jwk::from_encoding_key(&signing_key(pem), Algorithm::RS256).unwrap();
    let mut key = serde_json::to_value(key).unwrap();
    key["kid"] = id.into();
    key["use"] = "sig".into();
    key
}

pub(crate) fn key_set(keys: &[Value]) -> Reply {
    let control = "public, max-age=3600, must-revalidate, no-transform";
    Reply::json(&json!({ "keys": keys })).with("Cache-Control", control)
}

/// A JWT with this header and these claims, signed by key one with RS256.
pub(crate) fn token(header: &Value, claims: &Value) -> String {
    token_signed_by(header, claims, &signing_key(KEY_ONE), Algorithm::RS256)
}

pub(crate) fn token_signed_by(
    header: &Value,
    claims: &Value,
    key: &EncodingKey,
    algorithm: Algorithm,
) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}
