//! The broker as a client of Google and GitHub: its calls, and its handling of any
//! response. The providers here are servers on raw sockets, of which Google has its documents,
//! keys and tokens. Ada signs in at both, unless a test sets another reply.
//!
//! `b05_…` is the fifth check of this side in the threat catalogue; `e2e/THREATS.md`
//! lists the tests of each check.

mod callback;
mod errors;
mod id_token;
mod keys;
mod limits;
mod online;
mod users;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use broker::clock::Clock;
use broker::config::Config;
use broker::model::UnixMs;
use contract::Provider::{self, GitHub, Google};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Value, json};
use testkit::http::Response;

use crate::fake_provider::{ACCESS_TOKEN, FakeProvider, Reply, TOKEN};
use crate::test_broker::{
    Browser, CALLBACK, TestBroker, authorize_with, google_config, parameter, query_with,
    session_body, state, with,
};

const DISCOVERY: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/certs";
const KEY_ONE: &str = include_str!("keys/one.pem");
const KEY_TWO: &str = include_str!("keys/two.pem");

struct FakeProviders {
    broker: TestBroker,
    google: FakeProvider,
    github: FakeProvider,
}

impl FakeProviders {
    async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// Starts them with a broker whose configuration is changed.
    async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_by(Clock::system(), change).await
    }

    /// Starts them with a broker whose clock moves only when a test moves it.
    async fn start_with_fixed_clock() -> Self {
        let clock = Clock::fixed_at(UnixMs(1_790_000_000_000));
        Self::start_by(clock, |_| ()).await
    }

    async fn start_by(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let google = start_google().await;
        let broker = TestBroker::start_on(clock, |config| {
            config.upstream.google = Some(google_config(&google.url()));
            change(config);
        })
        .await;
        Self {
            github: broker.github.clone(),
            broker,
            google,
        }
    }

    fn get(&self, provider: Provider) -> &FakeProvider {
        match provider {
            Google => &self.google,
            GitHub => &self.github,
        }
    }

    /// Starts a clean login.
    async fn start_login(&self, provider: Provider, key: u8) -> StartedLogin<'_> {
        let body = with(session_body(key), "provider", provider.as_str());
        let path = self.broker.session_with(&body).await;
        StartedLogin::at(self, provider, &path).await
    }

    /// Starts a legacy login.
    async fn start_legacy_login(&self, provider: Provider) -> StartedLogin<'_> {
        let query = query_with("provider", Some(provider.as_str()));
        StartedLogin::at(self, provider, &authorize_with(&query)).await
    }

    /// The outcome of a legacy login.
    async fn log_in(&self, provider: Provider) -> LegacyResult {
        self.return_with(provider, "code=a-code").await
    }

    /// The outcome of a legacy login whose browser returns with this query.
    async fn return_with(&self, provider: Provider, query: &str) -> LegacyResult {
        let login = self.start_legacy_login(provider).await;
        login.finish(query).await
    }

    /// The outcome of a legacy login while the usual reply at `path` is changed.
    async fn log_in_where(
        &self,
        provider: Provider,
        path: &str,
        change: impl Fn(Reply) -> Reply,
    ) -> LegacyResult {
        let server = self.get(provider);
        let set = || server.set_reply(path, change(server.reply(path)));
        // The token is Google's own for each login that has started.
        if path == DISCOVERY {
            set();
        }
        let login = self.start_legacy_login(provider).await;
        if path != DISCOVERY {
            set();
        }
        login.finish("code=a-code").await
    }

    /// The outcome of a legacy login while `path` is answered with `reply`.
    async fn log_in_with(&self, provider: Provider, path: &str, reply: &Reply) -> LegacyResult {
        self.log_in_where(provider, path, |_| reply.clone()).await
    }

    /// The outcome of a legacy login in which Google returns the token that `make` returns.
    async fn log_in_by(&self, make: impl FnOnce(&StartedLogin<'_>) -> String) -> LegacyResult {
        let login = self.start_legacy_login(Google).await;
        login.google_returns_token(&make(&login));
        login.finish("code=a-code").await
    }

    /// Signs Ada in through the clean flow.
    async fn sign_in(&self, provider: Provider, key: u8) -> LoginResult {
        let login = self.start_login(provider, key).await;
        login
            .return_with("code=a-code")
            .await
            .redirects_to(CALLBACK);
        self.result(key).await
    }

    /// Reads the result of a clean login.
    async fn result(&self, key: u8) -> LoginResult {
        let result = self.broker.result(key).await;
        assert_eq!(result.status, 200, "{result:?}");
        let result = result.json();
        match (&result["profile"], &result["error"]) {
            (profile, Value::Null) if profile.is_object() => Ok(profile.clone()),
            (Value::Null, Value::String(error)) => Err(error.clone()),
            _ => panic!("{result}"),
        }
    }

    async fn is_available(&self, provider: Provider) -> bool {
        let statuses = self.broker.get("/api/providers").await.json();
        let mut statuses = statuses.as_array().unwrap().iter();
        let status = statuses.find(|it| it["id"] == provider.as_str()).unwrap();
        status["available"].as_bool().unwrap()
    }

    /// The last failure of a provider in the audit log.
    fn last_failure(&self) -> Option<&'static str> {
        let events = self.broker.events();
        events.iter().rev().find_map(|event| event.why)
    }
}

