//! A broker in this process, and what must never come out of it.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use broker::clock::Clock;
use broker::flows::UnixMs;
use broker::ledger::{Event, Ledger, Party};
use broker::store::probe::Probe;
use broker::store::{self, Store, StoreUrl};
use broker::{Broker, Surroundings};
use hyper::Uri;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rocket::http::uri::Origin;
use rocket::http::{Cookie, Header};
use rocket::local::blocking::{Client, LocalResponse};
use serde_json::json;

use super::request::Request;
use super::witness::Witness;
use crate::assembly;
use crate::backend::Backend;
use crate::published;
use crate::reply::Reply;

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
        e2e::silence_rocket();
        let store = store::open(&StoreUrl::SqliteMemory, Probe::NONE).expect("a store");
        let store = Arc::new(Witness::of(store));
        let clock = Clock::standing_at(UnixMs(1_800_000_000_000));
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let tell = move |event: &Event| locked(&heard).push(event.clone());
        let surroundings = Surroundings {
            clock: clock.clone(),
            ledger: Ledger::new().subscribed(Arc::new(tell)),
            store: Some(store.clone() as Arc<dyn Store>),
            ..Surroundings::default()
        };
        let mut config = assembly::config(BASE, GOOGLE, GITHUB, "Marked7-secret-at-providers");
        let backend = Backend::of(
            BASE,
            &json!({ "client_id": CLIENT, "client_secret": SECRET, "redirect_uris": CALLBACKS }),
        );
        config.projects = vec![assembly::project(&backend, &CALLBACKS)];
        let broker = Broker::assemble(config, surroundings).expect("a broker");
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
        let reply = self.ask(request);
        let changes = self.store.changes();
        self.changed.set(changes > 0);
        let rule = self.rule(&reply);
        let shown = format!("{request:?}\n{reply:?}\n{rule:?}");
        if let Err(complaint) = published::judge(&request.method, request.path(), &reply) {
            panic!("the contract does not show it: {complaint}\n{shown}");
        }
        assert_ne!(reply.status, 500, "a panic, or a fault: {shown}");
        let is_trouble = reply.status == 503 && rule != Some("request.prefetch");
        assert!(!is_trouble, "the store is in trouble: {shown}");
        let may_change = match reply.status {
            200 => request.method == Method::POST,
            303 => true,
            _ => false,
        };
        assert!(may_change || changes == 0, "changed by the way: {shown}");
        assert!(
            !shown_to_callers(&reply).contains(MARK),
            "a secret: {shown}"
        );
        if let Some(location) = reply.location() {
            assert!(is_ours_to_send_to(location), "sent elsewhere: {shown}");
        }
        reply.status
    }

    /// The answer to `request`, not judged.
    pub(super) fn ask(&self, request: &Request) -> Reply {
        self.clock.advance(BETWEEN);
        let method = request.method.as_str().parse().expect("Rocket knows it");
        // As Rocket takes it from the HTTP library, which lets more pass than it does.
        let target: Uri = request.target.parse().expect("it was read as one");
        let target = Origin::new(target.path(), target.query());
        let mut local = self.client.req(method, target).body(&request.body);
        for (name, value) in &request.headers {
            local.add_header(Header::new(name.clone(), value.clone()));
        }
        let cookies = request.headers.iter().filter(|(name, _)| name == "cookie");
        let cookies = cookies.flat_map(|(_, line)| line.split(';'));
        let cookies = cookies.filter_map(|it| Cookie::parse_encoded(it.trim()).ok());
        reply(local.cookies(cookies).dispatch())
    }

    /// The rule by which the ledger says that the request of `reply` was refused.
    fn rule(&self, reply: &Reply) -> Option<&'static str> {
        let events: Vec<_> = locked(&self.events).drain(..).collect();
        let id = reply.header("x-request-id").expect("every answer has one");
        let own = events
            .iter()
            .find(|it| it.to == Party::Broker && it.request_id == id);
        // A target that is no URI is answered before anything of ours is asked.
        let Some(own) = own else {
            assert_eq!(reply.status, 400, "not in the ledger: {reply:?}");
            return None;
        };
        assert_eq!(own.status, Some(reply.status));
        assert!(reply.status < 400 || own.rule.is_some(), "{own:?}");
        assert!(!format!("{events:?}").contains(MARK), "{events:?}");
        own.rule.map(contract::Rule::id)
    }
}

fn reply(response: LocalResponse<'_>) -> Reply {
    let mut headers = HeaderMap::new();
    for header in response.headers().iter() {
        // What cannot be written would end the connection instead of answering.
        let name: HeaderName = header.name().as_str().parse().expect("a header's name");
        let value = HeaderValue::from_bytes(header.value().as_bytes()).expect("a header's value");
        headers.append(name, value);
    }
    Reply {
        status: response.status().code,
        headers,
        body: response.into_string().unwrap_or_default(),
    }
}

fn shown_to_callers(reply: &Reply) -> String {
    format!("{:?} {}", reply.headers, reply.body)
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
