//! A broker in this process, and the invariants of its responses.

use std::cell::{Cell, RefCell};
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
use testkit::fuzz::FuzzRequest;

use super::counting_store::CountingStore;
use super::entitlement::{self, Issued};
use crate::test_broker::parts;
use testkit::backend::Backend;
use testkit::http::Response;

/// The broker's configured base URL.
pub(super) const BASE: &str = "http://127.0.0.1:8000";

/// Two providers that refuse connections.
const GOOGLE: &str = "http://127.0.0.1:1";
const GITHUB: &str = "http://127.0.0.1:2";

/// A part of every secret in the configuration; no response may contain it.
pub(super) const MARK: &str = "Marked7";

pub(super) const CLIENT: &str = "prj_hostile";
pub(super) const SECRET: &str = "Marked7-secret-of-the-project";
pub(super) const CALLBACKS: [&str; 2] = ["http://localhost:3000/cb", "https://app.example/cb"];

/// The provider's subject of every user: a number that no document mentions.
pub(super) const USER: &str = "271828182845";

/// The time that passes with each request, so that its rows are swept in time.
const INTERVAL: Duration = Duration::from_millis(100);

/// The broker, called without a socket.
pub(super) struct FuzzedBroker {
    client: Client,
    pub(super) clock: Clock,
    pub(super) store: Arc<CountingStore>,
    events: Arc<Mutex<Vec<Event>>>,
    changed: Cell<bool>,
    issued: RefCell<Issued>,
}

impl FuzzedBroker {
    pub(super) fn start() -> Self {
        stack::silence_rocket();
        let store = store::open(&StoreUrl::SqliteMemory, FailPoints::NONE).expect("a store");
        let store = Arc::new(CountingStore::of(store));
        let clock = Clock::fixed_at(UnixMs(1_800_000_000_000));
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        let append = move |event: &Event| locked(&log).push(event.clone());
        let dependencies = Dependencies {
            clock: clock.clone(),
            audit: AuditLog::new().subscribed(Arc::new(append)),
            store: Some(store.clone() as Arc<dyn Store>),
            ..Dependencies::default()
        };
        let mut config = parts::config(BASE, GOOGLE, GITHUB, "Marked7-secret-at-providers");
        let backend = Backend::of(
            BASE,
            &json!({ "client_id": CLIENT, "client_secret": SECRET, "redirect_uris": CALLBACKS }),
        );
        config.projects = vec![parts::project(&backend, &CALLBACKS)];
        let broker = Broker::assemble(config, dependencies).expect("a broker");
        Self {
            client: Client::untracked(broker.rocket()).expect("it can start"),
            clock,
            store,
            events,
            changed: Cell::new(false),
            issued: RefCell::default(),
        }
    }

    /// Remembers that the broker accepts `value`, and returns it.
    pub(super) fn issued(&self, value: String) -> String {
        self.issued.borrow_mut().insert(value.clone());
        value
    }

    /// Whether the last request has changed anything.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.take()
    }

    /// Sends `request`, checks the response, and returns its status.
    pub(super) fn check(&self, request: &FuzzRequest) -> u16 {
        self.store.changes();
        let response = self.send(request);
        let changes = self.store.changes();
        self.changed.set(changes > 0);
        let violation = is_documented(request, &response)
            .and_then(|()| self.is_logged_without_fault(&response))
            .and_then(|()| self.changes_only_if_entitled(request, &response, changes))
            .and_then(|()| leaks_nothing(&response));
        if let Err(violation) = violation {
            panic!("{violation}\n{request:?}\n{response:?}");
        }
        response.status
    }

    /// The response to `request`, without any check.
    pub(super) fn send(&self, request: &FuzzRequest) -> Response {
        self.clock.advance(INTERVAL);
        read(request.send(&self.client))
    }

    /// No fault of the broker; and the audit log has the status and the rule.
    fn is_logged_without_fault(&self, response: &Response) -> Invariant {
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
        holds(
            own.status == Some(response.status),
            "the audit log has another",
        )?;
        holds(
            response.status < 400 || rule.is_some(),
            "refused by no rule",
        )?;
        let is_prefetch = rule == Some("request.prefetch");
        holds(response.status < 500 || is_prefetch, "a fault of ours")?;
        holds(
            !format!("{events:?}").contains(MARK),
            "a secret is in the audit log",
        )
    }

    /// Only what was granted changes anything: a redirect, or a response to a POST; and
    /// only for a request that is entitled to it.
    fn changes_only_if_entitled(
        &self,
        request: &FuzzRequest,
        response: &Response,
        changes: u32,
    ) -> Invariant {
        let issued = self.issued.borrow();
        let may_change = match response.status {
            200 => request.method == Method::Post,
            status => status == 303,
        };
        let is_entitled = entitlement::is_entitled(request, &issued);
        holds(may_change || changes == 0, "a refusal changed something")?;
        holds(changes == 0 || is_entitled, "changed without entitlement")?;
        let has_profile = response.status == 200 && response.text().contains(USER);
        let may_read = entitlement::may_read_profile(request, &issued);
        holds(!has_profile || may_read, "a profile without entitlement")
    }
}

/// A violated invariant, in a word.
type Invariant = Result<(), String>;

fn holds(holds: bool, violation: &str) -> Invariant {
    match holds {
        true => Ok(()),
        false => Err(violation.to_owned()),
    }
}

fn is_documented(request: &FuzzRequest, response: &Response) -> Invariant {
    let method = request.method.as_str().parse().expect("a method");
    let documented = testkit::openapi::check(&method, request.target.path(), response);
    documented.map_err(|violation| format!("the contract does not document it: {violation}"))
}

fn leaks_nothing(response: &Response) -> Invariant {
    let shown = format!("{response:?}");
    holds(!shown.contains(MARK), "a secret is in the response")?;
    let leads_elsewhere = response
        .location()
        .is_some_and(|it| !is_allowed_redirect(it));
    holds(!leads_elsewhere, "it redirects elsewhere")
}

fn read(response: LocalResponse<'_>) -> Response {
    let mut headers = HeaderMap::new();
    for header in response.headers().iter() {
        // A header that cannot be written would end the connection.
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

/// Whether a browser may be redirected there: to a callback, or to a provider.
fn is_allowed_redirect(location: &str) -> bool {
    let is_at = |start: &str, ends: &[char]| {
        let rest = location.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(ends))
    };
    CALLBACKS.iter().any(|callback| is_at(callback, &['?'])) || is_at(GITHUB, &['/'])
}

fn locked<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
