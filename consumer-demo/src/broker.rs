//! The calls to the broker: six operations, and what each failure permits.
//!
//! Every call is made by this backend, never by the browser. Secrets travel in
//! bodies and in the `Authorization` header, never in an address, because addresses
//! end up in logs, histories and `Referer` headers.

use contract::{
    ApiError, AuthorizationUrl, CodeVerifier, GrantType, HandoffCode, LoginResult,
    LoginResultRequest, LoginSessionRequest, LoginSessionResponse, PresentedClientId, Profile,
    Provider, ProviderStatus, RedirectUri, Scope, SessionKey, TokenLifetime, TokenRequest,
    TokenType,
};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Certificate, Client, RequestBuilder, Response, redirect, retry};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::config::{Config, StartError};

/// The limit on an answer's size. None of the specification's comes near it.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The outcome of a call.
pub(crate) type CallResult<T> = Result<T, CallError>;

/// Why there is no answer, in terms of what the consumer may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// The broker refused, by an ApiError with this status. It will refuse again.
    #[error("the broker refused with status {0}")]
    Refused(u16),
    /// We don't know what the broker did: its answer was lost on the way, or
    /// cannot be read. It may have consumed the login, the code, or whatever else
    /// the call was about. **So a one-time call must not be repeated**; the second
    /// attempt could only be refused, or worse, be taken for an attack. Show the
    /// user what happened, with a button that starts again.
    #[error("the broker's answer is lost: {0}")]
    Ambiguous(&'static str),
}

/// A client of one broker, for one project.
pub(crate) struct Broker {
    http: Client,
    config: Config,
}

impl Broker {
    /// Makes the client, with redirects, retries and proxies switched off.
    pub(crate) fn new(config: &Config) -> Result<Self, StartError> {
        crypto::install();
        let http = Client::builder()
            // A redirect would carry the secrets in the body to wherever it
            // points. The broker never sends one; a server that does is not it.
            .redirect(redirect::Policy::none())
            // Many HTTP clients repeat a request that failed. Ours must not: see
            // `CallError::Ambiguous`. Look for this setting in yours; it is often
            // on by default, or hidden in a "resilience" layer.
            .retry(retry::never())
            // The environment's HTTP_PROXY is not meant for these secrets.
            .no_proxy()
            .tls_certs_merge(authorities(config)?)
            // From connecting to the last byte: a broker that trickles its
            // answer can't keep a user's browser waiting for ever.
            .timeout(config.broker_timeout)
            .build()
            .map_err(|error| match config.broker_ca {
                // The content of certificates is looked at here.
                Some(_) => StartError::BrokerCa,
                None => StartError::HttpClient(error),
            })?;
        Ok(Self {
            http,
            config: config.clone(),
        })
    }

    /// `POST /v1/login/session`: registers `session_key`, and returns the address to
    /// redirect the browser to.
    pub(crate) async fn start_session(
        &self,
        session_key: SessionKey,
        provider: Provider,
        callback: &RedirectUri,
    ) -> CallResult<AuthorizationUrl> {
        let body = LoginSessionRequest {
            client_id: self.config.client_id.clone(),
            client_secret: self.config.client_secret.clone(),
            session_key,
            provider,
            redirect_uri: callback.clone(),
        };
        let request = self.post("/v1/login/session").json(&body);
        // `AuthorizationUrl` is the specification's pattern: HTTPS (or HTTP on
        // loopback), at most 2048 characters, no credentials, query or
        // fragment. Anything else doesn't parse, and is never redirected to.
        let answer: LoginSessionResponse = answer(request).await?;
        self.check_origin(answer.authorization_url)
    }

    // [call]
    /// `POST /v1/login/result`: the result of the login under `session_key`.
    ///
    /// A terminal result is returned **once**: this is the only copy.
    pub(crate) async fn read_result(
        &self,
        session_key: &SessionKey,
        callback: &RedirectUri,
    ) -> CallResult<LoginResult> {
        let body = LoginResultRequest {
            client_id: self.config.client_id.clone(),
            client_secret: self.config.client_secret.clone(),
            session_key: session_key.clone(),
            redirect_uri: callback.clone(),
        };
        let result = answer(self.post("/v1/login/result").json(&body)).await?;
        if let LoginResult::Succeeded { profile } = &result {
            check_subject(profile)?;
        }
        Ok(result)
    }
    // [/]

    /// `POST /v1/token`: exchanges the handoff code for an access token, **once**.
    pub(crate) async fn redeem(
        &self,
        code: HandoffCode,
        code_verifier: CodeVerifier,
        callback: &RedirectUri,
    ) -> CallResult<BearerToken> {
        let body = TokenRequest {
            grant_type: GrantType::AuthorizationCode,
            client_id: PresentedClientId::try_from(self.config.client_id.to_string())
                .expect("what is a ClientId may be presented as one"),
            client_secret: self.config.client_secret.clone(),
            code,
            redirect_uri: callback.clone(),
            code_verifier,
        };
        // Destructuring the whole answer checks its constants, too.
        let TokenAnswer {
            access_token,
            token_type: TokenType::Bearer,
            expires_in: TokenLifetime {},
            scope: Scope::Profile,
        } = answer(self.post("/v1/token").json(&body)).await?;
        Ok(access_token)
    }

    /// `GET /v1/profile`: the profile of the user for whom `token` was issued.
    pub(crate) async fn profile(&self, token: &BearerToken) -> CallResult<Profile> {
        let request = self.http.get(self.address("/v1/profile"));
        let profile = answer(request.bearer_auth(token.expose())).await?;
        check_subject(&profile)?;
        Ok(profile)
    }

