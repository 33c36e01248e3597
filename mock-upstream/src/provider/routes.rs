//! The methods of a path.

use super::pages;
use crate::Provider;
use crate::http::{Request, Response};

/// A method of a path, and the response to it.
pub(crate) type Route<P> = (&'static str, fn(&P, &Request) -> Response);

/// Responds by one of the routes of the request's path, HEAD by that of GET: the server
/// leaves the body out (RFC 9110, section 9.3.2).
pub(crate) fn respond<P>(
    provider: Provider,
    endpoints: &P,
    request: &Request,
    routes: &[Route<P>],
) -> Response {
    let method = match request.is_head() {
        true => "GET",
        false => request.method(),
    };
    match routes.iter().find(|(known, _)| *known == method) {
        Some((_, respond)) => respond(endpoints, request),
        None if routes.is_empty() => pages::not_found(provider),
        None => pages::method_not_allowed(provider, &allowed(routes)),
    }
}

/// The value of `Allow`.
fn allowed<P>(routes: &[Route<P>]) -> String {
    let names = routes.iter().map(|(method, _)| match *method {
        "GET" => "GET, HEAD",
        other => other,
    });
    names.collect::<Vec<_>>().join(", ")
}
