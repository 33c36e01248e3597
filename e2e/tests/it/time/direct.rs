//! A client that calls an imitated provider as the broker does.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use url::Url;

use crate::login::GOOGLE;
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::http::Response;
use testkit::http::{Http, Request};

/// The broker's name and secret at the imitations.
const CLIENT_ID: &str = "federated-sign-in-kit";
const CLIENT_SECRET: &str = "mock-upstream-secret";

pub(super) struct Direct {
    http: Http,
    url: String,
    callback: String,
    is_google: bool,
}

impl Direct {
    pub(super) fn to(stack: &TestStack, provider: &str) -> Self {
        Self {
            http: Http::new(),
            url: stack.provider(provider).url().to_owned(),
            callback: stack.broker_callback(provider),
            is_google: provider == GOOGLE,
        }
    }

    fn path<'a>(&self, at_google: &'a str, at_github: &'a str) -> &'a str {
        if self.is_google { at_google } else { at_github }
    }

    fn authorize_url(&self) -> String {
        let path = self.path("/o/oauth2/v2/auth", "/login/oauth/authorize");
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", CLIENT_ID)
            .append_pair("redirect_uri", &self.callback)
            .append_pair("response_type", "code")
            .append_pair("scope", self.path("openid email profile", "read:user"))
            .append_pair("state", "any")
            .finish();
        format!("{}{path}?{query}", self.url)
    }

    /// A code for the default user.
    pub(super) async fn code(&self) -> String {
        let way = Browser::new();
        let end = way
            .follow_until(&self.authorize_url(), &self.callback)
            .await;
        let url = Url::parse(&end.url).expect("a URL");
        let code = url.query_pairs().find(|(name, _)| name == "code");
        code.expect("a code").1.into_owned()
    }

    /// The tokens for `code`, unless it is refused.
    pub(super) async fn redeem(&self, code: &str) -> Option<Value> {
        let path = self.path("/token", "/login/oauth/access_token");
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT_ID),
            ("client_secret", CLIENT_SECRET),
            ("code", code),
            ("redirect_uri", &self.callback),
        ];
        let request = self.http.post(format!("{}{path}", self.url)).form(&form);
        let tokens = request
            .header("Accept", "application/json")
            .send()
            .await
            .json();
        tokens.get("access_token").is_some().then_some(tokens)
    }

    pub(super) async fn tokens(&self) -> Value {
        let code = self.code().await;
        self.redeem(&code).await.expect("a fresh code is good")
    }

    pub(super) async fn access_token(&self) -> String {
        let tokens = self.tokens().await;
        tokens["access_token"].as_str().expect("a token").to_owned()
    }

    /// The claims of an ID token.
    pub(super) async fn claims(&self) -> Value {
        let tokens = self.tokens().await;
        let id_token = tokens["id_token"].as_str().expect("an ID token");
        let claims = id_token.split('.').nth(1).expect("three parts");
        let claims = URL_SAFE_NO_PAD.decode(claims).expect("base64url");
        serde_json::from_slice(&claims).expect("JSON")
    }

    /// The user to whom `token` belongs.
    pub(super) async fn who_is(&self, token: &str) -> Response {
        let path = self.path("/v1/userinfo", "/user");
        self.agent(self.http.get(format!("{}{path}", self.url)))
            .bearer_auth(token)
            .send()
            .await
    }

    /// GitHub refuses requests without a user agent.
    fn agent(&self, request: Request) -> Request {
        request.header("User-Agent", CLIENT_ID)
    }
}
