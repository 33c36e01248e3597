//! Google's dialect: OpenID Connect, with the ID token as the only witness.

pub(super) mod discovery;
pub(super) mod id_token;
pub(super) mod key_set;
pub(super) mod keys;
mod shelf;

use contract::{Profile, Provider, Subject};
use serde::Deserialize;
use serde_json::Value;

use super::access_token::AccessToken;
use super::client::{Answer, Client, Hear};
use super::{AccountPicker, Failure, normalize};
use crate::clock::Clock;
use crate::config::GoogleConfig;
use crate::model::UnixMs;
use crate::model::upstream_login::UpstreamLogin;
use crate::query::encode;
use id_token::{Claims, Expected};
use keys::Keys;

/// Longest `sub` that Google promises to send.
const MAX_SUB_BYTES: usize = 255;

/// A Google, real or imitated.
#[derive(Debug)]
pub struct Google {
    config: GoogleConfig,
    callback: String,
    client: Client,
    keys: Keys,
}

/// A token response. The access token only serves to check the ID token.
#[derive(Deserialize)]
struct TokenAnswer {
    error: Option<Value>,
    id_token: Option<String>,
    access_token: Option<AccessToken>,
}

/// What a code was exchanged for.
pub(super) struct Tokens {
    id: String,
    access: Option<AccessToken>,
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

    pub(super) async fn departure(
        &self,
        upstream_login: &UpstreamLogin,
        picker: AccountPicker,
        hear: Hear<'_>,
    ) -> Result<String, Failure> {
        let endpoints = self.keys.endpoints(hear).await?;
        let verifier = upstream_login.upstream_verifier();
        let query = [
            ("client_id", self.config.client_id.clone()),
            ("redirect_uri", self.callback.clone()),
            ("response_type", "code".to_owned()),
            ("scope", "openid email profile".to_owned()),
            ("state", upstream_login.upstream_state().to_text()),
            ("nonce", upstream_login.nonce()),
            ("code_challenge", verifier.challenge().as_str().to_owned()),
            ("code_challenge_method", "S256".to_owned()),
        ];
        let query = query.iter().map(|(name, value)| (*name, value.as_str()));
        let query = encode(query.chain(picker.parameter()));
        Ok(format!("{}?{query}", endpoints.authorization))
    }

    pub(super) async fn arrival(
        &self,
        upstream_login: &UpstreamLogin,
        code: &str,
        now: UnixMs,
        hear: Hear<'_>,
    ) -> Result<Profile, Failure> {
        let tokens = self.exchange(upstream_login, code, hear).await?;
        let key = self.keys.find(&id_token::key_id(&tokens.id)?, hear).await?;
        let expected = Expected {
            issuer: self.config.issuer.as_str(),
            client_id: &self.config.client_id,
            nonce: &upstream_login.nonce(),
            access_token: tokens.access.as_ref(),
            now,
        };
        id_token::verify(&tokens.id, &key, &expected).and_then(profile)
    }

    /// Exchanges the code for tokens: once, whatever comes of it.
    async fn exchange(
        &self,
        upstream_login: &UpstreamLogin,
        code: &str,
        hear: Hear<'_>,
    ) -> Result<Tokens, Failure> {
        let endpoints = self.keys.endpoints(hear).await?;
        let verifier = upstream_login.upstream_verifier();
        let request = self.client.post(&endpoints.token).form(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.config.client_id),
            ("client_secret", self.config.client_secret.expose()),
            ("redirect_uri", &self.callback),
            ("code_verifier", verifier.expose()),
        ]);
        tokens(&self.client.send("POST token", request, hear).await?)
    }
}

/// The tokens that `answer` grants.
pub(super) fn tokens(answer: &Answer) -> Result<Tokens, Failure> {
    let error = answer.oauth_error();
    if OUR_FAULT
        .iter()
        .any(|ours| error.as_ref().is_some_and(|it| it == ours))
    {
        return Err(super::wrong_credentials(Provider::Google));
    }
    let said: TokenAnswer = answer.json().map_err(|failure| match failure {
        Failure::Refused if error.is_some() => Failure::CodeRefused,
        other => other,
    })?;
    if said.error.is_some() {
        return Err(Failure::CodeRefused);
    }
    Ok(Tokens {
        id: said.id_token.ok_or(Failure::Malformed)?,
        access: said.access_token,
    })
}

/// What Google answers when it does not know our client, or no longer.
const OUR_FAULT: [&str; 3] = ["invalid_client", "deleted_client", "disabled_client"];

/// Who it was, by the claims of an ID token that was checked.
pub(super) fn profile(claims: Claims) -> Result<Profile, Failure> {
    let sub = claims.sub;
    let fits = (1..=MAX_SUB_BYTES).contains(&sub.len());
    if !fits || !sub.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::IdTokenSubject);
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