/// The code that the consumer gets, or the error.
type LegacyResult = Result<String, String>;

/// The profile of the user, or the error.
type LoginResult = Result<Value, String>;

fn failed_with(error: &str) -> LoginResult {
    Err(error.to_owned())
}

fn server_error() -> Reply {
    Reply::of(503, "text/html", "<h1>Service unavailable</h1>")
}

/// The callback URL of a legacy login that failed.
fn legacy_error(error: &str) -> String {
    format!("{CALLBACK}?error={error}&state={}", state())
}

/// A login whose browser was redirected to its provider, or back to the consumer if the
/// provider cannot be used.
struct StartedLogin<'s> {
    providers: &'s FakeProviders,
    provider: Provider,
    browser: Browser,
    /// The redirect that the browser got.
    redirect: Response,
}

impl<'s> StartedLogin<'s> {
    /// Opens `path` of the broker in a new browser.
    async fn at(providers: &'s FakeProviders, provider: Provider, path: &str) -> Self {
        let browser = providers.broker.browser();
        let redirect = browser.get(path).await;
        let login = Self {
            providers,
            provider,
            browser,
            redirect,
        };
        if provider == Google && login.is_at_provider() {
            let header = json!({ "alg": "RS256", "kid": "one" });
            login.google_returns_token(&token(&header, &adas_claims(&login)));
        }
        login
    }

    fn is_at_provider(&self) -> bool {
        !self.redirect.location().unwrap().starts_with(CALLBACK)
    }

    /// One parameter of the authorization request to the provider.
    fn parameter(&self, name: &str) -> String {
        parameter(self.redirect.location().unwrap(), name).unwrap()
    }

    /// Makes Google exchange the next code for this ID token.
    fn google_returns_token(&self, id_token: &str) {
        let answer = json!({ "access_token": ACCESS_TOKEN, "expires_in": 3599,
            "scope": "openid", "token_type": "Bearer", "id_token": id_token });
        self.providers.google.set_reply(TOKEN, Reply::json(&answer));
    }

    /// The path of the broker's callback with this query.
    fn callback_path(&self, query: &str) -> String {
        let state = self.parameter("state");
        format!("/callback/{}?{query}&state={state}", self.provider)
    }

    /// Sends the browser to the broker's callback with this query.
    async fn return_with(&self, query: &str) -> Response {
        self.browser.get(&self.callback_path(query)).await
    }

    /// Returns to the broker with this query, unless the browser did not reach the
    /// provider: the code that the consumer gets, or the error.
    async fn finish(&self, query: &str) -> LegacyResult {
        let response = match self.is_at_provider() {
            true => self.return_with(query).await,
            false => self.redirect.clone(),
        };
        let location = response.location().unwrap();
        assert!(location.starts_with(CALLBACK), "{location}");
        parameter(location, "code").ok_or_else(|| parameter(location, "error").unwrap())
    }
}

/// The claims of Ada's ID token for this login.
fn adas_claims(login: &StartedLogin<'_>) -> Value {
    let now = login.providers.broker.clock.now().seconds();
    json!({
        "iss": login.providers.google.url(),
        "aud": "us",
        "azp": "us",
        "sub": "108204268033311374519",
        "email": "ada@mail.example",
        "email_verified": true,
        "name": "Ada Lovelace",
        "picture": "https://lh3.googleusercontent.com/a/ada=s96-c",
        "nonce": login.parameter("nonce"),
        "iat": now,
        "exp": now + 3600,
    })
}

/// Starts a Google that publishes one key. A login sets its token.
async fn start_google() -> FakeProvider {
    let google = FakeProvider::start().await;
    google.set_reply(DISCOVERY, Reply::json(&discovery_document(&google.url())));
    google.set_reply(KEYS, key_set(&[jwk("one", KEY_ONE)]));
    google
}

fn discovery_document(url: &str) -> Value {
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

fn signing_key(pem: &str) -> EncodingKey {
    ::crypto::install();
    EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap()
}

/// The public half of a key, as Google publishes it.
fn jwk(id: &str, pem: &str) -> Value {
    let key = Jwk::from_encoding_key(&signing_key(pem), Algorithm::RS256).unwrap();
    let mut key = serde_json::to_value(key).unwrap();
    key["kid"] = id.into();
    key["use"] = "sig".into();
    key
}

fn key_set(keys: &[Value]) -> Reply {
    let control = "public, max-age=3600, must-revalidate, no-transform";
    Reply::json(&json!({ "keys": keys })).with("Cache-Control", control)
}

/// A JWT with this header and these claims, signed by key one with RS256.
fn token(header: &Value, claims: &Value) -> String {
    token_signed_by(header, claims, &signing_key(KEY_ONE), Algorithm::RS256)
}

/// A JWT for Ada with this header, signed with this key.
fn signed(
    header: Value,
    key: EncodingKey,
    algorithm: Algorithm,
) -> impl Fn(&StartedLogin<'_>) -> String {
    move |login| token_signed_by(&header, &adas_claims(login), &key, algorithm)
}

fn token_signed_by(
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
