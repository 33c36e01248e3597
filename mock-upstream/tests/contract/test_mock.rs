//! A running mock with its own clock, and a client that follows no redirect.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mock_upstream::users::seed_users;
use mock_upstream::{Client, Clock, MockUpstream, Next, Provider, Settings, Upstream, User};
use reqwest::{Method, RequestBuilder, redirect};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

pub(crate) const CLIENT_ID: &str = "mock-client";
pub(crate) const CLIENT_SECRET: &str = "mock-secret";
pub(crate) const CALLBACK: &str = "http://127.0.0.1:8000/callback";
pub(crate) const SECOND_CALLBACK: &str = "http://127.0.0.1:8000/second?tenant=1";
pub(crate) const STATE: &str = "a state/with+odd characters";
pub(crate) const NONCE: &str = "n-0S6_WzA2Mj";
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

const START_MS: i64 = 1_800_000_000_000;

pub(crate) struct TestMock {
    pub(crate) upstreams: MockUpstream,
    now_ms: Arc<AtomicI64>,
    http: reqwest::Client,
}

impl TestMock {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let now_ms = Arc::new(AtomicI64::new(START_MS));
        let mut settings = Settings::new(client(), client());
        settings.clock = Clock::new({
            let now_ms = Arc::clone(&now_ms);
            move || now_ms.load(Ordering::SeqCst)
        });
        change(&mut settings);
        Self {
            upstreams: MockUpstream::start(settings).await.unwrap(),
            now_ms,
            http: http_client(),
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    pub(crate) fn advance_ms(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    pub(crate) fn request(&self, method: Method, url: &str) -> RequestBuilder {
        self.http.request(method, url)
    }

    pub(crate) async fn get(&self, url: &str) -> Response {
        Response::of(self.request(Method::GET, url)).await
    }

    /// Calls an endpoint with an access token.
    pub(crate) async fn get_with_token(
        &self,
        provider: Provider,
        path: &str,
        token: &str,
    ) -> Response {
        let url = format!("{}{path}", self.upstream(provider).url());
        let request = self.request(Method::GET, &url).bearer_auth(token);
        // GitHub requires a user agent.
        Response::of(request.header("user-agent", "contract")).await
    }

    pub(crate) async fn post(&self, url: &str, form: &Params) -> Response {
        Response::of(self.request(Method::POST, url).form(&form.0)).await
    }

    pub(crate) fn upstream(&self, provider: Provider) -> &Upstream {
        self.upstreams.provider(provider)
    }

    pub(crate) fn queue(&self, provider: Provider, next: Next) {
        self.upstream(provider).queue(next).unwrap();
    }

    /// Sends a browser to `provider` with `params`.
    pub(crate) async fn authorize(&self, provider: Provider, params: &Params) -> Response {
        let path = match provider {
            Provider::Google => "/o/oauth2/v2/auth",
            Provider::GitHub => "/login/oauth/authorize",
        };
        let url = format!(
            "{}{path}?{}",
            self.upstream(provider).url(),
            params.encoded()
        );
        self.get(&url).await
    }

    /// The code of a plain sign-in at `provider`.
    pub(crate) async fn code(&self, provider: Provider) -> String {
        self.code_for(provider, &authorization(provider)).await
    }

    pub(crate) async fn code_for(&self, provider: Provider, params: &Params) -> String {
        let response = self.authorize(provider, params).await;
        response.callback().get("code").unwrap().to_owned()
    }

    /// Calls the token endpoint of `provider` and accepts JSON.
    pub(crate) async fn token(&self, provider: Provider, form: &Params) -> Response {
        let request = self.request(Method::POST, &self.token_url(provider));
        let request = request.header("accept", "application/json");
        Response::of(request.form(&form.0)).await
    }

    pub(crate) fn token_url(&self, provider: Provider) -> String {
        let path = match provider {
            Provider::Google => "/token",
            Provider::GitHub => "/login/oauth/access_token",
        };
        format!("{}{path}", self.upstream(provider).url())
    }

    /// The token response of a plain sign-in at `provider`.
    pub(crate) async fn sign_in(&self, provider: Provider) -> Response {
        let code = self.code(provider).await;
        self.token(provider, &redemption(&code)).await
    }
}

/// The account of a seed user at `provider`.
pub(crate) fn seed_account(provider: Provider, key: &str) -> User {
    let known = seed_users().into_iter().find(|known| known.key == key);
    known.unwrap().at(provider).clone()
}

fn client() -> Client {
    Client::new(CLIENT_ID, CLIENT_SECRET, [CALLBACK, SECOND_CALLBACK]).unwrap()
}

pub(crate) fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap()
}

/// A response with its complete body.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) bytes: Vec<u8>,
    headers: reqwest::header::HeaderMap,
}

impl Response {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self::read(request.send().await.unwrap()).await
    }

    async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes: Vec<u8> = response.bytes().await.unwrap().into();
        Self {
            status: status.as_u16(),
            headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
            bytes,
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap().to_owned()
    }

    /// The parameters of the callback; fails unless this is a redirect.
    #[track_caller]
    pub(crate) fn callback(&self) -> Params {
        assert!(
            matches!(self.status, 302 | 303),
            "{} {}",
            self.status,
            self.body
        );
        let location = Url::parse(self.header("location")).unwrap();
        Params(location.query_pairs().into_owned().collect())
    }

    /// Asserts that this is an HTML page with `error` and without a redirect.
    #[track_caller]
    pub(crate) fn assert_page(&self, status: u16, error: &str) {
        assert_eq!(self.status, status);
        assert_eq!(self.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(self.header("location"), "");
        assert!(self.body.contains(error), "{}", self.body);
    }

    /// Asserts that this is exactly this error.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, error: &str, description: &str) {
        let body = self.json();
        assert_eq!(self.status, status);
        assert_eq!(body["error"], error);
        assert_eq!(body["error_description"], description);
    }
}

/// Parameters in their order.
#[derive(Clone, Debug)]
pub(crate) struct Params(pub(crate) Vec<(String, String)>);

impl Params {
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self(owned.collect())
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// Sets `name`, in place of any other value.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds `name`, beside any other value.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(value)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn encoded(&self) -> String {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.0)
            .finish()
    }
}

/// A careful broker's authorization request.
pub(crate) fn authorization(provider: Provider) -> Params {
    let common = Params::of(&[
        ("client_id", CLIENT_ID),
        ("redirect_uri", CALLBACK),
        ("state", STATE),
        ("code_challenge", &challenge(VERIFIER)),
        ("code_challenge_method", "S256"),
    ]);
    match provider {
        Provider::Google => common
            .with("response_type", "code")
            .with("scope", "openid email profile")
            .with("nonce", NONCE),
        Provider::GitHub => common.with("scope", "read:user user:email"),
    }
}

/// A careful broker's token request.
pub(crate) fn redemption(code: &str) -> Params {
    Params::of(&[
        ("grant_type", "authorization_code"),
        ("client_id", CLIENT_ID),
        ("client_secret", CLIENT_SECRET),
        ("redirect_uri", CALLBACK),
        ("code", code),
        ("code_verifier", VERIFIER),
    ])
}

pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// Removes PKCE from an authorization request.
pub(crate) fn without_pkce(params: Params) -> Params {
    params
        .without("code_challenge")
        .without("code_challenge_method")
}
