//! The routes that answer 405.

use contract::Rule;
use rocket::http::Method;
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use crate::http::response::refusal::Refusal;
use crate::http::route_table::{METHODS, WRONG_METHOD};

/// Wrong methods come after every route.
const RANK: isize = 100;

/// The routes that answer 405 to every method that `routes` do not answer.
pub(crate) fn wrong_methods(routes: &[Route]) -> Vec<Route> {
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

#[derive(Clone)]
struct WrongMethod;

#[rocket::async_trait]
impl Handler for WrongMethod {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        Outcome::from(request, Refusal::from(Rule::RequestMethod))
    }
}
