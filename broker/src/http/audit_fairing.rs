//! The fairing that completes every answer with its headers, and records its event
//! in the audit log.

use rocket::fairing::{Fairing, Info, Kind};
use rocket::{Request, Response};

use super::context::RequestContext;
use super::response::headers::{self, Scheme};
use super::route_table::caller;
use crate::Broker;
use crate::audit::{Event, Party};
use crate::store::fail_points::FailPoint;

/// Completes every answer that Rocket sends.
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

/// Completes the answer to `request`, and records its event.
pub(super) fn close(request: &Request<'_>, response: &mut Response<'_>) {
    complete(request, response);
    if let Some(broker) = request.rocket().state::<Broker>() {
        broker.audit.record(&event(broker, request, response));
        broker.fail_points.hit(FailPoint::BeforeAnswer);
    }
}

fn complete(request: &Request<'_>, response: &mut Response<'_>) {
    let scheme = match request.rocket().state::<Broker>() {
        Some(broker) if broker.core.base_url.is_https() => Scheme::Https,
        _ => Scheme::Http,
    };
    headers::complete(response, RequestContext::of(request).request_id(), scheme);
}

fn event(broker: &Broker, request: &Request<'_>, response: &Response<'_>) -> Event {
    let context = RequestContext::of(request);
    let reported = context.log_fields();
    Event {
        at: broker.core.now(),
        request_id: context.request_id().to_owned(),
        from: caller(request),
        to: Party::Broker,
        operation: operation(request),
        status: Some(response.status().code),
        project: reported.and_then(|it| it.project.clone()),
        provider: reported.and_then(|it| it.provider),
        took: None,
        login: reported.and_then(|it| it.login.clone()),
        provenance: reported.and_then(|it| it.provenance),
        same_traits: reported.and_then(|it| it.same_traits),
        rule: context.rule(),
        why: reported.and_then(|it| it.why),
        steps: reported.map(|it| it.steps.clone()).unwrap_or_default(),
    }
}

/// Method and route, never the path of the request: it may contain a handle.
fn operation(request: &Request<'_>) -> String {
    let method = request.method();
    match request.route() {
        // Only the preconditions, which answer at every path, have no name.
        Some(route) if route.name.is_some() => {
            let template = route.uri.as_str().chars().map(|char| match char {
                '<' => '{',
                '>' => '}',
                other => other,
            });
            let method = method.as_str().chars();
            method.chain([' ']).chain(template).collect()
        }
        Some(_) => format!("{method} (no route)"),
        // Rocket puts GET in place of a method that it does not know.
        None => "_OTHER (no route)".to_owned(),
    }
}
