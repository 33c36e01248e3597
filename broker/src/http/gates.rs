//! What holds for every path: gates before all routes, and the answer for a
//! method that a path does not know.

use contract::Rule;
use rocket::http::{Method, Status};
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use super::error::Refusal;
use crate::query::Query;

/// Gates come before every route.
const GATE_RANK: isize = -20;

/// Wrong methods come after every route.
const METHOD_RANK: isize = 100;

/// Names of secrets that must never be seen in a URL.
const SECRETS: &[&str] = &["client_secret", "session_key", "code_verifier"];

const METHODS: [Method; 8] = [
    Method::Get,
    Method::Post,
    Method::Put,
    Method::Delete,
    Method::Patch,
    Method::Head,
    Method::Options,
    Method::Trace,
];

/// The gates, before all routes.
pub(super) fn gates() -> Vec<Route> {
    METHODS
        .map(|method| Route::ranked(GATE_RANK, method, "/<path..>", Gate))
        .into()
}

/// For each of `routes`, which answer one method each, a 405 for the others.
pub(super) fn wrong_methods(routes: &[Route]) -> Vec<Route> {
    let own = routes.iter().filter(|route| route.method != Method::Head);
    own.flat_map(|route| {
        METHODS
            .into_iter()
            // HEAD follows GET, by Rocket's own rule.
            .filter(|method| *method != route.method && *method != Method::Head)
            .map(|method| wrong_method(method, route.uri.as_str(), route.method))
    })
    .collect()
}

fn wrong_method(method: Method, path: &str, allowed: Method) -> Route {
    let mut route = Route::ranked(METHOD_RANK, method, path, WrongMethod(allowed));
    route.name = Some("wrong method".into());
    route
}

/// Refuses what no path may see, and lets everything else on to its route.
#[derive(Clone)]
struct Gate;

#[rocket::async_trait]
impl Handler for Gate {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r> {
        match broken_rule(request) {
            Some(rule) => Outcome::from(request, Refusal::from(rule)),
            None => Outcome::forward(data, Status::NotFound),
        }
    }
}

fn broken_rule(request: &Request<'_>) -> Option<Rule> {
    let gates = [
        (has_secret_in_url(request), Rule::RequestSecretInUrl),
        (is_path_respelt(request), Rule::RequestPath),
        (is_method_overridden(request), Rule::BodyMediaType),
        (is_prefetch(request), Rule::RequestPrefetch),
    ];
    gates
        .into_iter()
        .find_map(|(is_broken, rule)| is_broken.then_some(rule))
}

fn has_secret_in_url(request: &Request<'_>) -> bool {
    let query = request.uri().query();
    query.is_some_and(|query| Query::parse(query.as_str()).has_any(SECRETS))
}

/// Rocket would serve `//authorize`, `/authorize/` and `/%61uthorize` as well,
/// past whatever a proxy in front says of `/authorize`.
fn is_path_respelt(request: &Request<'_>) -> bool {
    let path = request.uri().path();
    let names: Vec<_> = path.segments().collect();
    path.as_str() != format!("/{}", names.join("/"))
}

/// Rocket makes another method of a form's POST that begins `_method=`.
fn is_method_overridden(request: &Request<'_>) -> bool {
    let is_form = request.content_type().is_some_and(|media| media.is_form());
    is_form && request.method() != Method::Post
}

/// A browser would show a prefetched answer as the real page. After a 503 it asks
/// anew when the person really goes there.
fn is_prefetch(request: &Request<'_>) -> bool {
    let mut purposes = request.headers().get("Sec-Purpose");
    purposes.any(|purpose| purpose.contains("prefetch"))
}

/// Answers 405 and says which method would do.
#[derive(Clone)]
struct WrongMethod(Method);

#[rocket::async_trait]
impl Handler for WrongMethod {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        let refusal = Refusal::from(Rule::RequestMethod);
        match rocket::response::Responder::respond_to(refusal, request) {
            Ok(mut response) => {
                response.set_raw_header("Allow", allow(self.0));
                Outcome::Success(response)
            }
            Err(status) => Outcome::Error(status),
        }
    }
}

fn allow(method: Method) -> &'static str {
    match method {
        Method::Get => "GET, HEAD",
        _ => "POST",
    }
}
