//! The stage: a consumer, a fake broker that answers as it is told, browsers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consumer_demo::{App, Clock, Config};
use rocket::http::{Cookie, Header, Method, Status};
use rocket::local::asynchronous::{Client, LocalRequest, LocalResponse};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

/// Where the consumer believes it is.
pub(crate) const CONSUMER: &str = "http://localhost:3000";
/// Its secret, to search answers for.
pub(crate) const SECRET: &str = "local-only";
/// A moment to begin with, in Unix milliseconds.
const BEGINNING_MS: i64 = 1_800_000_000_000;

/// One consumer with its broker.
pub(crate) struct World {
    pub(crate) app: Arc<App>,
    pub(crate) broker: Broker,
    client: Client,
    now_ms: Arc<AtomicI64>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A world whose consumer has another configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        testkit::leak_check::watch_log();
        let broker = Broker::start().await;
        let mut config = config(&broker.url());
        change(&mut config);
        let now_ms = Arc::new(AtomicI64::new(BEGINNING_MS));
        let clock = Clock::new({
            let now_ms = Arc::clone(&now_ms);
            move || now_ms.load(Ordering::SeqCst)
        });
        let app = App::new(config, clock).expect("a safe configuration");
        let server = app.rocket(([127, 0, 0, 1], 0).into()).expect("loopback");
        let client = Client::untracked(server).await.expect("a server");
        Self {
            app,
            broker,
            client,
            now_ms,
        }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.now_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// A browser that was never here.
    pub(crate) fn browser(&self) -> Browser<'_> {
        self.browser_at(CONSUMER)
    }

    /// The same, of a consumer that is reached at `origin`.
    pub(crate) fn browser_at(&self, origin: &'static str) -> Browser<'_> {
        Browser {
            world: self,
            origin,
            jar: Mutex::default(),
        }
    }

    /// A browser that has signed in by the clean flow as `person`.
    pub(crate) async fn signed_in(&self, person: &Value) -> Browser<'_> {
        self.signed_in_at(CONSUMER, person).await
    }

    /// The same, at a consumer that is reached at `origin`.
    pub(crate) async fn signed_in_at(&self, origin: &'static str, person: &Value) -> Browser<'_> {
        let browser = self.browser_at(origin);
        browser.start_clean("google").await;
        self.broker.will(RESULT, succeeded(person));
        assert_eq!(browser.get("/callback").await.location(), "/profile");
        browser
    }
}

/// A configuration for a broker at `broker`, with the patience of a test.
pub(crate) fn config(broker: &str) -> Config {
    let mut config = Config::new(
        broker.parse().unwrap(),
        "demo".parse().unwrap(),
        SECRET.parse().unwrap(),
        CONSUMER.parse().unwrap(),
    );
    config.pending_wait = Duration::from_millis(1);
    config
}

/// A browser: it sends the cookies that it was given, and says where it is.
pub(crate) struct Browser<'w> {
    world: &'w World,
    origin: &'static str,
    jar: Mutex<BTreeMap<String, Cookie<'static>>>,
}

impl Browser<'_> {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::Get, path)).await
    }

    /// Presses a button of ours.
    pub(crate) async fn press(&self, path: &str) -> Answer {
        let request = self
            .request(Method::Post, path)
            .header(Header::new("Origin", self.origin))
            .header(Header::new("Sec-Fetch-Site", "same-origin"));
        self.send(request).await
    }

    /// Starts a clean login and returns its session key, which only the broker saw.
    pub(crate) async fn start_clean(&self, provider: &str) -> String {
        let answer = self.press(&format!("/login/{provider}")).await;
        assert_eq!(answer.status, Status::SeeOther);
        let call = self.world.broker.calls(SESSION).pop().expect("a call");
        call["session_key"].as_str().unwrap().to_owned()
    }

    /// Starts a legacy login and returns the query of the authorize URL.
    pub(crate) async fn start_legacy(&self, provider: &str) -> HashMap<String, String> {
        let answer = self.press(&format!("/legacy/login/{provider}")).await;
        let url = url::Url::parse(answer.location()).unwrap();
        url.query_pairs().into_owned().collect()
    }

    /// Comes back from the broker by the legacy flow.
    pub(crate) async fn return_legacy(&self, query: &str) -> Answer {
        self.get(&format!("/legacy/callback?{query}")).await
    }

    /// A request as this browser would send it, cookies included.
    pub(crate) fn request(&self, method: Method, path: &str) -> LocalRequest<'_> {
        let request = self.world.client.req(method, path.to_owned());
        let jar = self.jar.lock().unwrap();
        let pairs: Vec<_> = jar.values().map(|it| it.stripped().to_string()).collect();
        if pairs.is_empty() {
            request
        } else {
            request.header(Header::new("Cookie", pairs.join("; ")))
        }
    }

    /// Sends a request and keeps the cookies that come back.
    pub(crate) async fn send(&self, request: LocalRequest<'_>) -> Answer {
        let answer = Answer::of(request.dispatch().await).await;
        for cookie in answer.set_cookies() {
            self.keep(cookie);
        }
        answer
    }

    /// The cookie that names its session.
    pub(crate) fn cookie(&self) -> Option<Cookie<'static>> {
        let jar = self.jar.lock().unwrap();
        jar.values().find(|cookie| is_session(cookie)).cloned()
    }

    /// Keeps another session's cookie, or none.
    pub(crate) fn set_cookie(&self, cookie: Option<Cookie<'static>>) {
        self.jar
            .lock()
            .unwrap()
            .retain(|_, cookie| !is_session(cookie));
        cookie.into_iter().for_each(|cookie| self.keep(cookie));
    }

    /// Every cookie that it holds.
    pub(crate) fn cookies(&self) -> Vec<Cookie<'static>> {
        self.jar.lock().unwrap().values().cloned().collect()
    }

    pub(crate) fn keep(&self, cookie: Cookie<'static>) {
        let mut jar = self.jar.lock().unwrap();
        if cookie.value().is_empty() {
            jar.remove(cookie.name());
        } else {
            jar.insert(cookie.name().to_owned(), cookie);
        }
    }
}

