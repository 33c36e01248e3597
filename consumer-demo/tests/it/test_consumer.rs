//! The fixture: the consumer in front of a scripted broker, with a clock to move; a browser of
//! it, with its cookie jar; and the answers that it receives.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consumer_demo::{App, Clock, Config};
use rocket::http::{ContentType, Cookie, Header, Method, Status};
use rocket::local::asynchronous::{Client, LocalRequest, LocalResponse};
use serde_json::Value;

use crate::scripted_broker::{RESULT, SESSION, ScriptedBroker, succeeded};

/// The consumer's base URL.
pub(crate) const CONSUMER: &str = "http://localhost:3000";
/// The consumer's client secret.
pub(crate) const SECRET: &str = "local-only";
/// The time at which a test begins, in Unix milliseconds.
const START_MS: i64 = 1_800_000_000_000;

/// A consumer and its scripted broker.
pub(crate) struct TestConsumer {
    pub(crate) app: Arc<App>,
    pub(crate) broker: Arc<ScriptedBroker>,
    client: Client,
    origin: String,
    now_ms: Arc<AtomicI64>,
}

impl TestConsumer {
    pub(crate) async fn new() -> Self {
        Self::with_config(|_| {}).await
    }

    /// A consumer with another configuration.
    pub(crate) async fn with_config(change: impl FnOnce(&mut Config)) -> Self {
        let broker = Arc::new(ScriptedBroker::start().await);
        Self::at(broker, change).await
    }

    /// A consumer with another configuration, of a broker that others may have, too.
    pub(crate) async fn at(broker: Arc<ScriptedBroker>, change: impl FnOnce(&mut Config)) -> Self {
        testkit::leak_check::watch_log();
        let mut config = config(&broker.url());
        change(&mut config);
        let origin = config.consumer_base_url.to_string();
        let now_ms = Arc::new(AtomicI64::new(START_MS));
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
            origin,
            now_ms,
        }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.now_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// A browser without cookies.
    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser::new(&self.client, &self.broker, &self.origin)
    }

    /// A browser that has signed in by the clean flow with `profile`.
    pub(crate) async fn signed_in(&self, profile: &Value) -> Browser<'_> {
        let browser = self.browser();
        browser.start_clean("google").await;
        self.broker.answer_next(RESULT, succeeded(profile));
        assert_eq!(browser.callback().await.outcome(), "/profile");
        browser
    }
}

/// A configuration for a broker at `broker`, with a short wait for pending results.
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

/// The user at a browser in which no user is signed in.
pub(crate) const NOBODY: &str = "";

/// A browser: it sends the cookies that it received, and its origin.
pub(crate) struct Browser<'c> {
    client: &'c Client,
    broker: &'c ScriptedBroker,
    origin: &'c str,
    /// The headers by which it looks different from others.
    look: Vec<Header<'static>>,
    jar: Mutex<BTreeMap<String, Cookie<'static>>>,
}

impl<'c> Browser<'c> {
    pub(crate) fn new(client: &'c Client, broker: &'c ScriptedBroker, origin: &'c str) -> Self {
        Self {
            client,
            broker,
            origin,
            look: Vec::new(),
            jar: Mutex::default(),
        }
    }

    /// The same, whose next requests reach another consumer.
    pub(crate) fn moved_to(self, consumer: &'c TestConsumer) -> Self {
        Self {
            client: &consumer.client,
            ..self
        }
    }

