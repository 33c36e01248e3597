//! Sign-in with GitHub: OAuth 2.0 without ID tokens, errors inside HTTP 200, and a
//! REST API that returns the user.

use contract::{Origin, Profile, Provider, Subject};
use reqwest::RequestBuilder;
use reqwest::StatusCode;
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::client::{Answer, Client, Observer};
use super::failure::{Failure, own_credentials_rejected};
use super::normalize::{self, LenientString};
use super::oauth::{AccessToken, AccountPicker};
use crate::config::GitHubConfig;
use crate::model::upstream_login::UpstreamLogin;
use crate::untrusted::encode;

/// The newest version of the REST API; without the header GitHub uses an older one.
const API_VERSION: HeaderValue = HeaderValue::from_static("2026-03-10");
const API_VERSION_HEADER: HeaderName = HeaderName::from_static("x-github-api-version");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const GITHUB_JSON: HeaderValue = HeaderValue::from_static("application/vnd.github+json");

/// GitHub, or an imitation of it.
#[derive(Debug)]
pub struct GitHub {
    config: GitHubConfig,
    endpoints: Endpoints,
    callback: String,
    client: Client,
}

/// The addresses of the calls, parsed once.
#[derive(Debug)]
struct Endpoints {
    token: Url,
    user: Url,
    emails: Url,
}

impl Endpoints {
    fn of(config: &GitHubConfig) -> Self {
        let at = |origin: &Origin, path: &str| {
            let url = Url::parse(&format!("{origin}{path}"));
            url.expect("an origin and a path make a URL")
        };
        Self {
            token: at(&config.web_url, "/login/oauth/access_token"),
            user: at(&config.api_url, "/user"),
            emails: at(&config.api_url, "/user/emails?per_page=100"),
        }
    }
}

/// A token response: a token, or an error with status 200.
#[derive(Deserialize)]
struct TokenResponse {
    error: Option<Value>,
    access_token: Option<AccessToken>,
    token_type: Option<String>,
}

/// A user. Only the `id` must be valid: it identifies the user.
#[derive(Deserialize)]
pub(super) struct User {
    id: u64,
    #[serde(default)]
    login: LenientString,
    #[serde(default)]
    name: LenientString,
    #[serde(default)]
    avatar_url: LenientString,
}

#[derive(Deserialize)]
struct Email {
    email: String,
    primary: bool,
    verified: bool,
}

impl GitHub {
    pub(super) fn new(config: GitHubConfig, callback: String, client: Client) -> Self {
        Self {
            endpoints: Endpoints::of(&config),
            config,
            callback,
            client,
        }
    }

    pub(super) fn is_loopback(&self) -> bool {
        self.config.web_url.is_loopback() && self.config.api_url.is_loopback()
    }

    /// The only valid `iss` in its callback.
    pub(super) fn issuer(&self) -> String {
        format!("{}/login/oauth", self.config.web_url)
    }

