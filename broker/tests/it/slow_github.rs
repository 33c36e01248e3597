//! A provider that waits before it responds.

use std::sync::Arc;

use reqwest::Method;
use rocket::config::TlsConfig;
use rocket::serde::json::Json;
use rocket::{Config, State, get, post, routes};
use serde_json::{Value, json};
use testkit::http::Request;
use testkit::server::TestServer;
use tokio::sync::Semaphore;

use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::installation::Installation;
use crate::test_broker::{authorize_path, back_path};

/// A GitHub that issues no token without a permit of the test.
pub(crate) struct SlowGitHub {
    url: String,
    /// A permit for each token request that has arrived.
    requests: Arc<Semaphore>,
    /// A permit for each token that it may issue.
    pub(crate) permits: Arc<Semaphore>,
    _server: TestServer,
}

#[derive(Clone)]
struct Semaphores {
    requests: Arc<Semaphore>,
    permits: Arc<Semaphore>,
}

#[post("/login/oauth/access_token")]
async fn token(semaphores: &State<Semaphores>) -> Json<Value> {
    semaphores.requests.add_permits(1);
    semaphores.permits.acquire().await.unwrap().forget();
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

    /// Starts one with or without TLS.
    pub(crate) async fn start_with(tls: Option<TlsConfig>) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let semaphores = Semaphores {
            requests: Arc::new(Semaphore::new(0)),
            permits: Arc::new(Semaphore::new(0)),
        };
        let config = Config {
            tls,
            ..broker::http::config("127.0.0.1:0".parse().unwrap())
        };
        let rocket = rocket::custom(config)
            .manage(semaphores.clone())
            .mount("/", routes![token, user, emails]);
        let server = TestServer::launch(rocket).await;
        Self {
            url: format!("{scheme}://{}", server.address),
            requests: semaphores.requests,
            permits: semaphores.permits,
            _server: server,
        }
    }

    /// The command of a broker whose users it signs in.
    pub(crate) fn broker(&self, installation: &Installation) -> BrokerCommand {
        BrokerCommand::with("serve", &installation.config)
            .env("BROKER_UPSTREAM__GITHUB__WEB_URL", &self.url)
            .env("BROKER_UPSTREAM__GITHUB__API_URL", &self.url)
            .env("BROKER_UPSTREAM__TIMEOUT_MS", "60000")
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits for a token request.
    pub(crate) async fn wait_for_request(&self) {
        self.requests.acquire().await.unwrap().forget();
    }

    /// Asserts that each token request was waited for.
    #[track_caller]
    pub(crate) fn assert_no_more_requests(&self) {
        assert_eq!(self.requests.available_permits(), 0);
    }
}

/// The request of a browser that returns from the provider with this query.
pub(crate) async fn coming_back(broker: &BrokerProcess, query: &str) -> Request {
    let redirect = broker.get(&authorize_path()).await;
    assert_eq!(redirect.status, 303, "{redirect:?}");
    let cookie = &redirect.set_cookies()[0];
    let (cookie, _) = cookie.split_once(';').unwrap();
    let back = back_path(&redirect, query);
    broker.request(Method::GET, &back).header("Cookie", cookie)
}