    /// The same, with a header in every request.
    pub(crate) fn sending(mut self, name: &'static str, value: &'static str) -> Self {
        self.look.push(Header::new(name, value));
        self
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::Get, path)).await
    }

    /// Posts a form of the consumer's own.
    pub(crate) async fn press(&self, path: &str) -> Answer {
        self.submit(path, "").await
    }

    /// Posts the fields of a form of the consumer's own.
    pub(crate) async fn submit(&self, path: &str, fields: &str) -> Answer {
        let request = self
            .request(Method::Post, path)
            .header(Header::new("Origin", self.origin.to_owned()))
            .header(ContentType::Form)
            .body(fields);
        self.send(request).await
    }

    /// Visits the callback of the clean flow.
    pub(crate) async fn callback(&self) -> Answer {
        self.get("/callback").await
    }

    /// The subject of the signed-in user, or [`NOBODY`].
    pub(crate) async fn user(&self) -> String {
        let profile = self.get("/profile").await;
        match profile.status {
            Status::Ok => profile.field("subject"),
            _ => {
                assert_eq!(profile.outcome(), "/");
                NOBODY.to_owned()
            }
        }
    }

    /// Starts a clean login and returns its session key, as the broker received it.
    pub(crate) async fn start_clean(&self, provider: &str) -> String {
        let answer = self.press(&format!("/login/{provider}")).await;
        assert_eq!(answer.status, Status::SeeOther);
        let call = self.broker.calls(SESSION).pop().expect("a call");
        call["session_key"].as_str().unwrap().to_owned()
    }

    /// Starts a legacy login and returns the query of the authorize URL.
    pub(crate) async fn start_legacy(&self, provider: &str) -> HashMap<String, String> {
        let answer = self.press(&format!("/legacy/login/{provider}")).await;
        let url = url::Url::parse(answer.outcome()).unwrap();
        url.query_pairs().into_owned().collect()
    }

    /// Visits the callback of the legacy flow.
    pub(crate) async fn return_legacy(&self, query: &str) -> Answer {
        self.get(&format!("/legacy/callback?{query}")).await
    }

    /// Comes back from a login that `authorize` began, with a code.
    pub(crate) async fn finish_legacy(&self, authorize: &HashMap<String, String>) -> Answer {
        let query = format!("code=c&state={}", authorize["state"]);
        self.return_legacy(&query).await
    }

    /// A request as this browser would send it, cookies included.
    pub(crate) fn request(&self, method: Method, path: &str) -> LocalRequest<'_> {
        let mut request = self.client.req(method, path.to_owned());
        for header in &self.look {
            request.add_header(header.clone());
        }
        let jar = self.jar.lock().unwrap();
        let pairs: Vec<_> = jar.values().map(|it| it.stripped().to_string()).collect();
        if pairs.is_empty() {
            request
        } else {
            request.header(Header::new("Cookie", pairs.join("; ")))
        }
    }

    /// Sends a request and keeps the cookies of the answer.
    pub(crate) async fn send(&self, request: LocalRequest<'_>) -> Answer {
        let answer = Answer::of(request.dispatch().await).await;
        for cookie in answer.set_cookies() {
            self.keep(cookie);
        }
        answer
    }

    /// The session's cookie.
    pub(crate) fn cookie(&self) -> Option<Cookie<'static>> {
        let jar = self.jar.lock().unwrap();
        jar.values().find(|cookie| is_session(cookie)).cloned()
    }

    /// Replaces the session's cookie, or removes it.
    pub(crate) fn set_cookie(&self, cookie: Option<Cookie<'static>>) {
        self.jar
            .lock()
            .unwrap()
            .retain(|_, cookie| !is_session(cookie));
        cookie.into_iter().for_each(|cookie| self.keep(cookie));
    }

    /// Every cookie in the jar.
    pub(crate) fn cookies(&self) -> Vec<Cookie<'static>> {
        self.jar.lock().unwrap().values().cloned().collect()
    }

    /// Adds a cookie, or removes it if its value is empty.
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

/// An answer of the consumer.
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl Answer {
    pub(crate) async fn of(response: LocalResponse<'_>) -> Self {
        let headers = response.headers().iter();
        let headers = headers.map(|it| (it.name().as_str().to_lowercase(), it.value().to_owned()));
        Self {
            status: response.status(),
            headers: headers.collect(),
            body: response.into_string().await.unwrap_or_default(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// The session's cookie, if this answer sets or clears it.
    pub(crate) fn set_cookie(&self) -> Option<Cookie<'static>> {
        self.set_cookies().find(is_session)
    }

    /// Every cookie that this answer sets or clears.
    pub(crate) fn set_cookies(&self) -> impl Iterator<Item = Cookie<'static>> {
        let lines = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        lines.map(|(_, line)| Cookie::parse(line.clone()).expect("a cookie"))
    }

    /// The target of a redirect, or the name of the problem that the page shows.
    #[track_caller]
    pub(crate) fn outcome(&self) -> &str {
        match self.header("location") {
            Some(location) => {
                assert_eq!(self.status, Status::SeeOther, "{location}");
                location
            }
            None => self.after("data-problem=\"", "\""),
        }
    }

    /// The text of one field of the profile.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> String {
        let cell = self.after(&format!("data-field=\"{name}\">"), "</td>");
        let texts = cell.split('<').filter_map(|part| part.rsplit('>').next());
        texts.collect()
    }

    #[track_caller]
    fn after(&self, mark: &str, end: &str) -> &str {
        let found = self.body.split_once(mark);
        let found = found.and_then(|(_, rest)| rest.split(end).next());
        found.unwrap_or_else(|| panic!("no {mark} in {} {}", self.status, self.body))
    }

    /// The headers and the body, to search for secrets.
    pub(crate) fn headers_and_body(&self) -> String {
        format!("{:?}\n{}", self.headers, self.body)
    }
}
