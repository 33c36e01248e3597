//! The context of one request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::{ClientId, Provider, Rule};
use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use crate::Broker;
use crate::audit::{Event, Party, Step};
use crate::limits::Later;
use crate::model::LoginId;
use crate::relay::Provenance;
use crate::upstream::{Call, Failure};

/// What is known so far of one request.
#[derive(Debug)]
pub(crate) struct Trace {
    request_id: String,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) project: Option<ClientId>,
    pub(super) provider: Option<Provider>,
    pub(super) login: Option<LoginId>,
    pub(super) provenance: Option<Provenance>,
    pub(super) rule: Option<Rule>,
    pub(super) why: Option<&'static str>,
    pub(super) retry_after_s: Option<u64>,
    pub(super) steps: Vec<Step>,
}

impl Trace {
    /// The trace of `request`, made when it is first asked for.
    pub(crate) fn of<'r>(request: &'r Request<'_>) -> &'r Trace {
        request.local_cache(|| Trace {
            request_id: request_id(),
            notes: Mutex::default(),
        })
    }

    /// The `X-Request-Id` of the answer; always ours, never the caller's.
    pub(crate) fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The rule that refused the request, if one did.
    pub(crate) fn rule(&self) -> Option<Rule> {
        self.notes().rule
    }

    /// Notes whose login it is.
    pub(crate) fn project(&self, project: &ClientId) {
        self.notes().project = Some(project.clone());
    }

    /// Notes where its person signs in.
    pub(crate) fn provider(&self, provider: Provider) {
        self.notes().provider = Some(provider);
    }

    /// Notes which login it is.
    pub(crate) fn login(&self, login: &LoginId) {
        self.notes().login = Some(login.clone());
    }

    /// Notes where the visit began.
    pub(crate) fn began(&self, provenance: Provenance) {
        self.notes().provenance = Some(provenance);
    }

    /// Notes the rule that refused the request.
    pub(crate) fn refused(&self, rule: Rule) {
        self.notes().rule = Some(rule);
    }

    /// Notes when the caller may come again. Returns the rule that it has to keep.
    pub(crate) fn later(&self, later: Later) -> Rule {
        self.notes().retry_after_s = Some(later.in_seconds);
        later.rule
    }

    /// In how many seconds the caller may come again, if it came too often.
    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        self.notes().retry_after_s
    }

    /// Notes why a login failed at its provider.
    pub(crate) fn failed(&self, failure: Failure) {
        let mut notes = self.notes();
        notes.rule = Some(failure.rule());
        notes.why = Some(failure.why());
    }

    /// Notes that a step of the request was committed.
    pub(crate) fn committed(&self, step: Step) {
        self.notes().steps.push(step);
    }

    /// Tells the audit log at once of each call to `provider` that this request makes.
    pub(crate) fn of_calls(
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

    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
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

/// The specification gives backends the versioned operations and the list of
/// providers, and browsers the rest.
pub(crate) fn caller(request: &Request<'_>) -> Party {
    if is_backends(request) {
        Party::Consumer
    } else {
        Party::Browser
    }
}

/// Whether the path is one that backends call.
pub(crate) fn is_backends(request: &Request<'_>) -> bool {
    let path = request.uri().path().as_str();
    let first = path.split('/').find(|name| !name.is_empty());
    matches!(first, Some("v1" | "api"))
}
