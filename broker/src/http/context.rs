//! The context of one request: its id, its caller, what its log line says, and the methods that its
//! path has, for the answer to another method.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rocket::Request;
use rocket::http::Method;
use rocket::request::{FromRequest, Outcome};
use rocket::route::Route;

use crate::Broker;
use crate::audit::{Event, Party};
use crate::model::UnixMs;
use crate::random;
use crate::sign_in::Refused;

/// The context of one request.
#[derive(Debug)]
pub(crate) struct RequestContext {
    began: UnixMs,
    request_id: String,
    event: OnceLock<Event>,
    refused: OnceLock<Refused>,
}

/// The event of a request, which its use case fills in. Its context keeps it from the end of
/// the handler on.
pub(crate) struct OpenEvent<'r> {
    event: Event,
    context: &'r RequestContext,
}

impl Deref for OpenEvent<'_> {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

impl DerefMut for OpenEvent<'_> {
    fn deref_mut(&mut self) -> &mut Event {
        &mut self.event
    }
}

impl Drop for OpenEvent<'_> {
    fn drop(&mut self) {
        let empty = Event::between(Party::Browser, Party::Broker);
        let event = std::mem::replace(&mut self.event, empty);
        // Also when the use case panics: the steps it committed are in the log line of the
        // 500.
        let kept = self.context.event.set(event);
        debug_assert!(
            kept.is_ok() || std::thread::panicking(),
            "one use case serves a request"
        );
    }
}

impl RequestContext {
    /// The context of `request`, made when it is first needed.
    pub(crate) fn of<'r>(request: &'r Request<'_>) -> &'r RequestContext {
        request.local_cache(|| RequestContext {
            began: broker(request).core.now(),
            request_id: request_id(),
            event: OnceLock::new(),
            refused: OnceLock::new(),
        })
    }

    /// The time at which the broker began to serve it.
    pub(crate) fn began(&self) -> UnixMs {
        self.began
    }

    /// The `X-Request-Id` of the answer; always the broker's, never the caller's.
    pub(crate) fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Opens the event of this request, for its one use case to fill in.
    pub(crate) fn event(&self) -> OpenEvent<'_> {
        OpenEvent {
            event: Event::between(Party::Browser, Party::Broker),
            context: self,
        }
    }

    /// The event as the use case left it, if one served the request.
    pub(crate) fn filled_event(&self) -> Option<&Event> {
        self.event.get()
    }

    /// Keeps the refusal of this request, for its log line and for the catcher, to which
    /// Rocket passes only the status. The first one stays.
    pub(crate) fn refuse(&self, refused: Refused) {
        self.refused.get_or_init(|| refused);
    }

    /// The refusal of this request, if it was refused.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused.get().copied()
    }
}

/// The broker that serves `request`: its server manages it.
pub(crate) fn broker<'r>(request: &'r Request<'_>) -> &'r Broker {
    let broker = request.rocket().state::<Broker>();
    broker.expect("no broker serves without being managed")
}

/// 16 random characters: enough to find a line in a log.
fn request_id() -> String {
    URL_SAFE_NO_PAD.encode(&random::bytes32()[..12])
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for &'r RequestContext {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(RequestContext::of(request))
    }
}

/// The name of the routes that refuse a method.
pub(crate) const WRONG_METHOD: &str = "wrong method";

/// Every method that Rocket knows.
pub(crate) const METHODS: [Method; 9] = [
    Method::Get,
    Method::Post,
    Method::Put,
    Method::Delete,
    Method::Patch,
    Method::Head,
    Method::Options,
    Method::Trace,
    Method::Connect,
];

/// The methods of the path of `request`, as `Allow` lists them; none, if there is no
/// such path.
pub(crate) fn allowed_methods(request: &Request<'_>) -> Option<&'static str> {
    let path = request.uri().path().as_str();
    let routes = request.rocket().routes().filter(|route| is_own(route));
    let methods = routes
        .filter(|route| matches(route.uri.as_str(), path))
        .map(|route| route.method);
    let methods: Vec<_> = methods.collect();
    match (
        methods.contains(&Method::Get),
        methods.contains(&Method::Post),
    ) {
        (true, true) => Some("GET, HEAD, POST"),
        (true, false) => Some("GET, HEAD"),
        (false, true) => Some("POST"),
        (false, false) => None,
    }
}

/// The preconditions have no name.
fn is_own(route: &Route) -> bool {
    let name = route.name.as_deref();
    name.is_some_and(|name| name != WRONG_METHOD) && route.method != Method::Head
}

/// Whether `path`, which has one spelling, is one of the paths of `template`.
fn matches(template: &str, path: &str) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (Some(part), Some(name)) if part == name || part.starts_with('<') => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

/// The caller of the path: the specification gives backends the versioned operations
/// and the list of providers, and browsers the rest.
pub(crate) fn caller(request: &Request<'_>) -> Party {
    let path = request.uri().path().as_str();
    let first = path.split('/').find(|name| !name.is_empty());
    match first {
        Some("v1" | "api") => Party::Consumer,
        _ => Party::Browser,
    }
}
