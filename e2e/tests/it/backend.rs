//! A consumer's backend of the tests' own: raw JSON over HTTP, with the
//! credentials of one project and no type that the broker knows.

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::reply::Reply;
use crate::{browser, fresh};

/// A clean login that was started.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) session_key: String,
    pub(crate) authorization_url: String,
}

/// A legacy login that was started.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub(crate) state: String,
    pub(crate) verifier: String,
    pub(crate) url: String,
}

/// One project's backend.
#[derive(Debug, Clone)]
pub(crate) struct Backend {
    pub(crate) http: Client,
    pub(crate) broker: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    pub(crate) callback: String,
}

impl Backend {
    /// The backend of `project`, as the control address describes it.
    pub(crate) fn of(broker: &str, project: &Value) -> Self {
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        Self {
            http: browser::client(),
            broker: broker.to_owned(),
            client_id: text(&project["client_id"]),
            client_secret: text(&project["client_secret"]),
            callback: text(&project["redirect_uris"][0]),
        }
    }

    /// Starts a clean login.
    pub(crate) async fn start_login(&self, provider: &str) -> Login {
        let session_key = fresh::secret();
        let reply = self.start_with(&session_key, provider).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let answer = reply.json();
        Login {
            session_key,
            authorization_url: answer["authorization_url"]
                .as_str()
                .expect("a URL")
                .to_owned(),
        }
    }

    pub(crate) async fn start_with(&self, session_key: &str, provider: &str) -> Reply {
        self.post(
            "/v1/login/session",
            &self.session_request(session_key, provider),
        )
        .await
    }

    pub(crate) fn session_request(&self, session_key: &str, provider: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": session_key,
            "provider": provider,
            "redirect_uri": self.callback,
        })
    }

    /// Reads the result of the login that `session_key` started.
    pub(crate) async fn result(&self, session_key: &str) -> Reply {
        self.post("/v1/login/result", &self.result_request(session_key))
            .await
    }

    pub(crate) fn result_request(&self, session_key: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": session_key,
            "redirect_uri": self.callback,
        })
    }

    /// Starts a legacy login, which the broker hears of from the browser.
    pub(crate) fn start_authorization(&self, provider: &str) -> Transaction {
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
        Transaction {
            state,
            verifier,
            url,
        }
    }

    pub(crate) fn authorize_url(&self, parameters: &[(&str, &str)]) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        format!("{}/authorize?{query}", self.broker)
    }

    /// Redeems `code` with what `transaction` kept.
    pub(crate) async fn redeem(&self, transaction: &Transaction, code: &str) -> Reply {
        self.post(
            "/v1/token",
            &self.token_request(&transaction.verifier, code),
        )
        .await
    }

    pub(crate) fn token_request(&self, verifier: &str, code: &str) -> Value {
        json!({
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code": code,
            "redirect_uri": self.callback,
            "code_verifier": verifier,
        })
    }

    /// Redeems `code` and returns the access token.
    pub(crate) async fn token(&self, transaction: &Transaction, code: &str) -> String {
        let reply = self.redeem(transaction, code).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()["access_token"]
            .as_str()
            .expect("a token")
            .to_owned()
    }

    pub(crate) async fn profile(&self, token: &str) -> Reply {
        send(self.request(Method::GET, "/v1/profile").bearer_auth(token)).await
    }

    pub(crate) async fn revoke(&self, token: &str) -> Reply {
        send(self.request(Method::POST, "/v1/revoke").bearer_auth(token)).await
    }

    /// What the broker says of its providers.
    pub(crate) async fn providers(&self) -> Reply {
        send(self.request(Method::GET, "/api/providers")).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::POST, path).json(body)).await
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.broker))
    }
}

/// Sends `request` and reads the answer to its end.
pub(crate) async fn send(request: RequestBuilder) -> Reply {
    let (client, request) = request.build_split();
    let request = request.expect("a request");
    let method = request.method().clone();
    let response = client.execute(request).await.expect("an answer");
    Reply::read(&method, response)
        .await
        .expect("a whole answer")
}
