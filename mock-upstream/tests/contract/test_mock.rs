//! A running mock with its own clock, a client that follows no redirect, and tables in text.

mod params;
mod response;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mock_upstream::users::seed_users;
use mock_upstream::{Client, Clock, MockUpstream, Mode, Next, Provider, Settings, Upstream, User};
use reqwest::{Method, RequestBuilder, redirect};

pub(crate) use params::{Params, authorization, redemption};
pub(crate) use response::Response;

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

    /// Sends a browser to `provider` with `params`.
    pub(crate) async fn authorize(&self, provider: Provider, params: &Params) -> Response {
        let path = authorization_path(provider);
        self.get(provider, &format!("{path}?{}", params.encoded()))
            .await
    }

    /// The code of a plain sign-in at `provider`.
    pub(crate) async fn code(&self, provider: Provider) -> String {
        self.code_for(provider, &authorization(provider)).await
    }

    pub(crate) async fn code_for(&self, provider: Provider, params: &Params) -> String {
        let response = self.authorize(provider, params).await;
        response.callback().get("code").unwrap().to_owned()
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
        self.sign_in_with(provider, &authorization(provider)).await
    }

    pub(crate) async fn sign_in_with(&self, provider: Provider, params: &Params) -> Response {
        let code = self.code_for(provider, params).await;
        self.token(provider, &redemption(&code)).await
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
