//! The methods of each path, and the answer to the others.

use rocket::http::Method;
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use contract::Rule;

use super::error::Refusal;

/// Wrong methods come after every route.
const RANK: isize = 100;

/// The name of the routes that refuse a method.
const WRONG_METHOD: &str = "wrong method";

/// Every method that Rocket knows.
pub(super) const METHODS: [Method; 9] = [
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

/// For each of `routes`, which answer one method each, a 405 for the others.
pub(super) fn wrong_methods(routes: &[Route]) -> Vec<Route> {
    let own = routes.iter().filter(|route| route.method != Method::Head);
    own.flat_map(|route| {
        METHODS
            .into_iter()
            // HEAD follows GET, by Rocket's own rule.
            .filter(|method| *method != route.method && *method != Method::Head)
            .map(|method| wrong_method(method, route.uri.as_str()))
    })
    .collect()
}

fn wrong_method(method: Method, path: &str) -> Route {
    let mut route = Route::ranked(RANK, method, path, WrongMethod);
    route.name = Some(WRONG_METHOD.into());
    route
}

/// Answers 405.
#[derive(Clone)]
struct WrongMethod;

#[rocket::async_trait]
impl Handler for WrongMethod {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        Outcome::from(request, Refusal::from(Rule::RequestMethod))
    }
}

/// The methods of the path that `request` asks for, as `Allow` names them; none, if
/// there is no such path.
pub(super) fn allowed(request: &Request<'_>) -> Option<&'static str> {
    let path = request.uri().path().as_str();
    let mut routes = request.rocket().routes().filter(|route| is_own(route));
    let route = routes.find(|route| matches(route.uri.as_str(), path))?;
    Some(match route.method {
        Method::Get => "GET, HEAD",
        _ => "POST",
    })
}

/// The gates have no name.
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
