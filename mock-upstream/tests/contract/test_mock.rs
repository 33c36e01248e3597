//! A running mock with its own clock, and a client that follows no redirect.

mod params;
mod response;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mock_upstream::users::seed_users;
use mock_upstream::{Client, Clock, MockUpstream, Next, Provider, Settings, Upstream, User};
use reqwest::{Method, RequestBuilder, redirect};

pub(crate) use params::{Params, authorization, redemption, without_pkce};
pub(crate) use response::Response;

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
    known.unwrap().at(provider).unwrap().clone()
}

fn client() -> Client {
    Client::new(CLIENT_ID, CLIENT_SECRET, [CALLBACK, SECOND_CALLBACK]).unwrap()
}

fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap()
}
