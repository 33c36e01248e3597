//! The answers to requests that no handler answered.

use contract::Rule;
use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::{Request, catch};

use super::audit_fairing::close;
use super::context::RequestContext;
use super::request::preconditions::rule_of_unrouted;
use super::response::refusal::Refusal;

/// Answers the refusals of guards, and those of Rocket itself.
#[catch(default)]
pub(crate) fn catch(status: Status, request: &Request<'_>) -> Caught {
    // The preconditions answer at every path, so what Rocket can read has a route.
    if request.route().is_none() {
        return Caught::Unrouted(rule_of_unrouted(request).into());
    }
    let by_guard = RequestContext::of(request).refused();
    Caught::Routed(Refusal {
        status: refusal_status(status),
        refused: by_guard.unwrap_or_else(|| rule_of(status).into()),
    })
}

/// A refusal by Rocket or by a guard.
pub(crate) enum Caught {
    /// Its answer passes the fairings.
    Routed(Refusal),
    /// Rocket answers a request line that it cannot read without them.
    Unrouted(Refusal),
}

impl<'r> Responder<'r, 'static> for Caught {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        match self {
            Caught::Routed(refusal) => refusal.respond_to(request),
            Caught::Unrouted(refusal) => {
                let mut response = refusal.respond_to(request)?;
                close(request, &mut response);
                Ok(response)
            }
        }
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
