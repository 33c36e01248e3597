//! A login that was started, in the user's browser.

use std::collections::BTreeMap;

use contract::Provider::{self, Google};
use serde_json::{Value, json};

use super::{ACCESS_TOKEN, FakeProviders, LegacyResult, Reply, TOKEN, token};
use crate::test_broker::{Browser, CALLBACK, parameter};
use testkit::http::Response;

/// A login whose browser was redirected to its provider, or back to the consumer if the
/// provider cannot be used.
pub(crate) struct StartedLogin<'s> {
    providers: &'s FakeProviders,
    provider: Provider,
    browser: Browser,
    /// The redirect that the browser got.
    pub(crate) redirect: Response,
}

impl<'s> StartedLogin<'s> {
    /// Opens `path` of the broker in a new browser.
    pub(super) async fn at(providers: &'s FakeProviders, provider: Provider, path: &str) -> Self {
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

    pub(crate) fn is_at_provider(&self) -> bool {
        !self.redirect.location().unwrap().starts_with(CALLBACK)
    }

    /// One parameter of the authorization request to the provider.
    pub(crate) fn parameter(&self, name: &str) -> String {
        parameter(self.redirect.location().unwrap(), name).unwrap()
    }

    /// Makes Google exchange the next code for this ID token.
    pub(crate) fn google_returns_token(&self, id_token: &str) {
        let answer = json!({ "access_token": ACCESS_TOKEN, "expires_in": 3599,
            "scope": "openid", "token_type": "Bearer", "id_token": id_token });
        self.providers.google.set_reply(TOKEN, Reply::json(&answer));
    }

    /// The path of the broker's callback with this query.
    pub(crate) fn callback_path(&self, query: &str) -> String {
        let state = self.parameter("state");
        format!("/callback/{}?{query}&state={state}", self.provider)
    }

    /// Sends the browser to the broker's callback with this query.
    pub(crate) async fn return_with(&self, query: &str) -> Response {
        self.browser.get(&self.callback_path(query)).await
    }

    /// Returns to the broker with this query, unless the browser did not reach the
    /// provider: the code that the consumer gets, or the error.
    pub(crate) async fn finish(&self, query: &str) -> LegacyResult {
        let location = if self.is_at_provider() {
            let returned = self.return_with(query).await;
            returned.location().unwrap().to_owned()
        } else {
            self.redirect.location().unwrap().to_owned()
        };
        assert!(location.starts_with(CALLBACK), "{location}");
        parameter(&location, "code").ok_or_else(|| parameter(&location, "error").unwrap())
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.browser.get(path).await
    }

    pub(crate) fn cookies(&self) -> BTreeMap<String, String> {
        self.browser.cookies()
    }
}

/// The claims of Ada's ID token for this login.
pub(crate) fn adas_claims(login: &StartedLogin<'_>) -> Value {
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
