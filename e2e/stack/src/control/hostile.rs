//! Whatever is sent to the control address, bent: its calls, its pages and their forms.
//!
//! It shows what secrets of the projects it is asked for, and nobody but this machine
//! may ask; so what is judged is that it answers at all, in its own shapes, leads
//! nowhere else, and that whoever is refused has moved nothing.

use rocket::http::Status;
use rocket::local::blocking::{Client, LocalResponse};
use rocket::serde::json::{Value, json};
use testkit::fuzz::{Corpus, Request, Scene};
use tokio::runtime::Runtime;

use super::Control;
use crate::world::{UPSTREAM_SECRET, World};
use crate::{Settings, Stack};

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// Instead of a status: the HTTP library would not have let it in.
const NO_HTTP: u16 = 0;

#[test]
fn whoever_calls_the_control_address_is_answered_and_if_refused_has_moved_nothing() {
    let desk = Desk::open();
    let seeds = desk.scene().doubled(CORPUS.seeds("control_request"));
    let met = testkit::fuzz::judge("control_request", &seeds, |bytes| {
        Request::read(bytes).map_or(NO_HTTP, |request| desk.hear(&request))
    });
    for status in [NO_HTTP, 200, 201, 204, 303, 400, 403, 404, 415, 422] {
        assert!(met.contains_key(&status), "never {status}: {met:?}");
    }
}

/// A stack, and its control address without a socket.
struct Desk {
    client: Client,
    stack: Stack,
    runtime: Runtime,
}

impl Desk {
    fn open() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let stack = runtime.block_on(Stack::start(Settings::for_tests()));
        let stack = stack.expect("free ports");
        let control = Control::new(stack.world.clone(), None);
        let rocket = super::rocket(control, ([127, 0, 0, 1], 0).into());
        Self {
            client: Client::untracked(rocket).expect("it can start"),
            stack,
            runtime,
        }
    }

    fn world(&self) -> &World {
        &self.stack.world
    }

    /// Names of things that there are to be seen, of a login that has begun.
    fn scene(&self) -> Scene {
        self.runtime.block_on(self.begin_a_login());
        let events = self.world().watch.logbook.events(0, None);
        let known = events.iter().rev().find(|it| it.login.is_some());
        let known = known.expect("the broker told of it");
        Scene::default()
            .with("{login}", known.login.clone().unwrap_or_default())
            .with("{request}", known.request_id.clone())
    }

    async fn begin_a_login(&self) {
        let project = self.world().projects.list().remove(0);
        let body = json!({
            "client_id": project.client_id,
            "client_secret": project.client_secret.expose(),
            "session_key": "A".repeat(43),
            "provider": "github",
            "redirect_uri": project.redirect_uris[0],
        });
        let http = reqwest::Client::new();
        let start = http.post(format!("{}/v1/login/session", self.world().urls.broker));
        let begun = start.json(&body).send().await.expect("an answer");
        let begun: Value = begun.json().await.expect("JSON");
        let url = begun["authorization_url"].as_str().expect("an address");
        http.get(url).send().await.expect("an answer");
    }

    /// Sends `request`, and sees that its answer is one that may be.
    fn hear(&self, request: &Request) -> u16 {
        let before = self.state();
        let response = request.send(&self.client);
        let status = response.status();
        let judged = carries_its_headers(&response)
            .and_then(|()| leads_nowhere_else(&response))
            .and_then(|()| tells(response));
        let moved = status.code >= 400 && before != self.state();
        if let Some(complaint) = judged.err().or(moved.then_some("refused, and moved")) {
            panic!("{complaint}: {status}\n{request:?}");
        }
        status.code
    }

    /// What a call can move, as far as it is cheap to look at.
    fn state(&self) -> (i64, usize, usize) {
        let world = self.world();
        (
            world.clock.advanced_ms(),
            world.projects.list().len(),
            world.watch.faults.standing().len(),
        )
    }
}

/// What is wrong with an answer.
type Judged = Result<(), &'static str>;

fn is_stream(response: &LocalResponse<'_>) -> bool {
    let media = response.content_type();
    media.is_some_and(|it| it.is_event_stream())
}

fn carries_its_headers(response: &LocalResponse<'_>) -> Judged {
    let has = |name, value| response.headers().get_one(name) == Some(value);
    // Rocket says `no-cache` of a stream.
    let kept = has("Cache-Control", "no-store") || is_stream(response);
    let careful = kept && has("X-Content-Type-Options", "nosniff");
    let policy = response.headers().get_one("Content-Security-Policy");
    let closed = policy.is_some_and(|it| it.starts_with("default-src 'none'"));
    (careful && closed)
        .then_some(())
        .ok_or("a header is missing")
}

fn leads_nowhere_else(response: &LocalResponse<'_>) -> Judged {
    let location = response.headers().get_one("Location");
    let own = location.is_none_or(|it| it.starts_with('/') && !it.starts_with("//"));
    own.then_some(()).ok_or("it leads elsewhere")
}

fn tells(response: LocalResponse<'_>) -> Judged {
    let status = response.status();
    let is_stream = response
        .content_type()
        .is_some_and(|it| it.is_event_stream());
    // It goes on for as long as somebody listens.
    let body = match is_stream {
        true => String::new(),
        false => response.into_string().unwrap_or_default(),
    };
    if status.code >= 500 {
        return Err("a panic, or a fault of ours");
    }
    if body.contains(UPSTREAM_SECRET) {
        return Err("a secret is in the answer");
    }
    let is_page = body.starts_with("<!DOCTYPE html>") && status == Status::NotFound;
    if status.code < 400 || is_page || body.is_empty() {
        return Ok(());
    }
    let refusal: Value = rocket::serde::json::from_str(&body).map_err(|_| "no JSON")?;
    let says = refusal["message"].as_str().is_some_and(|it| !it.is_empty());
    (says && refusal["error"] == "control_refused")
        .then_some(())
        .ok_or("a refusal of another shape")
}
