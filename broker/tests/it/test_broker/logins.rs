//! Ada, and the steps of a login by her backend and browser.

use contract::{Profile, Provider, Subject};
use serde_json::Value;
use testkit::http::Response;

use super::{Browser, TestBroker, authorize_path, key, parameter, session_body, token_body};

pub(crate) fn ada() -> Profile {
    Profile {
        subject: Subject::of(Provider::GitHub, "583231"),
        provider: Provider::GitHub,
        provider_subject: "583231".to_owned(),
        name: Some("Ada Lovelace".to_owned()),
        username: Some("ada".to_owned()),
        email: Some("ada@mail.example".to_owned()),
        email_verified: true,
        avatar_url: None,
    }
}

/// Her profile as JSON.
pub(crate) fn adas_profile() -> Value {
    serde_json::to_value(ada()).unwrap()
}

impl TestBroker {
    /// Starts Ada's login with key `n`, and returns the path of its URL.
    pub(crate) async fn session(&self, n: u8) -> String {
        self.session_with(&session_body(n)).await
    }

    /// Starts a login, and returns the path of its URL.
    pub(crate) async fn session_with(&self, body: &Value) -> String {
        let response = self.post("/v1/login/session", body).await;
        authorization_path(&response, self.base_url())
    }

    /// A browser at the provider in the login with key `n`, and the path by which it comes
    /// back.
    pub(crate) async fn at_provider(&self, n: u8) -> (Browser, String) {
        let (browser, path) = (self.browser(), self.session(n).await);
        let back = browser.to_provider(&path).await;
        (browser, back)
    }

    /// A browser at the provider in a legacy login, and the path by which it comes back.
    pub(crate) async fn at_provider_in_legacy(&self) -> (Browser, String) {
        let browser = self.browser();
        let back = browser.to_provider(&authorize_path()).await;
        (browser, back)
    }

    /// Asserts that the login with key `n` is pending, or has this end.
    pub(crate) async fn has_status(&self, n: u8, status: &str) {
        assert_eq!(self.result(n).await.json()["status"], status);
    }

    /// Reads the result of the login with key `n`.
    pub(crate) async fn result(&self, n: u8) -> Response {
        self.backend.result(&key(n)).await
    }

    /// Completes a legacy login, and returns the code from its callback.
    pub(crate) async fn code(&self) -> String {
        let (browser, back) = self.at_provider_in_legacy().await;
        let callback = browser.get(&back).await;
        assert_eq!(callback.status, 303, "{callback:?}");
        parameter(callback.location().unwrap(), "code").unwrap()
    }

    pub(crate) async fn token(&self, code: &str) -> Response {
        self.post("/v1/token", &token_body(code)).await
    }

    /// Completes a legacy login, and returns its access token.
    pub(crate) async fn access_token(&self) -> String {
        let response = self.token(&self.code().await).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn profile(&self, token: &str) -> Response {
        self.backend.profile(token).await
    }

    pub(crate) async fn revoke(&self, token: &str) -> Response {
        self.backend.revoke(token).await
    }
}

/// The path of the authorization URL of a login that was started.
#[track_caller]
pub(crate) fn authorization_path(response: &Response, base_url: &str) -> String {
    assert_eq!(response.status, 200, "{response:?}");
    let url = response.json()["authorization_url"].clone();
    let path = url.as_str().unwrap().strip_prefix(base_url);
    path.unwrap().to_owned()
}