fn is_session(cookie: &Cookie<'_>) -> bool {
    cookie.name().ends_with("demo_session")
}

/// What the consumer answered.
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl Answer {
    pub(crate) async fn of(response: LocalResponse<'_>) -> Self {
        let headers = response
            .headers()
            .iter()
            .map(|header| {
                (
                    header.name().as_str().to_lowercase(),
                    header.value().to_owned(),
                )
            })
            .collect();
        Self {
            status: response.status(),
            headers,
            body: response.into_string().await.unwrap_or_default(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn location(&self) -> &str {
        assert_eq!(self.status, Status::SeeOther, "{}", self.body);
        self.header("location").expect("a Location")
    }

    /// The cookie that names a session, if this answer sets or clears it.
    pub(crate) fn set_cookie(&self) -> Option<Cookie<'static>> {
        self.set_cookies().find(is_session)
    }

    /// Every cookie that this answer sets or clears.
    pub(crate) fn set_cookies(&self) -> impl Iterator<Item = Cookie<'static>> {
        let lines = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        lines.map(|(_, line)| Cookie::parse(line.clone()).expect("a cookie"))
    }

    /// The problem that the page is about.
    #[track_caller]
    pub(crate) fn problem(&self) -> &str {
        let (_, rest) = self
            .body
            .split_once("data-problem=\"")
            .unwrap_or_else(|| panic!("no problem in {} {}", self.status, self.body));
        rest.split('"').next().unwrap()
    }

    /// The text of one field of the profile.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> String {
        let (_, rest) = self
            .body
            .split_once(&format!("data-field=\"{name}\">"))
            .unwrap_or_else(|| panic!("no field {name} in {} {}", self.status, self.body));
        let cell = rest.split("</td>").next().unwrap();
        let mut text = String::new();
        let mut in_tag = false;
        for character in cell.chars() {
            match character {
                '<' => in_tag = true,
                '>' => in_tag = false,
                _ if !in_tag => text.push(character),
                _ => {}
            }
        }
        text.trim().to_owned()
    }

    /// Everything that the browser gets to see.
    pub(crate) fn everything(&self) -> String {
        format!("{:?}\n{}", self.headers, self.body)
    }
}

pub(crate) const SESSION: &str = "/v1/login/session";
pub(crate) const RESULT: &str = "/v1/login/result";
pub(crate) const TOKEN: &str = "/v1/token";
pub(crate) const PROFILE: &str = "/v1/profile";
pub(crate) const REVOKE: &str = "/v1/revoke";
pub(crate) const PROVIDERS: &str = "/api/providers";

/// A broker that answers from a script, and writes down what it was asked.
pub(crate) struct Broker {
    server: Option<MockServer>,
    url: String,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    next: HashMap<String, VecDeque<ResponseTemplate>>,
    by_key: HashMap<String, ResponseTemplate>,
    journal: Vec<(String, Value, Option<String>)>,
}

struct Reader(Arc<Mutex<Script>>);

