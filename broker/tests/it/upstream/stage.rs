//! A broker between a scripted Google and a scripted GitHub, where Ada signs in
//! unless a test has something said otherwise.
//!
//! The private keys beside this file are for these tests alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use broker::clock::Clock;
use broker::config::{Config, GitHubConfig, GoogleConfig, UpstreamSecret};
use broker::model::UnixMs;
use contract::Provider::{self, GitHub, Google};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Value, json};

use super::script::{Reply, Script};
use testkit::http::Response;

use crate::test_broker::{
    Browser, CALLBACK, TestBroker, authorize_query, authorize_with, parameter, session_body, state,
    with,
};

pub(crate) const DISCOVERY: &str = "/.well-known/openid-configuration";
pub(crate) const KEYS: &str = "/certs";
/// Both providers' token endpoints.
pub(crate) const TOKEN: &str = "/login/oauth/access_token";
pub(crate) const USER: &str = "/user";
pub(crate) const EMAILS: &str = "/user/emails";

/// The secret that both providers know us by.
pub(crate) const OUR_SECRET: &str = "OurSecret-k2mW9pL4tR8sB3nF6hJ1dG5yC0Qx";
pub(crate) const ACCESS_TOKEN: &str = "gho_ScriptedToken7vK2mW9pL4tR8sB3nF6hJ1d";

pub(crate) struct Stage {
    pub(crate) world: TestBroker,
    pub(crate) google: Script,
    pub(crate) github: Script,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_by(Clock::system(), change).await
    }

    /// On a clock that moves only by hand.
    pub(crate) async fn start_in_standing_time() -> Self {
        let clock = Clock::fixed_at(UnixMs(1_790_000_000_000));
        Self::start_by(clock, |_| ()).await
    }

    async fn start_by(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let (google, github) = (Script::start().await, Script::start().await);
        open_google(&google);
        open_github(&github);
        let world = TestBroker::start_on(clock, |config| {
            config.upstream.google = Some(google_at(&google.url()));
            config.upstream.github = Some(github_at(&github.url()));
            change(config);
        })
        .await;
        Self {
            world,
            google,
            github,
        }
    }

    pub(crate) fn script(&self, provider: Provider) -> &Script {
        match provider {
            Google => &self.google,
            GitHub => &self.github,
        }
    }

    /// A clean login's browser, on its way to `provider`.
    pub(crate) async fn depart(&self, provider: Provider, key: u8) -> Away<'_> {
        let body = with(session_body(key), "provider", provider.as_str());
        let path = self.world.session_with(&body).await;
        Away::by(self, provider, &path).await
    }

    /// The same in the legacy flow.
    pub(crate) async fn depart_legacy(&self, provider: Provider) -> Away<'_> {
        let mut query = authorize_query();
        query[2].1 = provider.to_string();
        Away::by(self, provider, &authorize_with(&query)).await
    }

    /// A whole clean login.
    pub(crate) async fn sign_in(&self, provider: Provider, key: u8) -> Outcome {
        let away = self.depart(provider, key).await;
        away.back("code=a-code").await.redirects_to(CALLBACK);
        self.outcome(key).await
    }

    pub(crate) async fn outcome(&self, key: u8) -> Outcome {
        let result = self.world.result(key).await;
        assert_eq!(result.status, 200, "{result:?}");
        let result = result.json();
        match (&result["profile"], &result["error"]) {
            (profile, Value::Null) if profile.is_object() => Ok(profile.clone()),
            (Value::Null, Value::String(error)) => Err(error.clone()),
            _ => panic!("{result}"),
        }
    }

    pub(crate) async fn is_available(&self, provider: Provider) -> bool {
        let statuses = self.world.get("/api/providers").await.json();
        let mut statuses = statuses.as_array().unwrap().iter();
        let status = statuses.find(|it| it["id"] == provider.as_str()).unwrap();
        status["available"].as_bool().unwrap()
    }

    /// What the audit log said last of a failure at a provider.
    pub(crate) fn last_why(&self) -> Option<&'static str> {
        let events = self.world.events();
        events.iter().rev().find_map(|event| event.why)
    }
}

pub(crate) type Outcome = Result<Value, String>;

pub(crate) fn is(error: &str) -> Outcome {
    Err(error.to_owned())
}

/// A browser on its way to a provider, or already home because there was none.
pub(crate) struct Away<'s> {
    stage: &'s Stage,
    provider: Provider,
    browser: Browser,
    pub(crate) departure: Response,
}

impl<'s> Away<'s> {
    async fn by(stage: &'s Stage, provider: Provider, path: &str) -> Self {
        let browser = stage.world.browser();
        let departure = browser.get(path).await;
        let away = Self {
            stage,
            provider,
            browser,
            departure,
        };
        if provider == Google && away.is_away() {
            away.brings(ada_of(&away));
        }
        away
    }

    pub(crate) fn is_away(&self) -> bool {
        !self.departure.location().unwrap().starts_with(CALLBACK)
    }

