//! The end of every request: what no handler answered is caught, the answer gets its headers,
//! and the event goes to the audit log.

use contract::{Origin, Rule};
use rocket::fairing::AdHoc;
use rocket::http::{Header, Status};
use rocket::response::{self, Responder};
use rocket::{Request, Response, catch};

use super::context::{RequestContext, broker, caller};
use super::raw_headers;
use super::request::preconditions::rule_of_unrouted;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::audit::{Event, Party};
use crate::store::fail_points::FailPoint;

/// The fairing that completes every answer that Rocket sends.
pub(super) fn fairing() -> AdHoc {
    AdHoc::on_response("headers and audit log", |request, response| {
        Box::pin(async move { close(request, response) })
    })
}

/// Completes the answer to `request`, and records its event.
fn close(request: &Request<'_>, response: &mut Response<'_>) {
    let (broker, context) = (broker(request), RequestContext::of(request));
    complete_headers(response, context.request_id(), &broker.core.base_url);
    broker.audit.record(&event(broker, request, response));
    broker.fail_points.hit(FailPoint::BeforeAnswer);
}

/// The pages load their style, and nothing else. No `form-action`: browsers apply it to
/// the redirects after a form, too.
const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds the headers that `response` does not have yet.
fn complete_headers(response: &mut Response<'_>, request_id: &str, base_url: &Origin) {
    response.set_raw_header("X-Request-Id", request_id.to_owned());
    for (name, value) in [
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ] {
        set_if_absent(response, Header::new(name, value));
    }
    // On a redirect it would sever a popup from its opener.
    if is_html(response) {
        set_if_absent(
            response,
            Header::new("Cross-Origin-Opener-Policy", "same-origin"),
        );
    }
    if base_url.is_https() {
        set_if_absent(
            response,
            Header::new("Strict-Transport-Security", "max-age=31536000"),
        );
    }
}

fn is_html(response: &Response<'_>) -> bool {
    let media_type = response.headers().get_one("Content-Type");
    media_type.is_some_and(|it| raw_headers::is(it, "text/html"))
}

fn set_if_absent(response: &mut Response<'_>, header: Header<'static>) {
    if !response.headers().contains(header.name().as_str()) {
        response.set_header(header);
    }
}

fn event(broker: &Broker, request: &Request<'_>, response: &Response<'_>) -> Event {
    let context = RequestContext::of(request);
    let from = caller(request);
    let filled = context.filled_event().cloned();
    let filled = filled.unwrap_or_else(|| Event::between(from, Party::Broker));
    let at = broker.core.now();
    Event {
        at,
        took: Some(at.since(context.began())),
        request_id: context.request_id().to_owned(),
        from,
        operation: operation(request),
        status: Some(response.status().code),
        // The rule of a refusal replaces the one by which a login failed.
        rule: context.refused().map(|it| it.rule).or(filled.rule),
        ..filled
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

/// Answers the refusals of guards, and those of Rocket itself.
#[catch(default)]
pub(super) fn catch(status: Status, request: &Request<'_>) -> Caught {
    // The preconditions answer at every path, so what Rocket can read has a route.
    if request.route().is_none() {
        return Caught(rule_of_unrouted(request).into());
    }
    let by_guard = RequestContext::of(request).refused();
    Caught(Refusal {
        status: refusal_status(status),
        refused: by_guard.unwrap_or_else(|| rule_of(status).into()),
    })
}

/// A refusal by Rocket or by a guard.
pub(super) struct Caught(Refusal);

impl<'r> Responder<'r, 'static> for Caught {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let mut response = self.0.respond_to(request)?;
        if request.route().is_none() {
            // Rocket answers a request line that it cannot read without its fairings.
            close(request, &mut response);
        }
        Ok(response)
    }
}

fn rule_of(status: Status) -> Rule {
    match status.code {
        404 => Rule::RequestPath,
        405 => Rule::RequestMethod,
        413 => Rule::BodySize,
        500.. => Rule::BrokerFault,
        _ => Rule::RequestHttp,
    }
}

/// The broker's status for one of Rocket's own.
fn refusal_status(status: Status) -> Status {
    match status.code {
        400 | 401 | 403 | 404 | 405 | 410 | 413 | 415 | 429 | 500 | 503 => status,
        400..=499 => Status::BadRequest,
        _ => Status::InternalServerError,
    }
}
