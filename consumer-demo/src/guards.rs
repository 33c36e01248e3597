//! What a request must be before a handler sees it.

use std::sync::Arc;

use contract::{HandoffCode, Provider, State};
use rocket::http::{Header, Status};
use rocket::outcome::Outcome::{Error, Success};
use rocket::request::{FromParam, FromRequest, Outcome, Request};
use rocket::{Rocket, Sentinel};
use url::form_urlencoded;

use crate::App;

/// A form that was sent from one of our own pages.
///
/// Without this, any page on the web could start a login in its visitor's
/// browser ("login CSRF") or sign them out. Browsers tell where a POST comes
/// from, and a page can't make them lie: `Origin` in all of them, and
/// `Sec-Fetch-Site` in the current ones. No token in the form is needed. A
/// client that sends neither is not a browser, and can only harm itself.
pub(crate) struct OwnForm(());

#[rocket::async_trait]
impl<'r> FromRequest<'r> for OwnForm {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let app: &Arc<App> = request.rocket().state().expect("the sentinel saw it");
        let ours = app.config.consumer_base_url.as_str();
        let headers = request.headers();
        let is_ours = headers.get("Origin").all(|origin| origin == ours)
            && headers
                .get("Sec-Fetch-Site")
                .all(|site| matches!(site, "same-origin" | "none"));
        if is_ours {
            Success(OwnForm(()))
        } else {
            Error((Status::Forbidden, ()))
        }
    }
}

impl Sentinel for OwnForm {
    fn abort(rocket: &Rocket<rocket::Ignite>) -> bool {
        <&rocket::State<Arc<App>>>::abort(rocket)
    }
}

/// A person really goes there: not a browser that fetches ahead, and not a form.
///
/// A callback consumes, so it must not run for a page that nobody may ever look
/// at. The answer is 503 and not an empty 200, which a browser would keep and
/// then show as the page; after a 503 it asks anew. (HEAD, which Rocket answers
/// with the GET handler, has routes of its own beside each callback.)
///
/// A form whose body begins `_method=get` comes here as well: Rocket makes a GET of
/// such a POST. It is answered 405, as a POST is.
pub(crate) struct Visit(());

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
        } else if request.content_type().is_some_and(|media| media.is_form()) {
            Error((Status::MethodNotAllowed, ()))
        } else {
            Success(Visit(()))
        }
    }
}

/// The `<provider>` of a path: `google` or `github`; anything else is a 404.
#[derive(Clone, Copy)]
pub(crate) struct ProviderParam(pub(crate) Provider);

impl FromParam<'_> for ProviderParam {
    type Error = contract::Malformed;

    fn from_param(param: &str) -> Result<Self, Self::Error> {
        param.parse().map(ProviderParam)
    }
}

/// What the browser brings to the legacy callback.
pub(crate) struct Returned {
    /// The `state`, if it came exactly once and has its shape.
    pub(crate) state: Option<State>,
    /// The rest.
    pub(crate) answer: Answer,
}

/// The broker's word, as carried by the browser.
pub(crate) enum Answer {
    /// The login succeeded: the handoff code.
    Code(HandoffCode),
    /// It failed: why.
    Error(String),
    /// Neither, both, or something twice.
    Unreadable,
}

impl Returned {
    fn parse(query: &str) -> Self {
        Self {
            state: only(query, "state").and_then(|state| state.parse().ok()),
            answer: Answer::parse(query),
        }
    }
}

impl Answer {
    fn parse(query: &str) -> Self {
        let code = only(query, "code").and_then(|code| code.parse().ok());
        match (code, only(query, "error")) {
            (Some(code), None) if count(query, "error") == 0 => Answer::Code(code),
            (None, Some(error)) if count(query, "code") == 0 => Answer::Error(error),
            _ => Answer::Unreadable,
        }
    }
}

/// The value of `name`, if it comes exactly once. Twice is never an accident:
/// two readers of the same address might each believe another one.
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
impl<'r> FromRequest<'r> for Returned {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let query = request.uri().query().map_or("", |query| query.as_str());
        Success(Returned::parse(query))
    }
}

/// An answer that sends the browser on with GET, whatever it came with.
///
/// 303 and nothing else: a 307 would have the browser repeat a POST's body at
/// the new address. The `Location` is written as it stands, since an
/// authorization URL has to arrive byte for byte.
#[derive(rocket::Responder)]
#[response(status = 303)]
pub(crate) struct SeeOther {
    body: (),
    location: Header<'static>,
}

impl SeeOther {
    /// To a page of ours.
    pub(crate) fn page(path: &'static str) -> Self {
        Self::to(path.to_owned())
    }

    /// To an address that the caller has checked.
    pub(crate) fn to(address: String) -> Self {
        Self {
            body: (),
            location: Header::new("Location", address),
        }
    }
}
