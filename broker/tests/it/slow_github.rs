//! A provider that takes its time, for the real program.

use std::sync::Arc;

use reqwest::Method;
use rocket::config::TlsConfig;
use rocket::fairing::AdHoc;
use rocket::serde::json::Json;
use rocket::{Config, State, get, post, routes};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use crate::command::BrokerCommand;
use crate::test_broker::{authorize_path, back_path};
use testkit::http::Request;

use crate::broker_process::BrokerProcess;
use crate::trouble::Place;

/// GitHub, which gives no token until it is told to.
pub(crate) struct SlowGitHub {
    url: String,
    /// Has a permit for each that asked for a token.
    asked: Arc<Semaphore>,
    /// A permit for each answer that it may give.
    pub(crate) may_answer: Arc<Semaphore>,
}

#[derive(Clone)]
struct Gate {
    asked: Arc<Semaphore>,
    may_answer: Arc<Semaphore>,
}

#[post("/login/oauth/access_token")]
async fn token(gate: &State<Gate>) -> Json<Value> {
    gate.asked.add_permits(1);
    gate.may_answer.acquire().await.unwrap().forget();
    Json(json!({ "access_token": "gho_token", "token_type": "bearer", "scope": "" }))
}

#[get("/user")]
fn user() -> Json<Value> {
    Json(json!({ "id": 583_231, "login": "ada", "name": "Ada Lovelace", "avatar_url": null }))
}

#[get("/user/emails")]
fn emails() -> Json<Value> {
    Json(json!([]))
}

impl SlowGitHub {
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// The same, which encrypts by this.
    pub(crate) async fn start_with(tls: Option<TlsConfig>) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let gate = Gate {
            asked: Arc::new(Semaphore::new(0)),
            may_answer: Arc::new(Semaphore::new(0)),
        };
        let (sender, port) = oneshot::channel();
        let sender = std::sync::Mutex::new(Some(sender));
        let liftoff = AdHoc::on_liftoff("port", move |rocket| {
            let sender = sender.lock().unwrap().take().unwrap();
            sender.send(rocket.config().port).unwrap();
            Box::pin(async {})
        });
        let config = Config {
            tls,
            ..broker::http::config("127.0.0.1:0".parse().unwrap())
        };
        let rocket = rocket::custom(config)
            .manage(gate.clone())
            .mount("/", routes![token, user, emails])
            .attach(liftoff);
        tokio::spawn(rocket.launch());
        Self {
            url: format!("{scheme}://127.0.0.1:{}", port.await.unwrap()),
            asked: gate.asked,
            may_answer: gate.may_answer,
        }
    }

    /// A broker whose people it signs in.
    pub(crate) fn broker(&self, place: &Place) -> BrokerCommand {
        BrokerCommand::with("serve", &place.config)
            .env("BROKER_UPSTREAM__GITHUB__WEB_URL", &self.url)
            .env("BROKER_UPSTREAM__GITHUB__API_URL", &self.url)
            .env("BROKER_UPSTREAM__TIMEOUT_MS", "60000")
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) async fn is_asked(&self) {
        self.asked.acquire().await.unwrap().forget();
    }

    /// Checks that each request for a token has been waited for.
    #[track_caller]
    pub(crate) fn is_asked_no_more(&self) {
        assert_eq!(self.asked.available_permits(), 0);
    }
}

/// A browser that comes back from the provider with this query.
pub(crate) async fn coming_back(broker: &BrokerProcess, query: &str) -> Request {
    let away = broker.get(&authorize_path()).await;
    assert_eq!(away.status, 303, "{away:?}");
    let cookie = &away.set_cookies()[0];
    let (cookie, _) = cookie.split_once(';').unwrap();
    let back = back_path(&away, query);
    broker.request(Method::GET, &back).header("Cookie", cookie)
}