    pub(crate) fn parameter(&self, name: &str) -> String {
        parameter(self.departure.location().unwrap(), name).unwrap()
    }

    /// Google exchanges the next code for an ID token with these claims.
    pub(crate) fn brings(&self, claims: Value) {
        self.brings_token(&token(&json!({ "alg": "RS256", "kid": "one" }), &claims));
    }

    pub(crate) fn brings_token(&self, id_token: &str) {
        let answer = json!({ "access_token": ACCESS_TOKEN, "expires_in": 3599,
            "scope": "openid", "token_type": "Bearer", "id_token": id_token });
        self.stage.google.replies(TOKEN, Reply::json(&answer));
    }

    /// Where the browser comes back to with this query.
    pub(crate) fn back_path(&self, query: &str) -> String {
        let state = self.parameter("state");
        format!("/callback/{}?{query}&state={state}", self.provider)
    }

    pub(crate) async fn back(&self, query: &str) -> Response {
        self.browser.get(&self.back_path(query)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.browser.get(path).await
    }

    pub(crate) fn cookies(&self) -> std::collections::BTreeMap<String, String> {
        self.browser.cookies()
    }
}

/// Where a failed legacy login comes home to.
pub(crate) fn legacy_home(error: &str) -> String {
    format!("{CALLBACK}?error={error}&state={}", state())
}

/// The claims of Ada's ID token for the login of `away`.
pub(crate) fn ada_of(away: &Away<'_>) -> Value {
    let now = away.stage.world.clock.now().seconds();
    json!({
        "iss": away.stage.google.url(),
        "aud": "us",
        "azp": "us",
        "sub": "108204268033311374519",
        "email": "ada@mail.example",
        "email_verified": true,
        "name": "Ada Lovelace",
        "picture": "https://lh3.googleusercontent.com/a/ada=s96-c",
        "nonce": away.parameter("nonce"),
        "iat": now,
        "exp": now + 3600,
    })
}

pub(crate) fn google_at(url: &str) -> GoogleConfig {
    GoogleConfig {
        client_id: "us".to_owned(),
        client_secret: UpstreamSecret::new(OUR_SECRET),
        enabled: true,
        issuer: url.parse().unwrap(),
    }
}

pub(crate) fn github_at(url: &str) -> GitHubConfig {
    GitHubConfig {
        client_id: "us".to_owned(),
        client_secret: UpstreamSecret::new(OUR_SECRET),
        enabled: true,
        web_url: url.parse().unwrap(),
        api_url: url.parse().unwrap(),
    }
}

pub(crate) fn discovery_of(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/o/oauth2/v2/auth"),
        "token_endpoint": format!("{url}{TOKEN}"),
        "userinfo_endpoint": format!("{url}/userinfo"),
        "revocation_endpoint": format!("{url}/revoke"),
        "jwks_uri": format!("{url}{KEYS}"),
    })
}

fn open_google(script: &Script) {
    script.replies(DISCOVERY, Reply::json(&discovery_of(&script.url())));
    script.replies(KEYS, keys(&[jwk("one", KEY_ONE)]));
}

pub(crate) fn ada_at_github() -> Value {
    json!({ "id": 583_231, "login": "ada", "name": "Ada Lovelace", "email": null,
        "avatar_url": "https://avatars.githubusercontent.com/u/583231?v=4" })
}

fn open_github(script: &Script) {
    script.replies(TOKEN, github_grants());
    script.replies(USER, Reply::json(&ada_at_github()));
    let email = json!([{ "email": "ada@mail.example", "primary": true, "verified": true,
        "visibility": "private" }]);
    script.replies(EMAILS, Reply::json(&email));
}

pub(crate) fn github_grants() -> Reply {
    let answer = json!({ "access_token": ACCESS_TOKEN, "token_type": "bearer", "scope": "" });
    Reply::json(&answer)
}

pub(crate) const KEY_ONE: &str = include_str!("keys/one.pem");
pub(crate) const KEY_TWO: &str = include_str!("keys/two.pem");

pub(crate) fn signing(pem: &str) -> EncodingKey {
    EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap()
}

/// The public half of a key, as Google shows it.
pub(crate) fn jwk(id: &str, pem: &str) -> Value {
    let key = Jwk::from_encoding_key(&signing(pem), Algorithm::RS256).unwrap();
    let mut key = serde_json::to_value(key).unwrap();
    key["kid"] = id.into();
    key["use"] = "sig".into();
    key
}

pub(crate) fn keys(keys: &[Value]) -> Reply {
    let control = "public, max-age=3600, must-revalidate, no-transform";
    Reply::json(&json!({ "keys": keys })).with("Cache-Control", control)
}

/// A token of key one with any header and claims.
pub(crate) fn token(header: &Value, claims: &Value) -> String {
    token_by(header, claims, &signing(KEY_ONE), Algorithm::RS256)
}

pub(crate) fn token_by(
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
