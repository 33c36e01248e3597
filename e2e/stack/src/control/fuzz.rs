//! Fuzzing of the control address: its calls, its pages and their forms.
//!
//! Any program on this machine may read the secrets of the projects, so the test does not
//! look for those. Every request must get an answer of a known shape that redirects to no
//! other address, and a refused request must change nothing.

use rocket::http::Status;
use rocket::local::blocking::{Client, LocalResponse};
use rocket::serde::json::{Value, json};
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::fuzz::{Corpus, FuzzRequest, Placeholders};
use tokio::runtime::Runtime;

use crate::runtime::{StackRuntime, UPSTREAM_CLIENT_SECRET};
use crate::{Stack, StackSettings};

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

// Threats: RAUTHY-006.
#[test]
fn every_control_call_is_answered_and_a_refused_one_changes_nothing() {
    let fixture = ControlFixture::start();
    let seeds = fixture
        .placeholders()
        .doubled(CORPUS.seeds("control_request"));
    let outcomes = testkit::fuzz::run("control_request", &seeds, |bytes| {
        FuzzRequest::read(bytes).map(|request| fixture.send(&request))
    });
    outcomes.assert_include(&[200, 201, 204, 303, 400, 403, 404, 415, 422]);
}

/// A stack, and its control address without a socket.
struct ControlFixture {
    client: Client,
    stack: Stack,
    tokio: Runtime,
}

impl ControlFixture {
    fn start() -> Self {
        let tokio = Runtime::new().expect("a runtime");
        let stack = tokio.block_on(Stack::start(StackSettings::for_tests()));
        let stack = stack.expect("free ports");
        let address = ([127, 0, 0, 1], 0).into();
        let rocket = super::rocket(stack.runtime().clone(), None, address);
        Self {
            client: Client::untracked(rocket).expect("it can start"),
            stack,
            tokio,
        }
    }

    fn runtime(&self) -> &StackRuntime {
        self.stack.runtime()
    }

    /// The ids of a started login and of one of its exchanges.
    fn placeholders(&self) -> Placeholders {
        self.tokio.block_on(self.start_login());
        let events = self.runtime().event_log().events(0, None);
        let known = events.iter().rev().find(|it| it.login.is_some());
        let known = known.expect("an event of the login");
        Placeholders::default()
            .with("{login}", known.login.clone().unwrap_or_default())
            .with("{request}", known.request_id.clone())
    }

    async fn start_login(&self) {
        let runtime = self.runtime();
        let project = json!(runtime.projects.list().remove(0));
        let backend = Backend::of(&runtime.urls.broker, &project);
        let login = backend.start_login("github").await;
        Browser::new().open(&login.authorization_url).await;
    }

    /// Sends `request` and checks its answer; returns the status.
    fn send(&self, request: &FuzzRequest) -> u16 {
        let before = self.state();
        let response = request.send(&self.client);
        let status = response.status();
        let checked = check_headers(&response)
            .and_then(|()| check_location(&response))
            .and_then(|()| check_body(response));
        let has_changed = status.code >= 400 && before != self.state();
        if let Some(problem) = checked
            .err()
            .or(has_changed.then_some("refused, but changed"))
        {
            panic!("{problem}: {status}\n{request:?}");
        }
        status.code
    }

    /// The state that calls can change, as far as it is cheap to read.
    fn state(&self) -> (i64, usize, usize) {
        let runtime = self.runtime();
        let projects = runtime.projects.list();
        (
            runtime.clock.advanced_ms(),
            projects.iter().map(|it| 1 + it.redirect_uris.len()).sum(),
            runtime.faults().armed().len(),
        )
    }
}

/// An error says what is wrong with the answer.
type Checked = Result<(), &'static str>;

fn is_stream(response: &LocalResponse<'_>) -> bool {
    let media = response.content_type();
    media.is_some_and(|it| it.is_event_stream())
}

fn check_headers(response: &LocalResponse<'_>) -> Checked {
    let has = |name, value| response.headers().get_one(name) == Some(value);
    // Rocket sets `no-cache` on a stream.
    let kept = has("Cache-Control", "no-store") || is_stream(response);
    let careful = kept && has("X-Content-Type-Options", "nosniff");
    let policy = response.headers().get_one("Content-Security-Policy");
    let closed = policy.is_some_and(|it| it.starts_with("default-src 'none'"));
    (careful && closed)
        .then_some(())
        .ok_or("a header is missing")
}

fn check_location(response: &LocalResponse<'_>) -> Checked {
    let location = response.headers().get_one("Location");
    let own = location.is_none_or(|it| it.starts_with('/') && !it.starts_with("//"));
    own.then_some(()).ok_or("a redirect to another address")
}

fn check_body(response: LocalResponse<'_>) -> Checked {
    let status = response.status();
    // A stream goes on for as long as its reader does.
    let body = match is_stream(&response) {
        true => String::new(),
        false => response.into_string().unwrap_or_default(),
    };
    if status.code >= 500 {
        return Err("a panic, or an error of the stack");
    }
    if body.contains(UPSTREAM_CLIENT_SECRET) {
        return Err("a secret is in the answer");
    }
    let is_page = body.starts_with("<!DOCTYPE html>") && status == Status::NotFound;
    if status.code < 400 || is_page || body.is_empty() {
        return Ok(());
    }
    let refusal: Value = rocket::serde::json::from_str(&body).map_err(|_| "no JSON")?;
    let has_message = refusal["message"].as_str().is_some_and(|it| !it.is_empty());
    (has_message && refusal["error"] == "control_refused")
        .then_some(())
        .ok_or("a refusal of another shape")
}
