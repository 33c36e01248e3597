//! The request guards, which refuse a request before its handler runs, and the
//! redirect that handlers answer with.

use std::sync::Arc;

use contract::{HandoffCode, Provider, State};
use rocket::http::{Header, Status};
use rocket::outcome::Outcome::{Error, Success};
use rocket::request::{FromParam, FromRequest, Outcome, Request};
use rocket::{Rocket, Sentinel};
use url::form_urlencoded;

use crate::app::App;

/// A form that was sent from one of our own pages.
///
/// Without this, any page on the web could start a login in its visitor's
/// browser ("login CSRF") or sign them out. Browsers say where a POST comes
/// from, and a page can't make them lie: `Origin` in all of them, and
/// `Sec-Fetch-Site` in the current ones. No token in the form is needed.
///
/// One of the two must *say* that the form is ours. A request that has neither is no
/// browser's, or **the framework has dropped what it had**: Rocket drops every header
/// whose value is not UTF-8, so `Origin: http://evil\xff` looks like none. Check yours.
///
/// Of two `Content-Type` headers Rocket reads the first, and what is in front of us may
/// read the other: such a form is refused.
pub(crate) struct SameOriginPost(());

// [guard]
#[rocket::async_trait]
impl<'r> FromRequest<'r> for SameOriginPost {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let app: &Arc<App> = request.rocket().state().expect("the sentinel saw it");
        let ours = app.config.consumer_base_url.as_str();
        let headers = request.headers();
        let origins = || headers.get("Origin");
        let sites = || headers.get("Sec-Fetch-Site");
        let is_foreign = origins().any(|origin| origin != ours)
            || sites().any(|site| !matches!(site, "same-origin" | "none"));
        let says_ours = origins().next().is_some() || sites().any(|site| site == "same-origin");
        if is_foreign || !says_ours {
            Error((Status::Forbidden, ()))
        } else if headers.get("Content-Type").count() > 1 {
            Error((Status::UnsupportedMediaType, ()))
        } else {
            Success(SameOriginPost(()))
        }
    }
}
// [/]

impl Sentinel for SameOriginPost {
    fn abort(rocket: &Rocket<rocket::Ignite>) -> bool {
        <&rocket::State<Arc<App>>>::abort(rocket)
    }
}

/// A real visit of a page: neither a prefetch nor a form.
///
/// A callback consumes, so it must not run for a page that may never be shown.
/// The answer to a prefetch is 503 and not an empty 200, which a browser would keep
/// and then show as the page; after a 503 it requests the page anew. (HEAD, which
/// Rocket answers with the GET handler, has routes of its own beside each callback.)
///
/// A form whose body begins `_method=get` comes here as well: Rocket makes a GET of
/// such a POST. It is answered 405, as a POST is. A visit has no `Content-Type`.
pub(crate) struct Visit(());

// [guard]
#[rocket::async_trait]
impl<'r> FromRequest<'r> for Visit {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let is_prefetch = ["Sec-Purpose", "Purpose", "X-Moz"].into_iter().any(|name| {
            let mut values = request.headers().get(name);
            values.any(|value| value.to_ascii_lowercase().contains("prefetch"))
        });
        if is_prefetch {
            Error((Status::ServiceUnavailable, ()))
        } else if request.headers().contains("Content-Type") {
            Error((Status::MethodNotAllowed, ()))
        } else {
            Success(Visit(()))
        }
    }
}
// [/]

/// The `<provider>` of a path: `google` or `github`; anything else is a 404.
#[derive(Clone, Copy)]
pub(crate) struct ProviderParam(pub(crate) Provider);

impl FromParam<'_> for ProviderParam {
    type Error = contract::Malformed;

    fn from_param(param: &str) -> Result<Self, Self::Error> {
        param.parse().map(ProviderParam)
    }
}

/// The broker's authorization response (RFC 6749, sections 4.1.2 and 4.1.2.1), which
/// the browser brings to the legacy callback in the query.
pub(crate) struct AuthorizationResponse {
    /// The `state`, if it came exactly once and matches its pattern.
    pub(crate) state: Option<State>,
    pub(crate) code_or_error: CodeOrError,
}

/// The outcome of the login.
pub(crate) enum CodeOrError {
    /// The login succeeded.
    Code(HandoffCode),
    /// The login failed.
    Error(String),
    /// Neither, both, or a parameter twice.
    Malformed,
}

impl AuthorizationResponse {
    fn parse(query: &str) -> Self {
        Self {
            state: only(query, "state").and_then(|state| state.parse().ok()),
            code_or_error: CodeOrError::parse(query),
        }
    }
}

impl CodeOrError {
    fn parse(query: &str) -> Self {
        let code = only(query, "code").and_then(|code| code.parse().ok());
        match (code, only(query, "error")) {
            (Some(code), None) if count(query, "error") == 0 => CodeOrError::Code(code),
            (None, Some(error)) if count(query, "code") == 0 => CodeOrError::Error(error),
            _ => CodeOrError::Malformed,
        }
    }
}

/// The value of `name`, if it comes exactly once. Twice is never an accident:
/// two parsers of the same address might each use another one.
fn only(query: &str, name: &str) -> Option<String> {
    let mut values = pairs(query, name);
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}

fn count(query: &str, name: &str) -> usize {
    pairs(query, name).count()
}

fn pairs(query: &str, name: &str) -> impl Iterator<Item = String> {
    form_urlencoded::parse(query.as_bytes())
        .filter(move |(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for AuthorizationResponse {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let query = request.uri().query().map_or("", |query| query.as_str());
        Success(AuthorizationResponse::parse(query))
    }
}

/// A redirect that the browser follows with GET, whatever its own method was.
///
/// 303 and nothing else: a 307 would have the browser repeat a POST's body at
/// the new address. The `Location` is written unchanged, since an authorization
/// URL has to arrive byte for byte.
#[derive(rocket::Responder)]
#[response(status = 303)]
pub(crate) struct SeeOther {
    body: (),
    location: Header<'static>,
}

impl SeeOther {
    /// A redirect to a page of ours.
    pub(crate) fn page(path: &'static str) -> Self {
        Self::to(path.to_owned())
    }

    /// A redirect to an address that the caller has checked.
    pub(crate) fn to(address: String) -> Self {
        Self {
            body: (),
            location: Header::new("Location", address),
        }
    }
}
