//! A broker that answers from a script, and the answers that it knows.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

pub(crate) const SESSION: &str = "/v1/login/session";
pub(crate) const RESULT: &str = "/v1/login/result";
pub(crate) const TOKEN: &str = "/v1/token";
pub(crate) const PROFILE: &str = "/v1/profile";
pub(crate) const REVOKE: &str = "/v1/revoke";
pub(crate) const PROVIDERS: &str = "/api/providers";

/// A broker that answers from a script, and records the calls.
pub(crate) struct ScriptedBroker {
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

struct Responder(Arc<Mutex<Script>>);

impl ScriptedBroker {
    pub(crate) async fn start() -> Self {
        let server = MockServer::start().await;
        let script = Arc::default();
        Mock::given(matchers::any())
            .respond_with(Responder(Arc::clone(&script)))
            .mount(&server)
            .await;
        Self {
            url: server.uri(),
            server: Some(server),
            script,
        }
    }

    /// Closes the connection of the next call of `path`, and answers nothing.
    pub(crate) async fn hang_up_on_next(&self, path: &str) {
        let script = Arc::clone(&self.script);
        let hang_up = move |request: &Request| {
            script.lock().unwrap().record(request);
            std::io::Error::other("the connection closes")
        };
        Mock::given(matchers::path(path))
            .respond_with_err(hang_up)
            .up_to_n_times(1)
            .with_priority(1)
            .mount(self.server.as_ref().unwrap())
            .await;
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Answers the next call of `path` with `answer`; calls after the last of
    /// these receive the default answer.
    pub(crate) fn answer_next(&self, path: &str, answer: ResponseTemplate) {
        let mut script = self.script.lock().unwrap();
        let answers = script.next.entry(path.to_owned()).or_default();
        answers.push_back(answer);
    }

    /// Answers every read of the result under `key` with `answer`.
    pub(crate) fn answer_reads_of(&self, key: &str, answer: ResponseTemplate) {
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
        let calls = self.calls(RESULT).into_iter();
        let keys = calls.map(|body| body["session_key"].as_str().unwrap().to_owned());
        keys.collect()
    }

    /// The `Authorization` headers of the calls of `path`.
    pub(crate) fn bearers(&self, path: &str) -> Vec<Option<String>> {
        let script = self.script.lock().unwrap();
        let mine = script.journal.iter().filter(|(called, ..)| called == path);
        mine.map(|(.., bearer)| bearer.clone()).collect()
    }

    /// The number of calls, without those for the providers' status.
    pub(crate) fn call_count(&self) -> usize {
        let script = self.script.lock().unwrap();
        let calls = script.journal.iter().filter(|(path, ..)| path != PROVIDERS);
        calls.count()
    }
}

impl Drop for ScriptedBroker {
    /// Drops the server on a thread of its own. Its drop waits for a lock of tokio's,
    /// and a test that has used up its cooperative budget (requests to a local client
    /// never yield) would wait for ever.
    fn drop(&mut self) {
        let server = self.server.take();
        let _ = std::thread::spawn(move || drop(server)).join();
    }
}

impl Script {
    /// Records a call, and returns its path and body.
    fn record(&mut self, request: &Request) -> (String, Value) {
        let path = request.url.path().to_owned();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let bearer = request.headers.get("authorization");
        let bearer = bearer.map(|value| value.to_str().unwrap().to_owned());
        self.journal.push((path.clone(), body.clone(), bearer));
        (path, body)
    }
}

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut script = self.0.lock().unwrap();
        let (path, body) = script.record(request);
        let key = body["session_key"].as_str().unwrap_or_default();
        if path == RESULT
            && let Some(answer) = script.by_key.get(key)
        {
            return answer.clone();
        }
        let scripted = script.next.get_mut(&path).and_then(VecDeque::pop_front);
        scripted.unwrap_or_else(|| default_answer(&path, request))
    }
}

/// The answer of a broker that has no failure to report.
fn default_answer(path: &str, request: &Request) -> ResponseTemplate {
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

/// The access token that the broker issues.
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
    profile("sub_ada", "Ada Lovelace", "ada@example.org")
}

pub(crate) fn grace() -> Value {
    profile("sub_grace", "Grace Hopper", "grace@example.org")
}

pub(crate) fn profile(subject: &str, name: &str, email: &str) -> Value {
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
