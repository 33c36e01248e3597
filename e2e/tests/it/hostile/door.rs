//! A broker in this process, and what must never come out of it.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use broker::audit::{AuditLog, Event, Party};
use broker::clock::Clock;
use broker::model::UnixMs;
use broker::store::fail_points::FailPoints;
use broker::store::{self, Store, StoreUrl};
use broker::{Broker, Dependencies};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rocket::http::Method;
use rocket::local::blocking::{Client, LocalResponse};
use serde_json::json;
use testkit::fuzz::Request;

use super::plea;
use super::witness::Witness;
use crate::test_broker::assembly;
use testkit::backend::Backend;
use testkit::http::Response;

/// Where the broker is, by its own account.
pub(super) const BASE: &str = "http://127.0.0.1:8000";

/// Two providers where nobody listens.
const GOOGLE: &str = "http://127.0.0.1:1";
const GITHUB: &str = "http://127.0.0.1:2";

/// Is in every secret that the broker was given: none of them ever comes out.
pub(super) const MARK: &str = "Marked7";

pub(super) const CLIENT: &str = "prj_hostile";
pub(super) const SECRET: &str = "Marked7-secret-of-the-project";
pub(super) const CALLBACKS: [&str; 2] = ["http://localhost:3000/cb", "https://app.example/cb"];

/// Who signs in wherever somebody has: a number that no document mentions.
pub(super) const PERSON: &str = "271828182845";

/// How much time passes with each request: what it leaves behind is swept in time.
const BETWEEN: Duration = Duration::from_millis(100);

/// The broker, asked from inside its process.
pub(super) struct Door {
    client: Client,
    pub(super) clock: Clock,
    pub(super) store: Arc<Witness>,
    events: Arc<Mutex<Vec<Event>>>,
    changed: Cell<bool>,
}

impl Door {
    pub(super) fn open() -> Self {
        stack::silence_rocket();
        let store = store::open(&StoreUrl::SqliteMemory, FailPoints::NONE).expect("a store");
        let store = Arc::new(Witness::of(store));
        let clock = Clock::fixed_at(UnixMs(1_800_000_000_000));
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let tell = move |event: &Event| locked(&heard).push(event.clone());
        let dependencies = Dependencies {
            clock: clock.clone(),
            audit: AuditLog::new().subscribed(Arc::new(tell)),
            store: Some(store.clone() as Arc<dyn Store>),
            ..Dependencies::default()
        };
        let mut config = assembly::config(BASE, GOOGLE, GITHUB, "Marked7-secret-at-providers");
        let backend = Backend::of(
            BASE,
            &json!({ "client_id": CLIENT, "client_secret": SECRET, "redirect_uris": CALLBACKS }),
        );
        config.projects = vec![assembly::project(&backend, &CALLBACKS)];
        let broker = Broker::assemble(config, dependencies).expect("a broker");
        Self {
            client: Client::untracked(broker.rocket()).expect("it can start"),
            clock,
            store,
            events,
            changed: Cell::new(false),
        }
    }

    /// Whether the last request has changed anything.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.take()
    }

    /// Sends `request`, and sees that its answer is one that may be.
    pub(super) fn hear(&self, request: &Request) -> u16 {
        self.store.changes();
        let response = self.ask(request);
        let changes = self.store.changes();
        self.changed.set(changes > 0);
        let judged = contract_shows(request, &response)
            .and_then(|()| self.is_no_trouble(&response))
            .and_then(|()| changes_nothing_by_the_way(request, &response, changes))
            .and_then(|()| tells_nothing(&response));
        if let Err(complaint) = judged {
            panic!("{complaint}\n{request:?}\n{response:?}");
        }
        response.status
    }

    /// The answer to `request`, not judged.
    pub(super) fn ask(&self, request: &Request) -> Response {
        self.clock.advance(BETWEEN);
        response(request.send(&self.client))
    }

    /// No panic, no store out of reach; and the audit log knows what was answered and why.
    fn is_no_trouble(&self, response: &Response) -> Judged {
        let events: Vec<_> = locked(&self.events).drain(..).collect();
        let id = response
            .header("x-request-id")
            .expect("every answer has one");
        let is_own = |it: &&Event| it.to == Party::Broker && it.request_id == id;
        let own = events
            .iter()
            .find(is_own)
            .ok_or("the audit log has nothing")?;
        let rule = own.rule.map(contract::Rule::id);
        check(
            own.status == Some(response.status),
            "the audit log has another",
        )?;
        check(
            response.status < 400 || rule.is_some(),
            "refused by no rule",
        )?;
        let is_prefetch = rule == Some("request.prefetch");
        check(response.status < 500 || is_prefetch, "a fault of ours")?;
        check(
            !format!("{events:?}").contains(MARK),
            "a secret is in the audit log",
        )
    }
}

/// What must not be, in a word.
type Judged = Result<(), String>;

fn check(is_right: bool, complaint: &str) -> Judged {
    match is_right {
        true => Ok(()),
        false => Err(complaint.to_owned()),
    }
}

fn contract_shows(request: &Request, response: &Response) -> Judged {
    let method = request.method.as_str().parse().expect("a method");
    let shown = testkit::openapi::check(&method, request.target.path(), response);
    shown.map_err(|complaint| format!("the contract does not show it: {complaint}"))
}

/// Only what was granted changes anything: a redirect, or an answer to a POST; and
/// only to whom it may be granted.
fn changes_nothing_by_the_way(request: &Request, response: &Response, changes: u32) -> Judged {
    let may_change = match response.status {
        200 => request.method == Method::Post,
        status => status == 303,
    };
    check(may_change || changes == 0, "it has changed something")?;
    check(changes == 0 || plea::is_enough(request), "for nothing")?;
    let is_profile = response.status == 200 && response.text().contains(PERSON);
    let is_owed = request.target.path() == "/v1/login/result" || plea::has_bearer(request);
    check(!is_profile || is_owed, "a profile for nothing")
}

fn tells_nothing(response: &Response) -> Judged {
    let shown = format!("{:?} {}", response.headers, response.text());
    check(!shown.contains(MARK), "a secret is in the answer")?;
    let leads_elsewhere = response
        .location()
        .is_some_and(|it| !is_ours_to_send_to(it));
    check(!leads_elsewhere, "it leads elsewhere")
}

fn response(response: LocalResponse<'_>) -> Response {
    let mut headers = HeaderMap::new();
    for header in response.headers().iter() {
        // What cannot be written would end the connection instead of answering.
        let name: HeaderName = header.name().as_str().parse().expect("a header's name");
        let value = HeaderValue::from_bytes(header.value().as_bytes()).expect("a header's value");
        headers.append(name, value);
    }
    Response {
        status: response.status().code,
        headers,
        body: response.into_bytes().unwrap_or_default(),
    }
}

/// Whether a browser may be sent there: home, or to a provider.
fn is_ours_to_send_to(location: &str) -> bool {
    let is_at = |start: &str, ends: &[char]| {
        let rest = location.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(ends))
    };
    CALLBACKS.iter().any(|home| is_at(home, &['?'])) || is_at(GITHUB, &['/'])
}

fn locked<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
