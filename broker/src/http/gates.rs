//! What holds for every path and every method: gates before all routes.

use contract::Rule;
use rocket::http::{Method, Status};
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use super::error::Refusal;
use super::methods::{self, METHODS};
use crate::query::Query;

/// Gates come before every route.
const GATE_RANK: isize = -20;

/// Names of secrets that must never be seen in a URL.
const SECRETS: &[&str] = &["client_secret", "session_key", "code_verifier"];

/// The gates, before all routes.
pub(super) fn gates() -> Vec<Route> {
    METHODS
        .map(|method| Route::ranked(GATE_RANK, method, "/<path..>", Gate))
        .into()
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

/// The rule that refuses a request which Rocket did not route, because it does not
/// know the method or the target is no path. Rocket puts `/` in place of such a target.
pub(super) fn rule_of_unrouted(request: &Request<'_>) -> Rule {
    broken_rule(request).unwrap_or_else(|| match methods::allowed(request) {
        Some(_) => Rule::RequestMethod,
        None if request.uri().path() == "/" => Rule::RequestHttp,
        None => Rule::RequestPath,
    })
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
