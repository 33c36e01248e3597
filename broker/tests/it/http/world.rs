//! A broker on a free port, an imitation of GitHub, a clock, and browsers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use broker::clock::Clock;
use broker::config::{Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret};
use broker::ledger::{Event, Ledger, Party};
use broker::projects::{Project, Projects};
use broker::{Broker, Surroundings};
use contract::Digest;
use leak_sentinel::MARK;
use reqwest::{Method, RequestBuilder, header::HeaderMap};
use rocket::fairing::AdHoc;
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

/// What a page of ours may load, and who may frame it.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(crate) struct World {
    port: u16,
    pub(crate) clock: Clock,
    pub(crate) projects: Projects,
    client: reqwest::Client,
    events: Arc<Mutex<Vec<Event>>>,
    /// Method and path of each route, as the ledger names them.
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
        name.to_owned(),
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
            ..Config::within_a_program(BASE.parse().unwrap())
        };
        change(&mut config);
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let ledger = Ledger::new().subscribed(Arc::new(move |event: &Event| {
            heard.lock().unwrap().push(event.clone());
        }));
        let projects = Projects::default();
        let surroundings = Surroundings {
            clock: clock.clone(),
            projects: projects.clone(),
            ledger,
            ..Surroundings::default()
        };
        let broker = Broker::assemble(config, surroundings).unwrap();
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

    /// The rule that the last operation was refused by.
    pub(crate) fn last_rule(&self) -> Option<&'static str> {
        let events = self.events.lock().unwrap();
        events.last().unwrap().rule.map(contract::Rule::id)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
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

/// 43 characters, the same for the same number.
pub(crate) fn key(n: u8) -> String {
    marked(&Digest::derive("session key", &[n]))
}

pub(crate) fn verifier() -> String {
    marked(&Digest::of(b"verifier"))
}

pub(crate) fn state() -> String {
    marked(&Digest::of(b"state"))
}

/// A secret as the sentinel knows it, cut off as it may be.
fn marked(drawn: &Digest) -> String {
    format!("{MARK}{}", &drawn.to_text()[MARK.len()..])
}

pub(crate) fn session_body(n: u8) -> Value {
    json!({
        "client_id": "prj_ada",
        "client_secret": ADA_SECRET,
        "session_key": key(n),
        "provider": "github",
        "redirect_uri": CALLBACK,
    })
}

pub(crate) fn result_body(n: u8) -> Value {
    json!({
        "client_id": "prj_ada",
        "client_secret": ADA_SECRET,
        "session_key": key(n),
        "redirect_uri": CALLBACK,
    })
}

pub(crate) fn token_body(code: &str) -> Value {
    json!({
        "grant_type": "authorization_code",
        "client_id": "prj_ada",
        "client_secret": ADA_SECRET,
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": verifier(),
    })
}

/// `body` with one field set.
pub(crate) fn with(mut body: Value, field: &str, value: impl Into<Value>) -> Value {
    body[field] = value.into();
    body
}

pub(crate) fn authorize_query() -> Vec<(&'static str, String)> {
    let verifier: contract::CodeVerifier = verifier().parse().unwrap();
    vec![
        ("client_id", "prj_ada".to_owned()),
        ("redirect_uri", CALLBACK.to_owned()),
        ("provider", "github".to_owned()),
        ("state", state()),
        ("code_challenge", verifier.challenge().as_str().to_owned()),
        ("code_challenge_method", "S256".to_owned()),
    ]
}

pub(crate) fn authorize_with(query: &[(&str, String)]) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    format!("/authorize?{query}")
}

pub(crate) fn authorize_path() -> String {
    authorize_with(&authorize_query())
}

/// One parameter of a URL's query.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    url::Url::parse(url)
        .unwrap()
        .query_pairs()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn to(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.header("location")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn set_cookies(&self) -> Vec<String> {
        let all = self.headers.get_all("set-cookie").iter();
        all.map(|value| value.to_str().unwrap().to_owned())
            .collect()
    }

    #[track_caller]
    pub(crate) fn is(&self, status: u16, body: &Value) {
        assert_eq!((self.status, self.json()), (status, body.clone()));
        assert_eq!(self.header("content-type"), Some("application/json"));
    }

    /// Checks everything that a refusal by the API must be.
    #[track_caller]
    pub(crate) fn is_refused(&self, status: u16) {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        let members: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "message"]);
        assert_eq!(body["error"], "request_failed");
        assert!(body["message"].as_str().unwrap().ends_with('.'));
        self.is_complete();
        assert_eq!(self.location(), None);
        assert_eq!(self.set_cookies(), Vec::<String>::new());
    }

    /// Checks everything that a refusal on a page must be.
    #[track_caller]
    pub(crate) fn is_refusal_page(&self, status: u16, rule: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(
            self.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert!(
            self.body.contains(&format!("data-rule=\"{rule}\"")),
            "{}",
            self.body
        );
        let id = self.header("x-request-id").unwrap();
        assert!(self.body.contains(id), "the page names its request");
        self.is_complete();
        assert_eq!(self.location(), None);
        assert_eq!(self.set_cookies(), Vec::<String>::new());
    }

    /// Checks the headers that every answer carries, but for the page that asks.
    #[track_caller]
    pub(crate) fn is_complete(&self) {
        self.is_complete_but_for_its_policies();
        assert_eq!(self.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(self.header("content-security-policy"), Some(POLICY));
    }

    /// Checks the headers that every answer carries.
    #[track_caller]
    pub(crate) fn is_complete_but_for_its_policies(&self) {
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        let id = self.header("x-request-id").unwrap();
        assert_eq!(id.len(), 16, "{id}");
        assert_eq!(self.header("server"), None);
        let mut names = self.headers.keys().map(reqwest::header::HeaderName::as_str);
        assert!(!names.any(|name| name.starts_with("access-control-")));
        // 307 and 308 would have a browser repeat a body at the new address.
        assert!(self.status == 303 || self.status / 100 != 3, "{self:?}");
        // On a redirect it would sever a popup from its opener.
        let is_page = self.header("content-type") == Some("text/html; charset=utf-8");
        let opener = self.header("cross-origin-opener-policy");
        assert_eq!(opener, is_page.then_some("same-origin"));
    }

    /// Checks that the browser is sent exactly there.
    #[track_caller]
    pub(crate) fn goes_to(&self, location: &str) {
        assert_eq!((self.status, self.location()), (303, Some(location)));
        assert_eq!(self.body, "");
        self.is_complete();
    }
}

/// A person's browser: it keeps cookies and says how it navigates.
pub(crate) struct Browser<'w> {
    world: &'w World,
    cookies: Mutex<BTreeMap<String, String>>,
    headers: Vec<(&'static str, &'static str)>,
}

