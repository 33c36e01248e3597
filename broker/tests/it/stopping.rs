//! The real program, told to stop while a provider takes its time.

use std::sync::Arc;

use reqwest::Method;
use rocket::fairing::AdHoc;
use rocket::serde::json::Json;
use rocket::{Config, State, get, post, routes};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use crate::command::Broker;
use crate::http::world::{Answer, CALLBACK, authorize_path, back_path, parameter, token_body};
use crate::served::Served;
use crate::trouble::Place;

/// GitHub, which gives no token until it is told to.
struct SlowGitHub {
    url: String,
    /// Has a permit for each that asked for a token.
    asked: Arc<Semaphore>,
    /// A permit for each answer that it may give.
    may_answer: Arc<Semaphore>,
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
    async fn start() -> Self {
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
        let config: Config = broker::http::config("127.0.0.1:0".parse().unwrap());
        let rocket = rocket::custom(config)
            .manage(gate.clone())
            .mount("/", routes![token, user, emails])
            .attach(liftoff);
        tokio::spawn(rocket.launch());
        Self {
            url: format!("http://127.0.0.1:{}", port.await.unwrap()),
            asked: gate.asked,
            may_answer: gate.may_answer,
        }
    }

    /// A broker whose people it signs in.
    fn served(&self, place: &Place, shutdown_seconds: &str) -> Served {
        let broker = Broker::with("serve", &place.config)
            .env("BROKER_UPSTREAM__GITHUB__WEB_URL", &self.url)
            .env("BROKER_UPSTREAM__GITHUB__API_URL", &self.url)
            .env("BROKER_UPSTREAM__TIMEOUT_MS", "60000")
            .env("BROKER_SHUTDOWN_SECONDS", shutdown_seconds);
        Served::start(broker)
    }

    async fn is_asked(&self) {
        self.asked.acquire().await.unwrap().forget();
    }
}

/// A browser that comes back from the provider.
async fn coming_back(served: &Served) -> reqwest::RequestBuilder {
    let away = served.get(&authorize_path()).await;
    assert_eq!(away.status, 303, "{}", away.body);
    let cookie = &away.set_cookies()[0];
    let (cookie, _) = cookie.split_once(';').unwrap();
    let back = back_path(&away, "code=upstream-code");
    served.request(Method::GET, &back).header("Cookie", cookie)
}

/// Waits until it takes nobody in any more.
async fn is_stopping(address: &str) {
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_broker_that_is_told_to_stop_sends_home_who_is_on_the_way() {
    let (place, github) = (Place::new(), SlowGitHub::start().await);
    // Longer than this test waits for its end.
    let served = github.served(&place, "300");
    let back = tokio::spawn(Answer::to(coming_back(&served).await));
    github.is_asked().await;
    served.terminate();
    is_stopping(served.address()).await;
    github.may_answer.add_permits(1);
    let home = back.await.unwrap();
    assert_eq!(home.status, 303, "{}", home.body);
    let home = home.location().unwrap();
    assert!(home.starts_with(CALLBACK), "{home}");
    assert_eq!(served.ended(), Some(0));

    let code = parameter(home, "code").unwrap();
    let next = github.served(&place, "300");
    let token = next.post("/v1/token", &token_body(&code)).await;
    assert_eq!(
        token.status, 200,
        "what it committed stands: {}",
        token.body
    );
}

#[tokio::test]
async fn a_broker_takes_as_long_to_stop_as_its_configuration_says() {
    let mut config = broker::config::Config::load(&Place::new().config).unwrap();
    assert_eq!(config.shutdown_seconds, 25);
    config.shutdown_seconds = 77;
    config.store.url = broker::store::StoreUrl::SqliteMemory;
    let broker = broker::Broker::assemble(config, broker::Surroundings::default()).unwrap();
    let rocket = broker.rocket().ignite().await.unwrap();
    assert_eq!(rocket.config().shutdown.grace, 77);
}

#[tokio::test]
async fn a_broker_that_is_told_to_stop_waits_for_nobody_longer_than_it_is_told_to() {
    let (place, github) = (Place::new(), SlowGitHub::start().await);
    let served = github.served(&place, "1");
    let back = tokio::spawn(coming_back(&served).await.send());
    github.is_asked().await;
    served.terminate();
    assert_eq!(served.ended(), Some(0));
    assert!(back.await.unwrap().is_err(), "nobody answered");
}