    /// `POST /v1/revoke`: ends the token now rather than after its 900 seconds.
    ///
    /// Best effort: nothing of ours depends on the outcome, so none is returned.
    pub(crate) async fn revoke(&self, token: &BearerToken) {
        let request = self
            .post("/v1/revoke")
            .bearer_auth(token.expose())
            .timeout(self.config.best_effort_timeout);
        if let Err(error) = send(request).await {
            tracing::warn!(%error, "a token could not be revoked and will expire by itself");
        }
    }

    /// `GET /api/providers`: the providers on offer, and their status.
    ///
    /// The backend calls and not the page: the broker answers no other site's
    /// scripts, and our pages need none.
    pub(crate) async fn providers(&self) -> CallResult<Vec<ProviderStatus>> {
        let request = self.http.get(self.address("/api/providers"));
        answer(request.timeout(self.config.best_effort_timeout)).await
    }

    // [check_start]
    /// Refuses an authorization URL of any origin but the configured one: then even a
    /// broker that was tampered with can't send our users elsewhere.
    fn check_origin(&self, url: AuthorizationUrl) -> CallResult<AuthorizationUrl> {
        if url.origin() == self.config.authorization_origin {
            Ok(url)
        } else {
            Err(CallError::Ambiguous(
                "authorization_url leads to a foreign origin",
            ))
        }
    }
    // [/]

    fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(self.address(path))
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.config.signin_base_url)
    }
}

/// The certificate authorities that are trusted besides the system's.
fn authorities(config: &Config) -> Result<Vec<Certificate>, StartError> {
    let Some(pem) = &config.broker_ca else {
        return Ok(Vec::new());
    };
    let certificates = Certificate::from_pem_bundle(pem.as_bytes());
    let certificates = certificates.ok().filter(|all| !all.is_empty());
    certificates.ok_or(StartError::BrokerCa)
}

// [call]
/// Sends `request`, and reads the answer's body as a `T`.
async fn answer<T: DeserializeOwned>(request: RequestBuilder) -> CallResult<T> {
    let response = send(request).await?;
    // A proxy between us and the broker may answer 200 with a page of its own.
    if !is_json(&response) {
        return Err(CallError::Ambiguous("the answer is not application/json"));
    }
    let body = read(response).await?;
    // The parser's error is dropped: it can quote what it read.
    serde_json::from_slice(&body)
        .map_err(|_| CallError::Ambiguous("the answer is none of the specification's"))
}

// [check_profile]
/// Refuses a profile without a subject: all users of such would share one account.
fn check_subject(profile: &Profile) -> CallResult<()> {
    if profile.subject.as_str().is_empty() {
        return Err(CallError::Ambiguous("the profile has an empty subject"));
    }
    Ok(())
}
// [/]

/// Whether the answer says of itself that it is JSON, with or without parameters.
fn is_json(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    let media_type = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next());
    media_type.is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json"))
}

// [send]
/// Sends `request` once, and returns a response only if its status is 2xx.
async fn send(request: RequestBuilder) -> CallResult<Response> {
    let response = request
        .header(ACCEPT, "application/json")
        .send()
        .await
        .map_err(connection_error)?;
    match response.status().as_u16() {
        200..=299 => Ok(response),
        status @ 400..=499 => Err(refusal(status, response).await),
        // 5xx: the broker (or a proxy in front of it) failed at some point that
        // we can't see, maybe after its commit. 3xx: not followed.
        _ => Err(CallError::Ambiguous("the answer has an unexpected status")),
    }
}

/// The error for a 4xx response. Only an ApiError is the broker's refusal. A proxy in
/// between answers by itself, too (408 when a connection was slow, 403 with a page of
/// its own), and then it is unknown whether the broker carried out the call.
async fn refusal(status: u16, response: Response) -> CallError {
    let body = read(response).await.unwrap_or_default();
    match serde_json::from_slice::<ApiError>(&body) {
        Ok(_) => CallError::Refused(status),
        Err(_) => CallError::Ambiguous("a proxy before the broker refused"),
    }
}

/// Reads a body piece by piece, up to the limit.
async fn read(mut response: Response) -> CallResult<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(connection_error)? {
        if body.len() + piece.len() > MAX_ANSWER_BYTES {
            return Err(CallError::Ambiguous("the answer is too large"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}
// [/]

/// The error for a request whose connection failed. Taken by value and dropped: the
/// library's own text names the address.
fn connection_error(error: reqwest::Error) -> CallError {
    // Even "could not connect" is ambiguous. Telling apart what certainly did not
    // reach the broker from what perhaps did is how double spending begins.
    match error {
        error if error.is_timeout() => CallError::Ambiguous("it timed out"),
        error if error.is_connect() => CallError::Ambiguous("no connection"),
        _ => CallError::Ambiguous("the connection broke"),
    }
}

/// The answer of `POST /v1/token`: one value, and three constants as types that
/// parse from nothing else. (The contract's own type fixes the token's prefix.)
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: BearerToken,
    token_type: TokenType,
    expires_in: TokenLifetime,
    scope: Scope,
}

/// The access token: a prefix, an underscore and 43 characters of
/// `[A-Za-z0-9_-]`.
///
/// The specification fixes the prefix and doesn't show it. This application is
/// meant for any broker, so it accepts any prefix that a header can carry.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct BearerToken(String);

impl BearerToken {
    /// The text, for the `Authorization` header and the session.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

// [check_token]
impl TryFrom<String> for BearerToken {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let bytes = text.as_bytes();
        match bytes.len().checked_sub(44) {
            Some(prefix @ 1..) if bytes[prefix] == b'_' && bytes.iter().copied().all(is_plain) => {
                Ok(Self(text))
            }
            _ => Err("an access token is a prefix, an underscore and 43 characters"),
        }
    }
}
// [/]
