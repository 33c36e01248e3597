//! A running mock with its own clock, a client that follows no redirect, the parameters of a
//! careful broker's requests, and tables in text.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mock_upstream::users::seed_users;
use mock_upstream::{Client, Clock, MockUpstream, Mode, Next, Provider, Settings, Upstream, User};
use reqwest::{Method, RequestBuilder, redirect};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

pub(crate) const GOOGLE: Provider = Provider::Google;
pub(crate) const GITHUB: Provider = Provider::GitHub;

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
        let http = reqwest::Client::builder().redirect(redirect::Policy::none());
        Self {
            upstreams: MockUpstream::start(settings).await.unwrap(),
            now_ms,
            http: http.no_proxy().build().unwrap(),
        }
    }

    /// A mock whose providers show their pages.
    pub(crate) async fn interactive() -> Self {
        Self::interactive_with(|_| ()).await
    }

    pub(crate) async fn interactive_with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::with(|settings| {
            settings.google.mode = Mode::Interactive;
            settings.github.mode = Mode::Interactive;
            change(settings);
        })
        .await
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    pub(crate) fn advance_ms(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    pub(crate) fn upstream(&self, provider: Provider) -> &Upstream {
        self.upstreams.provider(provider)
    }

    pub(crate) fn url(&self, provider: Provider, path: &str) -> String {
        format!("{}{path}", self.upstream(provider).url())
    }

    pub(crate) fn queue(&self, provider: Provider, next: Next) {
        self.upstream(provider).queue(next).unwrap();
    }

    pub(crate) fn request(&self, provider: Provider, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.http.request(method, self.url(provider, path))
    }

    pub(crate) async fn get(&self, provider: Provider, path: &str) -> Response {
        Response::of(self.request(provider, "GET", path)).await
    }

    /// Calls an endpoint with an access token.
    pub(crate) async fn get_with(&self, token: &str, provider: Provider, path: &str) -> Response {
        let request = self.request(provider, "GET", path).bearer_auth(token);
        // GitHub requires a user agent.
        Response::of(request.header("user-agent", "contract")).await
    }

    pub(crate) async fn post(&self, provider: Provider, path: &str, form: &Params) -> Response {
        Response::of(self.request(provider, "POST", path).form(&form.0)).await
    }

    /// Sends a browser to `provider` with these [changes](Params::changed) of a good request.
    pub(crate) async fn authorize(&self, provider: Provider, changes: &str) -> Response {
        let params = authorization(provider).changed(changes).encoded();
        let path = authorization_path(provider);
        self.get(provider, &format!("{path}?{params}")).await
    }

    /// The parameters of the callback of such a request.
    pub(crate) async fn callback(&self, provider: Provider, changes: &str) -> Params {
        self.authorize(provider, changes).await.callback()
    }

    /// The code of a plain sign-in at `provider`.
    pub(crate) async fn code(&self, provider: Provider) -> String {
        let callback = self.callback(provider, "").await;
        callback.get("code").unwrap().to_owned()
    }

    /// A good token call for a new code.
    pub(crate) async fn redemption(&self, provider: Provider) -> Params {
        redemption(&self.code(provider).await)
    }

    /// A call of the token endpoint of `provider` that accepts JSON, without its body.
    pub(crate) fn token_call(&self, provider: Provider) -> RequestBuilder {
        let request = self.request(provider, "POST", token_path(provider));
        request.header("accept", "application/json")
    }

    pub(crate) async fn token(&self, provider: Provider, form: &Params) -> Response {
        Response::of(self.token_call(provider).form(&form.0)).await
    }

    /// The token response of a plain sign-in at `provider`.
    pub(crate) async fn sign_in(&self, provider: Provider) -> Response {
        self.sign_in_with(provider, "").await
    }

    pub(crate) async fn sign_in_with(&self, provider: Provider, changes: &str) -> Response {
        let callback = self.callback(provider, changes).await;
        self.tokens(provider, &callback).await
    }

    /// The token response for the code in a callback.
    pub(crate) async fn tokens(&self, provider: Provider, callback: &Params) -> Response {
        let form = redemption(callback.get("code").unwrap());
        self.token(provider, &form).await
    }

    /// The account that the code in a callback leads to.
    pub(crate) async fn account(&self, provider: Provider, callback: &Params) -> Response {
        let token = self.tokens(provider, callback).await.text("access_token");
        self.get_with(&token, provider, account_path(provider))
            .await
    }

    /// The access token of a plain sign-in at `provider`.
    pub(crate) async fn access_token(&self, provider: Provider) -> String {
        self.sign_in(provider).await.text("access_token")
    }

    pub(crate) async fn sign_in_as(&self, provider: Provider, user: User) -> Response {
        self.queue(provider, Next::User(user));
        self.sign_in(provider).await
    }
}

