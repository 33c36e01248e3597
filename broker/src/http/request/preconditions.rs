//! The gates before all routes, for every path and every method.

use contract::Rule;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::form::Form;
use rocket::http::{Method, Status};
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use crate::http::methods::{self, METHODS};
use crate::http::raw_headers::is;
use crate::http::response::refusal::Refusal;
use crate::query::Query;

/// Gates come before every route.
const GATE_RANK: isize = -20;

/// Names of secrets that must never be seen in a URL, by the specification.
const SECRETS: &[&str] = &["client_secret", "session_key"];

/// The gates, before all routes.
pub(crate) fn routes() -> Vec<Route> {
    METHODS
        .map(|method| Route::ranked(GATE_RANK, method, "/<path..>", Gate))
        .into()
}

/// Refuses what no path may see, and lets everything else on to its route.
#[derive(Clone)]
struct Gate;

#[rocket::async_trait]
impl Handler for Gate {
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
    broken_rule(request).unwrap_or_else(|| match methods::allowed(request) {
        Some(_) => Rule::RequestMethod,
        None if request.uri().path() == "/" => Rule::RequestHttp,
        None => Rule::RequestPath,
    })
}

fn broken_rule(request: &Request<'_>) -> Option<Rule> {
    let gates = [
        (has_in_url(request, SECRETS), Rule::RequestSecretInUrl),
        (
            has_in_url(request, &["code_verifier"]),
            Rule::RequestVerifierInUrl,
        ),
        (is_path_respelt(request), Rule::RequestPath),
        (is_prefetch(request), Rule::RequestPrefetch),
    ];
    gates
        .into_iter()
        .find_map(|(is_broken, rule)| is_broken.then_some(rule))
}

fn has_in_url(request: &Request<'_>, names: &[&str]) -> bool {
    let query = request.uri().query();
    query.is_some_and(|query| Query::parse(query.as_str()).has_any(names))
}

/// Rocket would serve `//authorize`, `/authorize/` and `/%61uthorize` as well,
/// past whatever a proxy in front says of `/authorize`.
fn is_path_respelt(request: &Request<'_>) -> bool {
    let path = request.uri().path();
    let names: Vec<_> = path.segments().collect();
    path.as_str() != format!("/{}", names.join("/"))
}

/// Takes a HEAD that a form asked for as a GET, which is refused like it. Rocket
/// would take the body off the answer, and a client that sent a POST would wait for
/// it until the connection breaks.
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

/// Rocket makes another method of a form's POST whose first field is `_method`,
/// before anything of ours runs. Afterwards such a POST cannot be told from a real
/// GET with the same form, so both are refused; a form without that field has the
/// method that was sent, and its type is nobody's concern where no body is read.
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

/// A browser would show a prefetched answer as the real page. After a 503 it asks
/// anew when the person really goes there.
fn is_prefetch(request: &Request<'_>) -> bool {
    // Today's name, Safari's, and the one that Firefox had.
    ["Sec-Purpose", "Purpose", "X-Moz"]
        .into_iter()
        .flat_map(|name| request.headers().get(name))
        .any(|purpose| is(purpose, "prefetch"))
}