    pub(super) fn authorization_url(
        &self,
        upstream_login: &UpstreamLogin,
        picker: AccountPicker,
    ) -> Result<String, Failure> {
        let state = upstream_login.upstream_state().to_text();
        let challenge = upstream_login.upstream_verifier().challenge();
        let query = [
            ("client_id", self.config.client_id.as_str()),
            ("redirect_uri", &self.callback),
            ("scope", "read:user user:email"),
            ("state", &state),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        Ok(format!(
            "{}/login/oauth/authorize?{}",
            self.config.web_url,
            encode(query.into_iter().chain(picker.parameter()))
        ))
    }

    pub(super) async fn authenticate(
        &self,
        upstream_login: &UpstreamLogin,
        code: &str,
        observer: Observer<'_>,
    ) -> Result<Profile, Failure> {
        let token = self.exchange(upstream_login, code, observer).await?;
        // At once; and both to their end, so that the reported failure does not depend
        // on which answer is faster.
        let (user, emails) = tokio::join!(
            self.get("GET user", &self.endpoints.user, &token, observer),
            self.get("GET user emails", &self.endpoints.emails, &token, observer),
        );
        Ok(profile(user_in(&user?)?, emails_in(&emails?)?))
    }

    /// Exchanges the code for an access token, without a retry.
    async fn exchange(
        &self,
        upstream_login: &UpstreamLogin,
        code: &str,
        observer: Observer<'_>,
    ) -> Result<AccessToken, Failure> {
        let verifier = upstream_login.upstream_verifier();
        let request = self
            .client
            .post(self.endpoints.token.clone())
            .header(ACCEPT, JSON)
            .form(&[
                ("client_id", self.config.client_id.as_str()),
                ("client_secret", self.config.client_secret.expose()),
                ("code", code),
                ("redirect_uri", &self.callback),
                ("code_verifier", verifier.expose()),
            ]);
        token(&self.client.send("POST token", request, observer).await?)
    }

    async fn get(
        &self,
        operation: &'static str,
        url: &Url,
        token: &AccessToken,
        observer: Observer<'_>,
    ) -> Result<Answer, Failure> {
        let request = self.api_request(url, token);
        self.client.send(operation, request, observer).await
    }

    fn api_request(&self, url: &Url, token: &AccessToken) -> RequestBuilder {
        self.client
            .get(url.clone())
            .bearer_auth(token.expose())
            .header(ACCEPT, GITHUB_JSON)
            .header(API_VERSION_HEADER, API_VERSION)
    }
}

/// GitHub's error for a wrong `client_id` or `client_secret` of the broker.
const CLIENT_ERROR: &str = "incorrect_client_credentials";

/// The token in a token response.
pub(super) fn token(answer: &Answer) -> Result<AccessToken, Failure> {
    let error = answer.oauth_error();
    if error.is_some_and(|error| error == CLIENT_ERROR) {
        return Err(own_credentials_rejected(Provider::GitHub));
    }
    check_rate(answer)?;
    let response: TokenResponse = answer.json()?;
    if response.error.is_some() {
        return Err(Failure::CodeRefused);
    }
    let is_bearer = |it: &String| it.eq_ignore_ascii_case("bearer");
    let token = response.access_token.ok_or(Failure::Malformed)?;
    response
        .token_type
        .filter(is_bearer)
        .map(|_| token)
        .ok_or(Failure::TokenType)
}

/// The user in a response of the REST API.
pub(super) fn user_in(answer: &Answer) -> Result<User, Failure> {
    check_rate(answer)?;
    answer.json()
}

/// The addresses in a response of the REST API: none, if the token may not read them.
pub(super) fn emails_in(answer: &Answer) -> Result<Vec<Value>, Failure> {
    check_rate(answer)?;
    match answer.status {
        StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => Ok(Vec::new()),
        _ => answer.json(),
    }
}

/// GitHub reports rate limits with 403 as well as with 429: a primary limit by its
/// header, a secondary one by `retry-after` or by its message.
fn check_rate(answer: &Answer) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
    }
    let left = answer.headers.get("x-ratelimit-remaining");
    let says_so = |refusal: Refusal| refusal.message.contains("rate limit");
    let is_limited = || {
        left.is_some_and(|left| left == "0")
            || answer.headers.contains_key("retry-after")
            || answer.lenient_json().is_some_and(says_so)
    };
    match answer.status == StatusCode::FORBIDDEN && is_limited() {
        true => Err(Failure::RateLimited),
        false => Ok(()),
    }
}

pub(super) fn profile(user: User, emails: Vec<Value>) -> Profile {
    // The public address in `/user` proves nothing; only a primary one that
    // GitHub has verified does.
    let proven = emails
        .into_iter()
        .filter_map(|email| serde_json::from_value::<Email>(email).ok())
        .find(|email| email.primary && email.verified);
    let email = proven.and_then(|email| normalize::email(email.email.into()));
    let id = user.id.to_string();
    Profile {
        subject: Subject::of(Provider::GitHub, &id),
        provider: Provider::GitHub,
        provider_subject: id,
        name: normalize::text(user.name),
        username: normalize::text(user.login),
        email_verified: email.is_some(),
        email,
        avatar_url: normalize::picture(user.avatar_url),
    }
}
