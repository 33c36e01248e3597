//! A broker on a free port, an imitation of GitHub, a clock, and browsers.

mod answer;
mod browser;
mod requests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use answer::Answer;
use broker::audit::{AuditLog, Event, Party};
use broker::clock::Clock;
use broker::config::{Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret};
use broker::projects::{Project, Projects};
use broker::{Broker, Dependencies};
pub(crate) use browser::{Browser, back_path, sign_in};
use contract::Digest;
pub(crate) use requests::{
    authorize_path, authorize_query, authorize_with, key, parameter, result_body, session_body,
    state, token_body, verifier, with,
};
use reqwest::{Method, RequestBuilder};
use rocket::fairing::AdHoc;
use rocket::futures::future::join_all;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// The base URL that every world is configured with; it listens elsewhere.
pub(crate) const BASE: &str = "http://127.0.0.1:8000";

pub(crate) const ADA_SECRET: &str = "LeakMark-Ada-QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
pub(crate) const BOB_SECRET: &str = "LeakMark-Bob-QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
pub(crate) const CALLBACK: &str = "https://app.example/cb";
pub(crate) const LOCAL_CALLBACK: &str = "http://localhost:3000/cb";
pub(crate) const BOB_CALLBACK: &str = "https://bob.example/cb";

pub(crate) struct World {
    port: u16,
    pub(crate) clock: Clock,
    pub(crate) projects: Projects,
    client: reqwest::Client,
    events: Arc<Mutex<Vec<Event>>>,
    /// Method and path of each route, as the audit log names them.
    pub(crate) routes: Vec<(String, String)>,
    pub(crate) github: MockServer,
    shutdown: rocket::Shutdown,
}

impl Drop for World {
    /// Whatever the test was about: each refusal in it had a rule.
    fn drop(&mut self) {
        self.shutdown.clone().notify();
        let is_refusal = |event: &&Event| event.status >= Some(400) && event.to == Party::Broker;
        let events = self.events();
        let nameless = events
            .iter()
            .filter(is_refusal)
            .find(|it| it.rule.is_none());
        if !std::thread::panicking() {
            assert!(nameless.is_none(), "{nameless:?}");
        }
    }
}

pub(crate) fn project(name: &str, secret: &str, callbacks: &[&str]) -> Project {
    Project::new(
        name.parse().unwrap(),
        format!("prj_{name}").parse().unwrap(),
        Digest::of(secret.as_bytes()),
        callbacks.iter().map(|uri| uri.parse().unwrap()).collect(),
    )
}

/// Google, where nobody answers.
pub(crate) fn unreachable_google() -> GoogleConfig {
    GoogleConfig {
        client_id: "google-client".to_owned(),
        client_secret: UpstreamSecret::new("google-secret"),
        enabled: true,
        // Port 1 of loopback: closed on any sane machine.
        issuer: "http://127.0.0.1:1".parse().unwrap(),
    }
}

fn github_at(server: &MockServer) -> GitHubConfig {
    GitHubConfig {
        client_id: "github-client".to_owned(),
        client_secret: UpstreamSecret::new("GitHubSecret-k2mW9pL4tR8sB3nF6hJ1dG5yC0Qx"),
        enabled: true,
        web_url: server.uri().parse().unwrap(),
        api_url: server.uri().parse().unwrap(),
    }
}

pub(crate) const UPSTREAM_TOKEN: &str = "gho_UpstreamToken7vK2mW9pL4tR8sB3nF6hJ1d";

/// A GitHub where Ada signs in whatever the code.
async fn imitate_github() -> MockServer {
    let server = MockServer::start().await;
    let answers = [
        (
            "POST",
            "/login/oauth/access_token",
            json!({ "access_token": UPSTREAM_TOKEN, "token_type": "bearer", "scope": "" }),
        ),
        (
            "GET",
            "/user",
            json!({ "id": 583_231, "login": "ada", "name": "Ada Lovelace", "avatar_url": null }),
        ),
        (
            "GET",
            "/user/emails",
            json!([{ "email": "ada@mail.example", "primary": true, "verified": true }]),
        ),
    ];
    for (verb, at, body) in answers {
        Mock::given(method(verb))
            .and(path(at))
            .respond_with(ResponseTemplate::new(200).set_body_json(body))
            .mount(&server)
            .await;
    }
    server
}

/// The profile that the imitation's Ada has, by the wire.
pub(crate) fn adas_profile() -> Value {
    serde_json::to_value(crate::people::ada()).unwrap()
}

