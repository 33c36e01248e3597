//! The calls of a consumer's backend: raw JSON with the credentials of one project. The
//! caller sends them, by its own client, to any broker.

use std::fmt;

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::random::challenge;
use crate::url::encode;

/// The backend of one project.
#[derive(Clone)]
pub struct Backend {
    /// The project's id.
    pub client_id: String,
    /// The project's secret.
    pub client_secret: String,
    /// The registered callback that it uses.
    pub callback: String,
}

/// A call of a broker.
#[derive(Clone)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// The path, which begins with a slash.
    pub path: &'static str,
    /// The body, if it has one.
    pub body: Option<Value>,
    /// The access token, if it is called with one.
    pub token: Option<String>,
}

/// The secrets that a consumer keeps of a legacy login.
#[derive(Clone)]
pub struct LegacyLogin {
    /// The state that comes back in the callback.
    pub state: String,
    /// The verifier that redeems its code.
    pub verifier: String,
}

impl Backend {
    /// Starts a clean login.
    pub fn start(&self, session_key: &str, provider: &str) -> Call {
        let more = json!({ "session_key": session_key, "provider": provider });
        self.post("/v1/login/session", more)
    }

    /// Reads the result of a clean login.
    pub fn result(&self, session_key: &str) -> Call {
        self.post("/v1/login/result", json!({ "session_key": session_key }))
    }

    /// Redeems a code.
    pub fn redeem(&self, code: &str, verifier: &str) -> Call {
        let more = json!({
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier,
        });
        self.post("/v1/token", more)
    }

    /// The address at which a legacy login begins, below that of the broker.
    pub fn authorize_url(&self, broker: &str, provider: &str, login: &LegacyLogin) -> String {
        let query = encode(&[
            ("client_id", self.client_id.as_str()),
            ("redirect_uri", &self.callback),
            ("provider", provider),
            ("state", &login.state),
            ("code_challenge", &challenge(&login.verifier)),
            ("code_challenge_method", "S256"),
        ]);
        format!("{broker}/authorize?{query}")
    }

    fn post(&self, path: &'static str, mut body: Value) -> Call {
        body["client_id"] = json!(self.client_id);
        body["client_secret"] = json!(self.client_secret);
        body["redirect_uri"] = json!(self.callback);
        Call {
            method: Method::POST,
            path,
            body: Some(body),
            token: None,
        }
    }
}

/// Without its secret.
impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({} at {})", self.client_id, self.callback)
    }
}

/// Without its secrets.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({} {})", self.method, self.path)
    }
}

impl Call {
    /// Reads the profile that an access token grants.
    pub fn profile(token: &str) -> Self {
        Self::with_token(Method::GET, "/v1/profile", token)
    }

    /// Revokes an access token.
    pub fn revoke(token: &str) -> Self {
        Self::with_token(Method::POST, "/v1/revoke", token)
    }

    fn with_token(method: Method, path: &'static str, token: &str) -> Self {
        Self {
            method,
            path,
            body: None,
            token: Some(token.to_owned()),
        }
    }

    /// The request to the broker with this base URL.
    pub fn request(&self, client: &Client, broker: &str) -> RequestBuilder {
        let mut request = client.request(self.method.clone(), format!("{broker}{}", self.path));
        if let Some(body) = &self.body {
            request = request.json(body);
        }
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}
