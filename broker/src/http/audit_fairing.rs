//! What a request leaves in the audit: collected while it is served, recorded
//! when its answer is ready.

use rocket::fairing::{Fairing, Info, Kind};
use rocket::{Request, Response};

use super::context::{Trace, caller};
use super::response::headers::{self, Scheme};
use crate::Broker;
use crate::audit::{Event, Party};
use crate::store::fail_points::FailPoint;

/// Gives every answer its headers and the audit log its event.
pub(super) struct AuditFairing;

#[rocket::async_trait]
impl Fairing for AuditFairing {
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
        broker.fail_points.hit(FailPoint::BeforeAnswer);
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
        request_id: trace.request_id().to_owned(),
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