impl World {
    /// A broker in memory with two projects and both providers.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// The same, configured otherwise.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_by(Clock::system(), change).await
    }

    /// The same, living by this clock.
    pub(crate) async fn start_by(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let dependencies = Dependencies {
            clock,
            ..Dependencies::default()
        };
        Self::start_in(dependencies, change).await
    }

    /// The same, handed this besides projects and audit.
    pub(crate) async fn start_in(
        dependencies: Dependencies,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        testkit::leak_check::watch_log();
        let github = imitate_github().await;
        let mut config = Config {
            upstream: UpstreamConfig {
                timeout_ms: 5_000,
                google: Some(unreachable_google()),
                github: Some(github_at(&github)),
                ..UpstreamConfig::default()
            },
            projects: vec![
                project("ada", ADA_SECRET, &[CALLBACK, LOCAL_CALLBACK]),
                project("bob", BOB_SECRET, &[BOB_CALLBACK]),
            ],
            ..Config::in_process(BASE.parse().unwrap())
        };
        change(&mut config);
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let audit = AuditLog::new().subscribed(Arc::new(move |event: &Event| {
            heard.lock().unwrap().push(event.clone());
        }));
        let projects = Projects::default();
        let clock = dependencies.clock.clone();
        let dependencies = Dependencies {
            projects: projects.clone(),
            audit,
            ..dependencies
        };
        let broker = Broker::assemble(config, dependencies).unwrap();
        let (sender, port) = tokio::sync::oneshot::channel();
        let sender = Mutex::new(Some(sender));
        let rocket = broker
            .rocket()
            .attach(AdHoc::on_liftoff("port", move |rocket| {
                let sender = sender.lock().unwrap().take().unwrap();
                sender.send(rocket.config().port).unwrap();
                Box::pin(async {})
            }))
            .ignite()
            .await
            .unwrap();
        let shutdown = rocket.shutdown();
        let routes = rocket.routes().filter(|route| is_own(route));
        let routes = routes.map(named).collect();
        tokio::spawn(rocket.launch());
        Self {
            routes,
            port: port.await.unwrap(),
            clock,
            projects,
            client: reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .build()
                .unwrap(),
            events,
            github,
            shutdown,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// So many milliseconds pass, besides those that a busy machine takes: a test
    /// keeps ten seconds away from the end it is about. The store's own tests
    /// stand on the millisecond.
    pub(crate) fn pass_ms(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    pub(crate) fn request(&self, verb: Method, path: &str) -> RequestBuilder {
        self.client
            .request(verb, format!("http://127.0.0.1:{}{path}", self.port))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::to(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::to(self.request(Method::POST, path).json(body)).await
    }

    /// The rule that the last request was refused by, whatever it was.
    pub(crate) fn last_event_rule(&self) -> Option<&'static str> {
        let last = self.every_event().pop().unwrap();
        last.rule.map(contract::Rule::id)
    }

    /// The rule that the last operation was refused by.
    pub(crate) fn last_rule(&self) -> Option<&'static str> {
        let last = self.events().pop().unwrap();
        last.rule.map(contract::Rule::id)
    }

    /// The audit events, without the redirects of our own that end a fragment: they
    /// know nothing of any login, and have tests of their own.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = self.every_event();
        events.retain(|event| event.operation != "GET /return");
        events
    }

    /// Every audit event.
    pub(crate) fn every_event(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Starts Ada's login with the key of this number; the path of its URL.
    pub(crate) async fn session(&self, key: u8) -> String {
        self.session_with(&session_body(key)).await
    }

    pub(crate) async fn session_with(&self, body: &Value) -> String {
        let answer = self.post("/v1/login/session", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let url = answer.json()["authorization_url"].clone();
        url.as_str().unwrap().strip_prefix(BASE).unwrap().to_owned()
    }

    pub(crate) async fn result(&self, key: u8) -> Answer {
        self.post("/v1/login/result", &result_body(key)).await
    }

    /// A legacy login, up to the code in the callback.
    pub(crate) async fn code(&self) -> String {
        let browser = Browser::of(self);
        let away = browser.get(&authorize_path()).await;
        let home = browser.come_back(&away, "code=upstream-code").await;
        assert_eq!(home.status, 303, "{}", home.body);
        parameter(home.location().unwrap(), "code").unwrap()
    }

    pub(crate) async fn token(&self, code: &str) -> Answer {
        self.post("/v1/token", &token_body(code)).await
    }

    /// A legacy login, up to the access token.
    pub(crate) async fn access_token(&self) -> String {
        let answer = self.token(&self.code().await).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn profile(&self, token: &str) -> Answer {
        self.bearing(Method::GET, "/v1/profile", token).await
    }

    pub(crate) async fn revoke(&self, token: &str) -> Answer {
        self.bearing(Method::POST, "/v1/revoke", token).await
    }

    async fn bearing(&self, verb: Method, path: &str, token: &str) -> Answer {
        Answer::to(self.request(verb, path).bearer_auth(token)).await
    }

    /// How many calls the provider got.
    pub(crate) async fn calls_upstream(&self) -> usize {
        self.github.received_requests().await.unwrap().len()
    }
}

/// Not one of those that refuse what no route is for.
fn is_own(route: &rocket::Route) -> bool {
    route
        .name
        .as_deref()
        .is_some_and(|name| name != "wrong method")
}

fn named(route: &rocket::Route) -> (String, String) {
    let path = route.uri.to_string().replace('<', "{").replace('>', "}");
    (route.method.to_string(), path)
}

/// Does the same so many times at once.
pub(crate) async fn all<F: Future<Output = Answer>>(
    times: usize,
    mut call: impl FnMut() -> F,
) -> Vec<Answer> {
    join_all((0..times).map(|_| call())).await
}
