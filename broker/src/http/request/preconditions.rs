//! The routes around all others: the preconditions of every request, checked first, at every
//! path and for every method; and the answer 405, given last.

use std::collections::BTreeSet;

use contract::Rule;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::form::Form;
use rocket::http::{Method, Status};
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use crate::http::context::{METHODS, WRONG_METHOD, allowed_methods};
use crate::http::raw_headers::{is, is_host, only};
use crate::http::response::refusal::Refusal;
use crate::untrusted::Query;

/// Preconditions come before every route.
const FIRST: isize = -20;

/// The secrets that must never be in a URL, by the specification.
const SECRETS: &[&str] = &["client_secret", "session_key"];

/// The routes that check the preconditions.
pub(crate) fn routes() -> Vec<Route> {
    METHODS
        .map(|method| Route::ranked(FIRST, method, "/<path..>", Preconditions))
        .into()
}

/// Refuses a request that breaks a precondition, and forwards any other to its route.
#[derive(Clone)]
struct Preconditions;

#[rocket::async_trait]
impl Handler for Preconditions {
    async fn handle<'r>(&self, request: &'r Request<'_>, mut data: Data<'r>) -> Outcome<'r> {
        let rule = match broken_rule(request) {
            None if is_method_overridden(request, &mut data).await => Some(Rule::BodyMediaType),
            rule => rule,
        };
        match rule {
            Some(rule) => Outcome::from(request, Refusal::from(rule)),
            None => Outcome::forward(data, Status::NotFound),
        }
    }
}

/// The rule that refuses a request which Rocket did not route, because it does not
/// know the method or the target is no path. Rocket puts `/` in place of such a target.
pub(crate) fn rule_of_unrouted(request: &Request<'_>) -> Rule {
    broken_rule(request).unwrap_or_else(|| match allowed_methods(request) {
        Some(_) => Rule::RequestMethod,
        None if request.uri().path() == "/" => Rule::RequestHttp,
        None => Rule::RequestPath,
    })
}

fn broken_rule(request: &Request<'_>) -> Option<Rule> {
    let preconditions = [
        (!has_host(request), Rule::RequestHttp),
        (has_in_url(request, SECRETS), Rule::RequestSecretInUrl),
        (
            has_in_url(request, &["code_verifier"]),
            Rule::RequestVerifierInUrl,
        ),
        (is_path_respelt(request), Rule::RequestPath),
        (is_prefetch(request), Rule::RequestPrefetch),
    ];
    preconditions
        .into_iter()
        .find_map(|(is_broken, rule)| is_broken.then_some(rule))
}

/// Whether there is one valid `Host` (RFC 9112 section 3.2). Rocket does not tell HTTP/1.0,
/// which needs none, from HTTP/1.1.
fn has_host(request: &Request<'_>) -> bool {
    only(request.headers(), "Host").is_some_and(is_host)
}

fn has_in_url(request: &Request<'_>, names: &[&str]) -> bool {
    let query = request.uri().query();
    query.is_some_and(|query| Query::parse(query.as_str()).has_any(names))
}

/// Rocket would serve `//authorize`, `/authorize/` and `/%61uthorize` as well,
/// past the rules of a proxy for `/authorize`.
fn is_path_respelt(request: &Request<'_>) -> bool {
    let path = request.uri().path();
    let names: Vec<_> = path.segments().collect();
    path.as_str() != format!("/{}", names.join("/"))
}

/// Turns a HEAD that a form asked for into a GET, which is refused all the same. Rocket
/// would remove the body of the answer, and a client that sent a POST would wait for it
/// until the connection breaks.
pub(crate) struct NoHeadByForm;

#[rocket::async_trait]
impl Fairing for NoHeadByForm {
    fn info(&self) -> Info {
        Info {
            name: "no HEAD by a form",
            kind: Kind::Request,
        }
    }

    async fn on_request(&self, request: &mut Request<'_>, data: &mut Data<'_>) {
        if request.method() == Method::Head && is_method_overridden(request, data).await {
            request.set_method(Method::Get);
        }
    }
}

/// Rocket replaces the method of a form's POST whose first field is `_method`, before
/// any code of ours runs. After that, such a POST looks like a real GET with the same
/// form, so both are refused. A form without that field keeps its method, and its type
/// does not matter where no body is read.
///
/// Type and field are read here as Rocket reads them: the first header, and the
/// first 14 bytes.
async fn is_method_overridden(request: &Request<'_>, data: &mut Data<'_>) -> bool {
    let is_form = request.content_type().is_some_and(|media| media.is_form());
    if !is_form || request.method() == Method::Post {
        return false;
    }
    let start = data.peek("_method=delete".len()).await;
    let form = std::str::from_utf8(start).ok();
    let field = form.and_then(|form| Form::values(form).next());
    field.is_some_and(|field| field.name == "_method")
}

/// A browser would show a prefetched answer as the real page. After a 503 it sends a new
/// request when the user really goes there.
fn is_prefetch(request: &Request<'_>) -> bool {
    // Today's name, Safari's, and the one that Firefox had.
    ["Sec-Purpose", "Purpose", "X-Moz"]
        .into_iter()
        .flat_map(|name| request.headers().get(name))
        .any(|purpose| is(purpose, "prefetch"))
}

/// Wrong methods come after every route.
const LAST: isize = 100;

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
    let mut route = Route::ranked(LAST, method, path, WrongMethod);
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
