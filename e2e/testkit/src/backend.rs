//! A consumer's backend: raw JSON over HTTP with the credentials of one project, and
//! no type that the broker knows.

use reqwest::Method;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::fresh;
use crate::http::{Http, Request, Response};

/// The backend of one project.
#[derive(Debug, Clone)]
pub struct Backend {
    /// Sends to the broker.
    pub http: Http,
    /// The project's id.
    pub client_id: String,
    /// The project's secret.
    pub client_secret: String,
    /// The registered callback that it uses.
    pub callback: String,
}

/// A clean login that was started.
#[derive(Debug, Clone)]
pub struct CleanLogin {
    /// The key that reads its result.
    pub session_key: String,
    /// The address for the browser.
    pub authorization_url: String,
}

/// A legacy login that was started.
#[derive(Debug, Clone)]
pub struct LegacyLogin {
    /// The state that comes back in the callback.
    pub state: String,
    /// The verifier that redeems its code.
    pub verifier: String,
    /// The address for the browser.
    pub url: String,
}

impl Backend {
    /// The backend of a project at the broker with this base URL.
    pub fn new(broker: &str, client_id: &str, client_secret: &str, callback: &str) -> Self {
        Self {
            http: Http::at(broker),
            client_id: client_id.to_owned(),
            client_secret: client_secret.to_owned(),
            callback: callback.to_owned(),
        }
    }

    /// The backend of a project that the stack's control API describes.
    ///
    /// # Panics
    ///
    /// If the description is incomplete.
    pub fn of(broker: &str, project: &Value) -> Self {
        let text = |value: &'_ Value| value.as_str().expect("a string").to_owned();
        let [id, secret] = ["client_id", "client_secret"].map(|name| text(&project[name]));
        Self::new(broker, &id, &secret, &text(&project["redirect_uris"][0]))
    }

    /// The broker's base URL.
    pub fn broker(&self) -> &str {
        self.http.base_url()
    }

    /// Starts a clean login.
    ///
    /// # Panics
    ///
    /// If the broker refuses it.
    pub async fn start_login(&self, provider: &str) -> CleanLogin {
        let session_key = fresh::secret();
        let response = self.start_with_key(&session_key, provider).await;
        assert_eq!(response.status, 200, "{response:?}");
        let url = &response.json()["authorization_url"];
        CleanLogin {
            session_key,
            authorization_url: url.as_str().expect("a URL").to_owned(),
        }
    }

    /// Starts a clean login with this session key.
    pub async fn start_with_key(&self, session_key: &str, provider: &str) -> Response {
        let body = self.session_body(session_key, provider);
        self.post("/v1/login/session", &body).await
    }

    /// The body that starts a clean login.
    pub fn session_body(&self, session_key: &str, provider: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": session_key,
            "provider": provider,
            "redirect_uri": self.callback,
        })
    }

    /// Reads the result of the login with this session key.
    pub async fn result(&self, session_key: &str) -> Response {
        self.post("/v1/login/result", &self.result_body(session_key))
            .await
    }

    /// The body that reads a result.
    pub fn result_body(&self, session_key: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": session_key,
            "redirect_uri": self.callback,
        })
    }

    /// Starts a legacy login; the broker learns of it from the browser.
    pub fn start_authorization(&self, provider: &str) -> LegacyLogin {
        let (state, verifier) = (fresh::secret(), fresh::secret());
        let challenge = fresh::challenge(&verifier);
        let url = self.authorize_url(&[
            ("client_id", &self.client_id),
            ("redirect_uri", &self.callback),
            ("provider", provider),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        LegacyLogin {
            state,
            verifier,
            url,
        }
    }

    /// The address of `/authorize` with these parameters.
    pub fn authorize_url(&self, parameters: &[(&str, &str)]) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        format!("{}/authorize?{query}", self.broker())
    }

    /// Redeems `code` with the verifier of `transaction`.
    pub async fn redeem(&self, transaction: &LegacyLogin, code: &str) -> Response {
        let body = self.token_body(&transaction.verifier, code);
        self.post("/v1/token", &body).await
    }

    /// The body that redeems a code.
    pub fn token_body(&self, verifier: &str, code: &str) -> Value {
        json!({
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code": code,
            "redirect_uri": self.callback,
            "code_verifier": verifier,
        })
    }

    /// Redeems `code`, and returns the access token.
    ///
    /// # Panics
    ///
    /// If the broker refuses it.
    pub async fn token(&self, transaction: &LegacyLogin, code: &str) -> String {
        let response = self.redeem(transaction, code).await;
        assert_eq!(response.status, 200, "{response:?}");
        let token = &response.json()["access_token"];
        token.as_str().expect("a token").to_owned()
    }

    /// Reads the profile that an access token grants.
    pub async fn profile(&self, token: &str) -> Response {
        self.http.get("/v1/profile").bearer_auth(token).send().await
    }

    /// Revokes an access token.
    pub async fn revoke(&self, token: &str) -> Response {
        self.http.post("/v1/revoke").bearer_auth(token).send().await
    }

    /// Reads the list of providers.
    pub async fn providers(&self) -> Response {
        self.http.get("/api/providers").send().await
    }

    /// Posts a body of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.http.post(path).json(body).send().await
    }

    /// A request to the broker.
    pub fn request(&self, method: Method, path: &str) -> Request {
        self.http.request(method, path)
    }
}
