//! An app of somebody's own, which makes a mistake: it reads a result twice.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::{ClientId, ClientSecret};
use serde_json::{Value, json};
use stack::Stack;

/// The backend of that app, with one login under way.
pub(crate) struct App {
    broker: String,
    client_id: ClientId,
    client_secret: ClientSecret,
    callback: String,
    session_key: String,
}

impl App {
    /// Registers it. Its people come back to the demo's callback, which wonders.
    pub(crate) fn at(stack: &Stack) -> Self {
        let callback = format!("{}/callback", stack.urls().consumer);
        let redirect_uri = callback.parse().unwrap();
        let project = stack
            .projects()
            .register("An app of our own".parse().unwrap(), vec![redirect_uri]);
        Self {
            broker: stack.urls().broker.clone(),
            client_id: project.client_id,
            client_secret: project.client_secret,
            callback,
            session_key: URL_SAFE_NO_PAD.encode(broker::random::bytes32()),
        }
    }

    /// Starts the login; where its browser has to go.
    pub(crate) async fn starts_login(&self) -> String {
        let mut request = self.request();
        request["provider"] = json!("google");
        let answer = self.posts("/v1/login/session", &request).await;
        let answer: Value = answer.json().await.unwrap();
        answer["authorization_url"].as_str().unwrap().to_owned()
    }

    /// Reads the result; the status of the answer.
    pub(crate) async fn reads_result(&self) -> u16 {
        let answer = self.posts("/v1/login/result", &self.request()).await;
        answer.status().as_u16()
    }

    fn request(&self) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": self.session_key,
            "redirect_uri": self.callback,
        })
    }

    async fn posts(&self, path: &str, body: &Value) -> reqwest::Response {
        let url = format!("{}{path}", self.broker);
        let request = reqwest::Client::new().post(url).json(body);
        request.send().await.unwrap()
    }
}
