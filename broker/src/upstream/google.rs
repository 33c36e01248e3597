//! Sign-in with Google: OpenID Connect, where only the ID token proves who the user is.

pub(super) mod documents;
pub(super) mod id_token;

use contract::{Profile, Provider, Subject};
use serde::Deserialize;
use serde_json::Value;

use super::client::{Answer, Client, Observer};
use super::failure::{Failure, own_credentials_rejected};
use super::normalize;
use super::oauth::{AccessToken, AccountPicker};
use crate::clock::Clock;
use crate::config::GoogleConfig;
use crate::model::UnixMs;
use crate::model::upstream_login::UpstreamLogin;
use crate::untrusted::encode;
use documents::Documents;
use id_token::{Claims, Expected};

/// The maximum length of a `sub` that Google documents, in bytes.
const MAX_SUB_BYTES: usize = 255;

/// Google, or an imitation of it.
pub struct Google {
    config: GoogleConfig,
    callback: String,
    client: Client,
    documents: Documents,
}

/// A token response. The access token is only used to check the ID token.
#[derive(Deserialize)]
struct TokenResponse {
    error: Option<Value>,
    id_token: Option<String>,
    access_token: Option<AccessToken>,
}

/// The tokens for which a code was exchanged.
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
        let documents = Documents::new(config.issuer.clone(), client.clone(), clock);
        Self {
            config,
            callback,
            client,
            documents,
        }
    }

    pub(super) fn is_loopback(&self) -> bool {
        self.config.issuer.is_loopback()
    }

    /// The only valid `iss` in its callback.
    pub(super) fn issuer(&self) -> String {
        self.config.issuer.to_string()
    }

    pub(super) async fn authorization_url(
        &self,
        upstream_login: &UpstreamLogin,
        picker: AccountPicker,
        observer: Observer<'_>,
    ) -> Result<String, Failure> {
        let metadata = self.documents.metadata(observer).await?;
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
        Ok(format!("{}?{query}", metadata.authorization_endpoint))
    }

    pub(super) async fn authenticate(
        &self,
        upstream_login: &UpstreamLogin,
        code: &str,
        now: UnixMs,
        observer: Observer<'_>,
    ) -> Result<Profile, Failure> {
        let tokens = self.exchange(upstream_login, code, observer).await?;
        let key_id = id_token::key_id(&tokens.id)?;
        let key = self.documents.key(&key_id, observer).await?;
        let expected = Expected {
            issuer: self.config.issuer.as_str(),
            client_id: &self.config.client_id,
            nonce: &upstream_login.nonce(),
            access_token: tokens.access.as_ref(),
            now,
        };
        id_token::verify(&tokens.id, &key, &expected).and_then(profile)
    }

    /// Exchanges the code for tokens, without a retry.
    async fn exchange(
        &self,
        upstream_login: &UpstreamLogin,
        code: &str,
        observer: Observer<'_>,
    ) -> Result<Tokens, Failure> {
        let metadata = self.documents.metadata(observer).await?;
        let verifier = upstream_login.upstream_verifier();
        let request = self.client.post(metadata.token_endpoint.clone()).form(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.config.client_id),
            ("client_secret", self.config.client_secret.expose()),
            ("redirect_uri", &self.callback),
            ("code_verifier", verifier.expose()),
        ]);
        tokens(&self.client.send("POST token", request, observer).await?)
    }
}

/// The tokens in a token response.
pub(super) fn tokens(answer: &Answer) -> Result<Tokens, Failure> {
    let error = answer.oauth_error();
    if CLIENT_ERRORS
        .iter()
        .any(|known| error.as_ref().is_some_and(|it| it == known))
    {
        return Err(own_credentials_rejected(Provider::Google));
    }
    let response: TokenResponse = answer.json().map_err(|failure| match failure {
        Failure::Refused if error.is_some() => Failure::CodeRefused,
        other => other,
    })?;
    if response.error.is_some() {
        return Err(Failure::CodeRefused);
    }
    Ok(Tokens {
        id: response.id_token.ok_or(Failure::Malformed)?,
        access: response.access_token,
    })
}

/// Google's errors for a client that is unknown, deleted or disabled.
const CLIENT_ERRORS: [&str; 3] = ["invalid_client", "deleted_client", "disabled_client"];

/// The profile in the claims of a verified ID token.
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
