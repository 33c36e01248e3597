//! Refusals on the wire. The status of each rule is decided here and nowhere else.

use std::sync::Arc;

use contract::{ApiError, Rule};
use rocket::Request;
use rocket::http::Status;
use rocket::outcome::Outcome;
use rocket::response::{self, Responder};
use rocket::serde::json::Json;

use super::pages;
use crate::audit::Party;
use crate::http::context::{RequestContext, allowed_methods, broker, caller};
use crate::http::raw_headers::prefers_html;
use crate::projects::Project;
use crate::sign_in::Refused;

/// The answer to a refused request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal {
    pub(crate) status: Status,
    pub(crate) refused: Refused,
}

impl<T: Into<Refused>> From<T> for Refusal {
    fn from(refused: T) -> Self {
        let refused = refused.into();
        Self {
            status: status(refused.rule),
            refused,
        }
    }
}

/// The outcome of a guard of `request`. A refusal goes into the request's context, for its
/// log line and for the page or body of the status.
pub(crate) fn outcome<T, F>(
    admitted: Result<T, impl Into<Refusal>>,
    request: &Request<'_>,
) -> Outcome<T, (Status, Rule), F> {
    match admitted.map_err(Into::into) {
        Ok(admitted) => Outcome::Success(admitted),
        Err(Refusal { status, refused }) => {
            RequestContext::of(request).refuse(refused);
            Outcome::Error((status, refused.rule))
        }
    }
}

/// The status of each rule, unless its endpoint demands another.
fn status(rule: Rule) -> Status {
    match rule {
        Rule::ClientRecognised
        | Rule::BearerShape
        | Rule::BearerKnown
        | Rule::BearerEnded
        | Rule::BearerExpiry => Status::Unauthorized,
        Rule::RelayOwnPage => Status::Forbidden,
        Rule::RequestPath | Rule::HandleKnown => Status::NotFound,
        Rule::RequestMethod => Status::MethodNotAllowed,
        Rule::HandleOneBrowser => Status::Gone,
        Rule::BodySize => Status::PayloadTooLarge,
        Rule::BodyMediaType | Rule::BodyEncoding => Status::UnsupportedMediaType,
        Rule::ClientRateLimit | Rule::SessionQuota | Rule::UpstreamLoginRateLimit => {
            Status::TooManyRequests
        }
        Rule::StoreReachable | Rule::BrokerOverload | Rule::RequestPrefetch => {
            Status::ServiceUnavailable
        }
        Rule::BrokerFault => Status::InternalServerError,
        _ => Status::BadRequest,
    }
}

/// One generic sentence for each status. The audit log and the pages name the rule.
fn message(status: Status) -> &'static str {
    match status.code {
        400 => "The request was refused.",
        401 => "The credentials were not recognised.",
        403 => "The request came from elsewhere.",
        404 => "There is nothing here.",
        405 => "The method is not allowed here.",
        410 => "This belongs to another browser.",
        413 => "The request is too large.",
        415 => "The request must be application/json.",
        429 => "There were too many requests.",
        503 => "The service cannot answer now.",
        _ => "The service failed.",
    }
}

impl<'r> Responder<'r, 'static> for Refusal {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        RequestContext::of(request).refuse(self.refused);
        let rule = self.refused.rule;
        let mut response = body(request, self)?;
        response.set_status(self.status);
        if self.status == Status::Unauthorized || rule == Rule::BearerOnce {
            response.set_raw_header("WWW-Authenticate", challenge(request, rule));
        }
        if let (Rule::RequestMethod, Some(allow)) = (rule, allowed_methods(request)) {
            response.set_raw_header("Allow", allow);
        }
        if let Some(seconds) = self.refused.retry_after_seconds {
            response.set_raw_header("Retry-After", seconds.to_string());
        }
        Ok(response)
    }
}

/// A page where browsers go, if they accept one; the API ignores `Accept`.
fn body(request: &Request<'_>, refusal: Refusal) -> response::Result<'static> {
    if caller(request) == Party::Browser && prefers_html(request.headers()) {
        let context = RequestContext::of(request);
        let project = project(request, context);
        pages::refusal(
            refusal.refused.rule,
            context.request_id(),
            project.as_deref(),
        )
        .respond_to(request)
    } else {
        Json(ApiError::request_failed(message(refusal.status))).respond_to(request)
    }
}

/// The project that the refused sign-in was for, if it is known.
fn project(request: &Request<'_>, context: &RequestContext) -> Option<Arc<Project>> {
    let client_id = context.filled_event()?.project.as_ref()?;
    broker(request).core.projects.find(client_id)
}

/// The challenge that an answer 401 must have (RFC 9110 section 15.5.2).
///
/// Client credentials are in the body. No registered scheme says so: this one is named
/// like OAuth's method, and a client library that knows only Basic passes the answer on.
/// For bearer tokens, RFC 6750 section 3.1 has an error only where a token was sent.
fn challenge(request: &Request<'_>, rule: Rule) -> &'static str {
    match rule {
        Rule::ClientRecognised => r#"client_secret_post realm="fsi""#,
        Rule::BearerOnce => r#"Bearer realm="fsi", error="invalid_request""#,
        _ if request.headers().get("Authorization").any(is_bearer) => {
            r#"Bearer realm="fsi", error="invalid_token""#
        }
        _ => r#"Bearer realm="fsi""#,
    }
}

/// Whether these credentials are of the bearer scheme, however malformed.
fn is_bearer(credentials: &str) -> bool {
    let scheme = credentials.split([' ', '\t', ':', '=', ',']).next();
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}