impl Broker {
    pub(crate) async fn start() -> Self {
        let server = MockServer::start().await;
        let script = Arc::default();
        Mock::given(matchers::any())
            .respond_with(Reader(Arc::clone(&script)))
            .mount(&server)
            .await;
        Self {
            url: server.uri(),
            server: Some(server),
            script,
        }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Answers the next call of `path` with `answer`; calls after the last of
    /// these get the usual answer.
    pub(crate) fn will(&self, path: &str, answer: ResponseTemplate) {
        let mut script = self.script.lock().unwrap();
        script
            .next
            .entry(path.to_owned())
            .or_default()
            .push_back(answer);
    }

    /// Answers every reading of the result under `key` with `answer`.
    pub(crate) fn will_for(&self, key: &str, answer: ResponseTemplate) {
        let mut script = self.script.lock().unwrap();
        script.by_key.insert(key.to_owned(), answer);
    }

    /// The bodies of the calls of `path`, in order.
    pub(crate) fn calls(&self, path: &str) -> Vec<Value> {
        let script = self.script.lock().unwrap();
        let mine = script.journal.iter().filter(|(called, ..)| called == path);
        mine.map(|(_, body, _)| body.clone()).collect()
    }

    /// The keys under which results were read, in order.
    pub(crate) fn keys_read(&self) -> Vec<String> {
        let calls = self.calls(RESULT);
        let keys = calls
            .iter()
            .map(|body| body["session_key"].as_str().unwrap());
        keys.map(str::to_owned).collect()
    }

    /// The `Authorization` headers of the calls of `path`.
    pub(crate) fn bearers(&self, path: &str) -> Vec<Option<String>> {
        let script = self.script.lock().unwrap();
        let mine = script.journal.iter().filter(|(called, ..)| called == path);
        mine.map(|(.., bearer)| bearer.clone()).collect()
    }

    /// How many calls there were, but for the status of the providers.
    pub(crate) fn count(&self) -> usize {
        let script = self.script.lock().unwrap();
        let asked = script.journal.iter().filter(|(path, ..)| path != PROVIDERS);
        asked.count()
    }
}

impl Drop for Broker {
    /// Lets go of the server on a thread of its own. Its drop waits for a lock
    /// of tokio's, and a test that has used up its turn (requests to a local
    /// client never yield) would wait in circles for the next one.
    fn drop(&mut self) {
        let server = self.server.take();
        let _ = std::thread::spawn(move || drop(server)).join();
    }
}

impl Respond for Reader {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let path = request.url.path().to_owned();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let bearer = request
            .headers
            .get("authorization")
            .map(|value| value.to_str().unwrap().to_owned());
        let key = body["session_key"].as_str().unwrap_or_default().to_owned();
        let mut script = self.0.lock().unwrap();
        script.journal.push((path.clone(), body, bearer));
        if path == RESULT
            && let Some(answer) = script.by_key.get(&key)
        {
            return answer.clone();
        }
        let scripted = script.next.get_mut(&path).and_then(VecDeque::pop_front);
        scripted.unwrap_or_else(|| usual(&path, request))
    }
}

/// What a broker answers when all is well.
fn usual(path: &str, request: &Request) -> ResponseTemplate {
    let host = request.headers.get("host").unwrap().to_str().unwrap();
    match path {
        SESSION => ok(json!({
            "authorization_url": format!("http://{host}/login/a-handle"),
            "expires_in": 600,
        })),
        RESULT => succeeded(&ada()),
        TOKEN => ok(token_answer()),
        PROFILE => ok(ada()),
        REVOKE => ok(json!({})),
        PROVIDERS => ok(json!([
            {"id": "google", "configured": true, "enabled": true, "available": true},
            {"id": "github", "configured": true, "enabled": true, "available": true},
        ])),
        _ => ResponseTemplate::new(404),
    }
}

/// The token that the broker issues.
pub(crate) const ACCESS_TOKEN: &str = "fsi_LeakMark-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub(crate) fn token_answer() -> Value {
    json!({
        "access_token": ACCESS_TOKEN,
        "token_type": "Bearer",
        "expires_in": 900,
        "scope": "profile",
    })
}

pub(crate) fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

pub(crate) fn refused(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({"error": "request_failed"}))
}

pub(crate) fn pending() -> ResponseTemplate {
    ok(json!({"status": "pending"}))
}

pub(crate) fn succeeded(profile: &Value) -> ResponseTemplate {
    ok(json!({"status": "succeeded", "profile": profile}))
}

pub(crate) fn failed(error: &str) -> ResponseTemplate {
    ok(json!({"status": "failed", "error": error}))
}

pub(crate) fn ada() -> Value {
    person("sub_ada", "Ada Lovelace", "ada@example.org")
}

pub(crate) fn grace() -> Value {
    person("sub_grace", "Grace Hopper", "grace@example.org")
}

pub(crate) fn person(subject: &str, name: &str, email: &str) -> Value {
    json!({
        "subject": subject,
        "provider": "google",
        "providerSubject": "1234567890",
        "name": name,
        "username": null,
        "email": email,
        "emailVerified": true,
        "avatarUrl": null,
    })
}
