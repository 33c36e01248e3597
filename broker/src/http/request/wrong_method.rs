//! The routes that answer 405.

use std::collections::BTreeSet;

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
    // HEAD follows GET, by Rocket's own rule.
    let own = routes.iter().filter(|route| route.method != Method::Head);
    let own: Vec<_> = own
        .map(|route| (route.uri.as_str(), route.method))
        .collect();
    let paths: BTreeSet<_> = own.iter().map(|(path, _)| *path).collect();
    let all = paths
        .into_iter()
        .flat_map(|path| METHODS.map(|method| (path, method)));
    all.filter(|it| it.1 != Method::Head && !own.contains(it))
        .map(|(path, method)| wrong_method(method, path))
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
