//! A consumer's backend: raw JSON over HTTP with the credentials of one project, and
//! no type that the broker knows.

use agent::backend::Call;
use agent::url::encode;
use reqwest::Method;
use serde_json::Value;

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
        self.call(&self.project().start(session_key, provider))
            .await
    }

    /// The body that starts a clean login.
    pub fn session_body(&self, session_key: &str, provider: &str) -> Value {
        body(self.project().start(session_key, provider))
    }

    /// Reads the result of the login with this session key.
    pub async fn result(&self, session_key: &str) -> Response {
        self.call(&self.project().result(session_key)).await
    }

    /// The body that reads a result.
    pub fn result_body(&self, session_key: &str) -> Value {
        body(self.project().result(session_key))
    }

    /// Starts a legacy login; the broker learns of it from the browser.
    pub fn start_authorization(&self, provider: &str) -> LegacyLogin {
        let secrets = agent::backend::LegacyLogin {
            state: fresh::secret(),
            verifier: fresh::secret(),
        };
        LegacyLogin {
            url: self
                .project()
                .authorize_url(self.broker(), provider, &secrets),
            state: secrets.state,
            verifier: secrets.verifier,
        }
    }

    /// The address of `/authorize` with these parameters.
    pub fn authorize_url(&self, parameters: &[(&str, &str)]) -> String {
        format!("{}/authorize?{}", self.broker(), encode(parameters))
    }

    /// Redeems `code` with the verifier of `transaction`.
    pub async fn redeem(&self, transaction: &LegacyLogin, code: &str) -> Response {
        let call = self.project().redeem(code, &transaction.verifier);
        self.call(&call).await
    }

    /// The body that redeems a code.
    pub fn token_body(&self, verifier: &str, code: &str) -> Value {
        body(self.project().redeem(code, verifier))
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
        self.call(&Call::profile(token)).await
    }

    /// Revokes an access token.
    pub async fn revoke(&self, token: &str) -> Response {
        self.call(&Call::revoke(token)).await
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

    async fn call(&self, call: &Call) -> Response {
        let mut request = self.http.request(call.method.clone(), call.path);
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        if let Some(token) = &call.token {
            request = request.bearer_auth(token);
        }
        request.send().await
    }

    /// The project, for calls that are sent by other means.
    pub fn project(&self) -> agent::backend::Backend {
        agent::backend::Backend {
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone(),
            callback: self.callback.clone(),
        }
    }
}

fn body(call: Call) -> Value {
    call.body.expect("the calls of a backend have one")
}