impl<'w> Browser<'w> {
    /// On a page of the consumer at `CALLBACK`.
    pub(crate) fn of(world: &'w World) -> Self {
        Self::at(world, "https://app.example/")
    }

    /// On a page of the consumer at `LOCAL_CALLBACK`.
    pub(crate) fn at_local(world: &'w World) -> Self {
        Self::at(world, "http://localhost:3000/")
    }

    /// On a page, from which it navigates.
    pub(crate) fn at(world: &'w World, page: &'static str) -> Self {
        Self::dressed(
            world,
            &[
                ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "navigate"),
                ("Sec-Fetch-Dest", "document"),
                ("Referer", page),
            ],
        )
    }

    /// With no headers but these.
    pub(crate) fn dressed(world: &'w World, headers: &[(&'static str, &'static str)]) -> Self {
        Self {
            world,
            cookies: Mutex::default(),
            headers: headers.to_vec(),
        }
    }

    /// curl with a cookie jar.
    pub(crate) fn plain(world: &'w World) -> Self {
        Self::dressed(world, &[])
    }

    /// The same browser with one more header.
    pub(crate) fn saying(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &self.headers).await
    }

    /// Presses a button on our own page.
    pub(crate) async fn press(&self, path: &str) -> Answer {
        self.press_at(path, &[("Origin", BASE), ("Sec-Fetch-Site", "same-origin")])
            .await
    }

    /// Presses a button that sends these headers.
    pub(crate) async fn press_at(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask(Method::POST, path, headers).await
    }

    async fn ask(&self, verb: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.world.request(verb, path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let cookies = self.cookies();
        if !cookies.is_empty() {
            let pairs: Vec<_> = cookies.iter().map(|(n, v)| format!("{n}={v}")).collect();
            request = request.header("Cookie", pairs.join("; "));
        }
        let answer = Answer::to(request).await;
        self.keep(&answer);
        answer
    }

    pub(crate) fn cookies(&self) -> BTreeMap<String, String> {
        self.cookies.lock().unwrap().clone()
    }

    pub(crate) fn forget_cookies(&self) {
        self.cookies.lock().unwrap().clear();
    }

    pub(crate) fn plant(&self, name: &str, value: &str) {
        let mut cookies = self.cookies.lock().unwrap();
        cookies.insert(name.to_owned(), value.to_owned());
    }

    fn keep(&self, answer: &Answer) {
        let mut cookies = self.cookies.lock().unwrap();
        for line in answer.set_cookies() {
            let cookie = cookie::Cookie::parse(line).unwrap();
            if cookie
                .max_age()
                .is_some_and(cookie::time::Duration::is_zero)
            {
                cookies.remove(cookie.name());
            } else {
                cookies.insert(cookie.name().to_owned(), cookie.value().to_owned());
            }
        }
    }

    /// Comes back from GitHub, to which `away` sent it, with this query.
    pub(crate) async fn come_back(&self, away: &Answer, query: &str) -> Answer {
        self.get(&back_path(away, query)).await
    }
}

/// The provider's callback for the trip that `away` began.
pub(crate) fn back_path(away: &Answer, query: &str) -> String {
    let url = away.location().unwrap();
    let state = parameter(url, "state").unwrap();
    format!("/callback/github?{query}&state={state}")
}

/// Ada signs in through the clean flow, with this key, up to her way home.
pub(crate) async fn sign_in(world: &World, key: u8) -> Answer {
    let path = world.session(key).await;
    let browser = Browser::of(world);
    let away = browser.get(&path).await;
    browser.come_back(&away, "code=upstream-code").await
}

/// Does the same so many times at once.
pub(crate) async fn all<F: Future<Output = Answer>>(
    times: usize,
    mut call: impl FnMut() -> F,
) -> Vec<Answer> {
    let mut calls: Vec<_> = (0..times).map(|_| Box::pin(call())).collect();
    let mut answers = Vec::new();
    std::future::poll_fn(|context| {
        calls.retain_mut(|call| match call.as_mut().poll(context) {
            std::task::Poll::Ready(answer) => {
                answers.push(answer);
                false
            }
            std::task::Poll::Pending => true,
        });
        if calls.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    answers
}