pub(crate) fn authorization_path(provider: Provider) -> &'static str {
    match provider {
        Provider::Google => "/o/oauth2/v2/auth",
        Provider::GitHub => "/login/oauth/authorize",
    }
}

pub(crate) fn token_path(provider: Provider) -> &'static str {
    match provider {
        Provider::Google => "/token",
        Provider::GitHub => "/login/oauth/access_token",
    }
}

pub(crate) fn account_path(provider: Provider) -> &'static str {
    match provider {
        Provider::Google => "/v1/userinfo",
        Provider::GitHub => "/user",
    }
}

/// The account of a seed user at `provider`.
pub(crate) fn seed_account(provider: Provider, key: &str) -> User {
    let known = seed_users().into_iter().find(|known| known.key == key);
    known.unwrap().at(provider).unwrap().clone()
}

/// A user with an id and nothing else.
pub(crate) fn user(id: &str) -> User {
    User {
        id: id.to_owned(),
        ..User::default()
    }
}

/// The rows of a table in text: a line each, with bars between the cells. A line that begins
/// with slashes is a comment.
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = table.lines().map(str::trim);
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    rows.map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        cells.try_into().expect(line)
    })
}

fn client() -> Client {
    Client::new(CLIENT_ID, CLIENT_SECRET, [CALLBACK, SECOND_CALLBACK]).unwrap()
}

/// Parameters in their order.
#[derive(Clone, Debug)]
pub(crate) struct Params(pub(crate) Vec<(String, String)>);

impl Params {
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let pairs = pairs.iter().copied();
        Self(
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// Sets `name`, in place of any other value.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds `name`, beside any other value.
    fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes these changes, with semicolons between them: `name=value` sets a parameter,
    /// `+name=value` adds it beside any other value, and `-name` removes it.
    pub(crate) fn changed(self, changes: &str) -> Self {
        changes.split("; ").fold(self, |params, change| {
            match (change.strip_prefix('-'), change.split_once('=')) {
                (Some(name), _) => params.without(name),
                (None, Some((name, value))) => match name.strip_prefix('+') {
                    Some(name) => params.and(name, value),
                    None => params.with(name, value),
                },
                (None, None) => params,
            }
        })
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
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let common = Params::of(&[
        ("client_id", CLIENT_ID),
        ("redirect_uri", CALLBACK),
        ("state", STATE),
        ("code_challenge", &challenge),
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

/// A response with its complete body.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) bytes: Vec<u8>,
    headers: reqwest::header::HeaderMap,
}

impl Response {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        Self::try_of(request).await.unwrap()
    }

    pub(crate) async fn try_of(request: RequestBuilder) -> Result<Self, reqwest::Error> {
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes: Vec<u8> = response.bytes().await?.into();
        Ok(Self {
            status: status.as_u16(),
            headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
            bytes,
        })
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

    /// The names of the members, in alphabetical order.
    pub(crate) fn members(&self) -> String {
        let body = self.json();
        let mut names: Vec<_> = body.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names.join(" ")
    }

    /// Whether this is JSON with an access token.
    pub(crate) fn is_granted(&self) -> bool {
        self.json()["access_token"].is_string()
    }

    /// The parameters of the callback; fails unless this is a redirect.
    #[track_caller]
    pub(crate) fn callback(&self) -> Params {
        let status = self.status;
        assert!(matches!(status, 302 | 303), "{status} {}", self.body);
        let location = Url::parse(self.header("location")).unwrap();
        Params(location.query_pairs().into_owned().collect())
    }

    /// Whether this is an HTML page with `text` and without a redirect.
    pub(crate) fn is_page(&self, status: u16, text: &str) -> bool {
        self.status == status
            && self.header("content-type") == "text/html; charset=utf-8"
            && self.header("location").is_empty()
            && self.body.contains(text)
    }

    #[track_caller]
    pub(crate) fn assert_page(&self, status: u16, text: &str) {
        assert!(self.is_page(status, text), "{} {}", self.status, self.body);
    }

    /// The status, the error and its description, as in `400 invalid_grant: Bad Request`.
    pub(crate) fn error(&self) -> String {
        let description = self.text("error_description");
        format!("{} {}: {description}", self.status, self.text("error"))
    }
}
