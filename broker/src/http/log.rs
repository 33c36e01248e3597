//! What a request leaves in the audit: collected while it is served, recorded
//! when its answer is ready.

use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::{ClientId, Provider, Rule};
use rocket::fairing::{Fairing, Info, Kind};
use rocket::request::{FromRequest, Outcome};
use rocket::{Request, Response};

use super::headers::{self, Scheme};
use crate::Broker;
use crate::audit::{Event, Party, Step};
use crate::limits::Later;
use crate::model::LoginId;
use crate::relay::Provenance;
use crate::store::fail_points::FailPoint;
use crate::upstream::{Call, Failure};

/// What is known so far of one request.
#[derive(Debug)]
pub(super) struct Trace {
    request_id: String,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    project: Option<ClientId>,
    provider: Option<Provider>,
    login: Option<LoginId>,
    provenance: Option<Provenance>,
    rule: Option<Rule>,
    why: Option<&'static str>,
    retry_after_s: Option<u64>,
    steps: Vec<Step>,
}

impl Trace {
    /// The trace of `request`, made when it is first asked for.
    pub(super) fn of<'r>(request: &'r Request<'_>) -> &'r Trace {
        request.local_cache(|| Trace {
            request_id: request_id(),
            notes: Mutex::default(),
        })
    }

    /// The `X-Request-Id` of the answer; always ours, never the caller's.
    pub(super) fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The rule that refused the request, if one did.
    pub(super) fn rule(&self) -> Option<Rule> {
        self.notes().rule
    }

    /// Notes whose login it is.
    pub(super) fn project(&self, project: &ClientId) {
        self.notes().project = Some(project.clone());
    }

    /// Notes where its person signs in.
    pub(super) fn provider(&self, provider: Provider) {
        self.notes().provider = Some(provider);
    }

    /// Notes which login it is.
    pub(super) fn login(&self, login: &LoginId) {
        self.notes().login = Some(login.clone());
    }

    /// Notes where the visit began.
    pub(super) fn began(&self, provenance: Provenance) {
        self.notes().provenance = Some(provenance);
    }

    /// Notes the rule that refused the request.
    pub(super) fn refused(&self, rule: Rule) {
        self.notes().rule = Some(rule);
    }

    /// Notes when the caller may come again. Returns the rule that it has to keep.
    pub(super) fn later(&self, later: Later) -> Rule {
        self.notes().retry_after_s = Some(later.in_seconds);
        later.rule
    }

    /// In how many seconds the caller may come again, if it came too often.
    pub(super) fn retry_after_s(&self) -> Option<u64> {
        self.notes().retry_after_s
    }

    /// Notes why a login failed at its provider.
    pub(super) fn failed(&self, failure: Failure) {
        let mut notes = self.notes();
        notes.rule = Some(failure.rule());
        notes.why = Some(failure.why());
    }

    /// Notes that a step of the request was committed.
    pub(super) fn committed(&self, step: Step) {
        self.notes().steps.push(step);
    }

    /// Tells the audit log at once of each call to `provider` that this request makes.
    pub(super) fn of_calls(
        &self,
        broker: &Broker,
        provider: Provider,
    ) -> impl Fn(Call) + Send + Sync {
        move |call| {
            let notes = self.notes();
            broker.audit.record(&Event {
                at: broker.now(),
                request_id: self.request_id.clone(),
                from: Party::Broker,
                to: Party::Provider(provider),
                operation: call.operation.to_owned(),
                status: call.outcome.ok(),
                project: notes.project.clone(),
                provider: Some(provider),
                took: Some(call.took),
                login: notes.login.clone(),
                provenance: None,
                rule: call.outcome.err().map(Failure::rule),
                why: call.outcome.err().map(Failure::why),
                steps: Vec::new(),
            });
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 16 characters: enough to find a line in a log.
fn request_id() -> String {
    let mut id = contract::Digest::of(&crate::random::bytes32()).to_text();
    id.truncate(16);
    id
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for &'r Trace {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Trace::of(request))
    }
}

/// Gives every answer its headers and the audit log its event.
pub(super) struct Recorder;

#[rocket::async_trait]
impl Fairing for Recorder {
    fn info(&self) -> Info {
        Info {
            name: "headers and audit log",
            kind: Kind::Response,
        }
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        close(request, response);
    }
}

/// Gives the answer to `request` its headers, and the audit log its event.
pub(super) fn close(request: &Request<'_>, response: &mut Response<'_>) {
    complete(request, response);
    if let Some(broker) = request.rocket().state::<Broker>() {
        broker.audit.record(&event(broker, request, response));
        broker.fail_points.reached(FailPoint::BeforeAnswer);
    }
}

fn complete(request: &Request<'_>, response: &mut Response<'_>) {
    let scheme = match request.rocket().state::<Broker>() {
        Some(broker) if broker.base_url.is_https() => Scheme::Https,
        _ => Scheme::Http,
    };
    headers::complete(response, Trace::of(request).request_id(), scheme);
}

fn event(broker: &Broker, request: &Request<'_>, response: &Response<'_>) -> Event {
    let trace = Trace::of(request);
    let notes = trace.notes();
    Event {
        at: broker.now(),
        request_id: trace.request_id.clone(),
        from: caller(request),
        to: Party::Broker,
        operation: operation(request),
        status: Some(response.status().code),
        project: notes.project.clone(),
        provider: notes.provider,
        took: None,
        login: notes.login.clone(),
        provenance: notes.provenance,
        rule: notes.rule,
        why: notes.why,
        steps: notes.steps.clone(),
    }
}

/// The specification gives backends the versioned operations and the list of
/// providers, and browsers the rest.
fn caller(request: &Request<'_>) -> Party {
    if is_backends(request) {
        Party::Consumer
    } else {
        Party::Browser
    }
}

/// Whether the path is one that backends call.
pub(super) fn is_backends(request: &Request<'_>) -> bool {
    let path = request.uri().path().as_str();
    let first = path.split('/').find(|name| !name.is_empty());
    matches!(first, Some("v1" | "api"))
}

/// Method and route, never the path that was asked for: it may bear a login.
fn operation(request: &Request<'_>) -> String {
    let method = request.method();
    match request.route() {
        // Only the gates before all routes have no name.
        Some(route) if route.name.is_some() => {
            let template = route.uri.to_string().replace('<', "{").replace('>', "}");
            format!("{method} {template}")
        }
        Some(_) => format!("{method} (no route)"),
        // Rocket puts GET in place of a method that it does not know.
        None => "_OTHER (no route)".to_owned(),
    }
}
