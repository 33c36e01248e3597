//! Google's dialect: OpenID Connect, with the ID token as the only witness.

mod id_token;
mod keys;

use contract::{Profile, Provider, Subject};
use reqwest::StatusCode;
use serde::Deserialize;

use super::client::{Client, send};
use super::{Failure, normalize};
use crate::clock::Clock;
use crate::config::GoogleConfig;
use crate::flows::UnixMs;
use crate::flows::trip::{Purpose, Trip};
use crate::query::encode;
use id_token::{Claims, Expected};
use keys::Keys;

/// A Google, real or imitated.
#[derive(Debug)]
pub struct Google {
    config: GoogleConfig,
    callback: String,
    client: Client,
    keys: Keys,
}

/// The part of a token response that we look at. The access token is not.
#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
}

impl Google {
    pub(super) fn new(
        config: GoogleConfig,
        callback: String,
        client: Client,
        clock: Clock,
    ) -> Self {
        let keys = Keys::new(config.issuer.clone(), client.clone(), clock);
        Self {
            config,
            callback,
            client,
            keys,
        }
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.config.enabled
    }

    pub(super) fn is_loopback(&self) -> bool {
        self.config.issuer.is_loopback()
    }

    /// What `iss` in its callback must be.
    pub(super) fn issuer(&self) -> String {
        self.config.issuer.to_string()
    }

    pub(super) async fn departure(&self, trip: &Trip) -> Result<String, Failure> {
        let endpoints = self.keys.endpoints().await?;
        let verifier = trip.upstream_verifier();
        let mut query = vec![
            ("client_id", self.config.client_id.clone()),
            ("redirect_uri", self.callback.clone()),
            ("response_type", "code".to_owned()),
            ("scope", "openid email profile".to_owned()),
            ("state", trip.upstream_state()),
            ("nonce", trip.nonce()),
            ("code_challenge", verifier.challenge().as_str().to_owned()),
            ("code_challenge_method", "S256".to_owned()),
        ];
        if let Purpose::Clean { .. } = trip.purpose {
            query.push(("prompt", "select_account".to_owned()));
        }
        let query = encode(query.iter().map(|(name, value)| (*name, value.as_str())));
        Ok(format!("{}?{query}", endpoints.authorization))
    }

    pub(super) async fn arrival(
        &self,
        trip: &Trip,
        code: &str,
        now: UnixMs,
    ) -> Result<Profile, Failure> {
        let token = self.exchange(trip, code).await?;
        let key = self.keys.find(&id_token::key_id(&token)?).await?;
        let expected = Expected {
            issuer: self.config.issuer.as_str(),
            client_id: &self.config.client_id,
            nonce: &trip.nonce(),
            now,
        };
        id_token::verify(&token, &key, &expected).and_then(profile)
    }

    /// Exchanges the code for an ID token: once, whatever comes of it.
    async fn exchange(&self, trip: &Trip, code: &str) -> Result<String, Failure> {
        let endpoints = self.keys.endpoints().await?;
        let verifier = trip.upstream_verifier();
        let answer = send(self.client.post(&endpoints.token).form(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.config.client_id),
            ("client_secret", self.config.client_secret.expose()),
            ("redirect_uri", &self.callback),
            ("code_verifier", verifier.expose()),
        ]))
        .await?;
        if answer.status != StatusCode::OK
            && let Some(refusal) = answer.lenient_json::<TokenRefusal>()
            && refusal.error == "invalid_client"
        {
            return Err(super::wrong_credentials(Provider::Google));
        }
        answer.json::<TokenAnswer>().map(|token| token.id_token)
    }
}

fn profile(claims: Claims) -> Result<Profile, Failure> {
    let sub = claims.sub;
    if sub.is_empty() || sub.len() > 255 || !sub.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::invalid("the ID token's sub is not an identifier"));
    }
    let email = normalize::email(claims.email);
    Ok(Profile {
        subject: Subject::of(Provider::Google, &sub),
        provider: Provider::Google,
        provider_subject: sub,
        name: normalize::text(claims.name),
        username: None,
        email_verified: email.is_some() && claims.email_verified,
        email,
        avatar_url: normalize::picture(claims.picture),
    })
}
