//! The routes as a table: the methods of each path, and who calls it.

use rocket::Request;
use rocket::http::Method;
use rocket::route::Route;

use crate::audit::Party;

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
