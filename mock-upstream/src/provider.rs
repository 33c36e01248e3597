//! The parts that both providers share, which know neither of them: the context of a running
//! provider, its stores, PKCE, the sign-in page, and the misbehaviours of a token endpoint.
//! Here: the endpoints of a provider, and the methods of a path.

pub(crate) mod context;

pub(crate) mod authorization;
pub(crate) mod pages;
mod remembered;
pub(crate) mod sign_in;

pub(crate) mod corrupt;

use crate::Provider;
use crate::http::{Request, Response};
use crate::journal::{IdTokenReport, Recipient};

/// The endpoints of one provider, with the codes and tokens that they issued.
pub(crate) trait Endpoints: Send + Sync {
    /// Responds to one request without waiting.
    fn respond(&self, request: &Request) -> Response;

    /// The report on an ID token for this recipient; `None` of a provider that issues none.
    fn id_token_report(&self, _token: &str, _recipient: &Recipient<'_>) -> Option<IdTokenReport> {
        None
    }

    /// Rotates the keys by one step, if it has any.
    fn rotate_keys(&self) {}

    /// The URLs that a client is configured with, by what they are.
    fn urls(&self) -> Vec<(&'static str, String)>;

    /// The bytes that pending sign-ins, codes and tokens take.
    fn bytes_held(&self) -> usize;

    /// Forgets pending sign-ins, codes and tokens.
    fn reset(&self);
}

/// A method of a path, and the response to it.
pub(crate) type Route<P> = (&'static str, fn(&P, &Request) -> Response);

/// Responds by one of the routes of the request's path, HEAD by that of GET: the server
/// leaves the body out (RFC 9110, section 9.3.2).
pub(crate) fn respond_by<P>(
    routes: &[Route<P>],
    provider: Provider,
    endpoints: &P,
    request: &Request,
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
