//! A request to the control address, as its handlers take it: its JSON body, or the page that
//! its form is on. And its refusal, also by the forms of the pages: JSON, with one sentence
//! that names what was wrong and what would be right.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use askama::Template;
use rocket::data::{self, Data, FromData, ToByteUnit as _};
use rocket::http::ext::IntoOwned as _;
use rocket::http::uri::Origin;
use rocket::http::{MediaType, Status};
use rocket::request::{FromRequest, Outcome};
use rocket::response::{self, Redirect, Responder};
use rocket::serde::DeserializeOwned;
use rocket::serde::json::{Json, json};
use rocket::{Request, State, catch};

use crate::page::{PageHeader, PageResponse, html};
use crate::runtime::{RunningUpstream, StackRuntime};

/// The stack of a control address, as its handlers take it.
pub(crate) type Runtime = State<Arc<StackRuntime>>;

/// The imitated providers of a control address, and their stack unless they are alone.
#[derive(Clone, Copy)]
pub(crate) struct Imitated<'r> {
    pub(crate) upstream: &'r RunningUpstream,
    pub(crate) stack: Option<&'r StackRuntime>,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Imitated<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let stack = request.rocket().state::<Arc<StackRuntime>>();
        let stack = stack.map(AsRef::as_ref);
        let alone = request.rocket().state::<Arc<RunningUpstream>>();
        let upstream = stack.map_or_else(|| alone.map(AsRef::as_ref), |it| Some(&it.upstream));
        let upstream = upstream.expect("each control address has them");
        Outcome::Success(Self { upstream, stack })
    }
}

/// The limit for a body, far above any call that has no limit of its own.
const MAX_BODY_KIB: u64 = 64;

/// A JSON body, or an error that names the wrong field. An empty body is an empty object.
pub(crate) struct JsonBody<T, const MAX_KIB: u64 = MAX_BODY_KIB>(pub(crate) T);

#[rocket::async_trait]
impl<'r, T: DeserializeOwned, const MAX_KIB: u64> FromData<'r> for JsonBody<T, MAX_KIB> {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> data::Outcome<'r, Self, ()> {
        match read(data, MAX_KIB).await {
            Ok(body) => data::Outcome::Success(JsonBody(body)),
            Err(error) => {
                let status = error.status;
                request.local_cache(|| Some(error));
                data::Outcome::Error((status, ()))
            }
        }
    }
}

async fn read<T: DeserializeOwned>(data: Data<'_>, max_kib: u64) -> Result<T, ControlError> {
    let bytes = data
        .open(max_kib.kibibytes())
        .into_bytes()
        .await
        .map_err(|_| ControlError::bad_request("the body broke off"))?;
    if !bytes.is_complete() {
        let message = format!("a body has at most {max_kib} KiB");
        return Err(ControlError::bad_request(message));
    }
    let body = match bytes.is_empty() {
        true => b"{}",
        false => bytes.as_slice(),
    };
    // serde would also take an array of the fields' values in their order.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(ControlError::bad_request("a body is one JSON object"));
    }
    parse(body)
}

/// Control calls carry no secrets, so the parser's message may quote the body.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ControlError> {
    let mut parser = serde_json::Deserializer::from_slice(body);
    let parsed = serde_path_to_error::deserialize(&mut parser);
    let parsed = parsed.map_err(|error| match error.path().to_string().as_str() {
        // The message of an unknown or missing field names it.
        "." => ControlError::bad_request(error.inner()),
        path => ControlError::bad_request(format!("{path}: {}", explain(error.inner()))),
    })?;
    parser.end().map_err(ControlError::bad_request)?;
    Ok(parsed)
}

/// The message of the parser. It reads a whole number beyond 64 bits as a floating-point one,
/// and blames that.
fn explain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let number = message.strip_prefix("invalid type: floating point `");
    let number = number.and_then(|rest| rest.split_once('`'));
    match number {
        Some((number, rest)) if is_beyond_64_bits(number) => {
            format!("the number is too large{rest}")
        }
        _ => message,
    }
}

fn is_beyond_64_bits(number: &str) -> bool {
    number
        .parse()
        .is_ok_and(|number: f64| number.abs() >= 2f64.powi(63))
}

/// The answer to a form: back to its page.
pub(crate) type RedirectBack = Result<Redirect, ControlError>;

/// The path of the page that a form is on, from its `Referer`.
pub(crate) struct ReturnPath<'r>(Option<Origin<'r>>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for ReturnPath<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        // The guard has checked that the origin is our own. Only the path is used.
        let referer = request.headers().get_one("Referer");
        let origin = request.headers().get_one("Origin").unwrap_or_default();
        let path = referer.and_then(|it| it.strip_prefix(origin));
        let path = path.filter(|it| !it.starts_with("//"));
        // A program can send any Referer, also one that is no URI.
        Outcome::Success(ReturnPath(path.and_then(|it| Origin::parse(it).ok())))
    }
}

impl ReturnPath<'_> {
    /// Redirects to the page with another exchange open, if it was a page with one.
    pub(crate) fn redirect_to_call(self, call: Option<&str>) -> RedirectBack {
        let (Some(page), Some(call)) = (&self.0, call) else {
            return self.redirect();
        };
        let shows_calls = page
            .query()
            .is_some_and(|query| query.as_str().starts_with("call="));
        if !shows_calls {
            return self.redirect();
        }
        let url = Origin::parse_owned(format!("{}?call={call}", page.path()));
        Ok(url.map_or_else(|_| Redirect::to("/"), Redirect::to))
    }

    pub(crate) fn redirect(self) -> RedirectBack {
        let page = self.0.map(Origin::into_owned);
        Ok(page.map_or_else(|| Redirect::to("/"), Redirect::to))
    }
}

/// A refused or failed control call.
#[derive(Debug, Clone)]
pub(crate) struct ControlError {
    pub(crate) status: Status,
    message: String,
    /// The methods that the path answers, if the call has another.
    allow: Option<String>,
}

impl ControlError {
    /// 400: the call itself is wrong.
    pub(crate) fn bad_request(message: impl Display) -> Self {
        Self::new(Status::BadRequest, message)
    }

    /// 403: the caller is not allowed.
    pub(crate) fn forbidden(message: impl Display) -> Self {
        Self::new(Status::Forbidden, message)
    }

    /// 404: the named object does not exist.
    pub(crate) fn not_found(message: impl Display) -> Self {
        Self::new(Status::NotFound, message)
    }

    /// 415: the body has another media type than `expected`.
    pub(crate) fn media_type(expected: &str) -> Self {
        let message = format!("the body must be sent as {expected}");
        Self::new(Status::UnsupportedMediaType, message)
    }

    /// 429: there are as many already as are allowed.
    pub(crate) fn too_many(message: impl Display) -> Self {
        Self::new(Status::TooManyRequests, message)
    }

    /// 503: this machine cannot do it now.
    pub(crate) fn unavailable(message: impl Display) -> Self {
        Self::new(Status::ServiceUnavailable, message)
    }

    /// The same error, after a sentence about what was done before it.
    pub(crate) fn after(self, done: impl Display) -> Self {
        Self::new(self.status, format_args!("{done}: {}", self.message))
    }

    /// The same error, about a member of `field`.
    pub(crate) fn within(self, field: &str) -> Self {
        let message = format!("{field}.{}", self.message);
        Self { message, ..self }
    }

    /// 500: the stack failed.
    pub(crate) fn internal(message: impl Display) -> Self {
        Self::new(Status::InternalServerError, message)
    }

    fn new(status: Status, message: impl Display) -> Self {
        Self {
            status,
            message: message.to_string(),
            allow: None,
        }
    }

    /// 405: the path answers other methods.
    fn wrong_method(methods: String) -> Self {
        let message = format!("this path answers {methods}; the calls are listed at /calls");
        Self {
            allow: Some(methods),
            ..Self::new(Status::MethodNotAllowed, message)
        }
    }
}

impl<'r> Responder<'r, 'static> for ControlError {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let body = Json(json!({ "error": "control_refused", "message": self.message }));
        let mut response = (self.status, body).respond_to(request)?;
        if let Some(methods) = self.allow {
            response.set_raw_header("Allow", methods);
        }
        Ok(response)
    }
}

/// Parses the field `name`; the error lists the values that it takes.
pub(crate) fn parse_field<T: FromStr<Err: Display>>(
    name: &str,
    text: &str,
) -> Result<T, ControlError> {
    text.parse()
        .map_err(|error| ControlError::bad_request(format!("{name}: {error}")))
}

/// The answer to a call that no handler answered: a page for a browser that looks for one, and
/// otherwise an error.
#[catch(default)]
pub(crate) fn catch(status: Status, request: &Request<'_>) -> Result<PageResponse, ControlError> {
    let error = explained(status, request);
    let page = missing_page(request).filter(|_| error.status == Status::NotFound);
    page.ok_or(error)
}

/// The page of a path that has none; `None` for a program, or outside of a stack.
fn missing_page(request: &Request<'_>) -> Option<PageResponse> {
    let path = request.uri().path().as_str();
    let mut media = request.accept()?.media_types();
    if path.starts_with("/api/") || !media.any(MediaType::is_html) {
        return None;
    }
    let runtime = request.rocket().state::<Arc<StackRuntime>>()?;
    let header = PageHeader::new(runtime);
    Some((Status::NotFound, html(&MissingPage { header, path })))
}

#[derive(Template)]
#[template(path = "missing.html")]
struct MissingPage<'a> {
    header: PageHeader,
    path: &'a str,
}

/// The cached error of a guard, or one that explains the status.
fn explained(status: Status, request: &Request<'_>) -> ControlError {
    let cached: &Option<ControlError> = request.local_cache(|| None);
    if let Some(error) = cached {
        return error.clone();
    }
    let is_alone = request.rocket().state::<Arc<RunningUpstream>>().is_some();
    match allowed_methods(request) {
        _ if status == Status::UnprocessableEntity => ControlError::new(
            status,
            "a field of the form is missing, or has not the form that it takes: an id is a \
             number, as the page shows it",
        ),
        _ if status != Status::NotFound => ControlError::new(status, status.reason_lossy()),
        methods if methods.is_empty() && is_alone => ControlError::not_found(
            "there is no such call: these are the imitations alone, because --imitations-only \
              leaves out the broker, its projects and its faults; the calls are listed at /calls",
        ),
        methods if methods.is_empty() => ControlError::not_found(
            "there is no such call; they are listed at /calls, the documents at /docs",
        ),
        methods => ControlError::wrong_method(methods),
    }
}

/// The methods of the routes at the path of `request`, separated by commas; empty if there
/// is none, or if one of them has the method of `request`, and refused it otherwise.
fn allowed_methods(request: &Request<'_>) -> String {
    let routes = request.rocket().routes();
    let routes = routes.filter(|route| is_at(route.uri.path(), request));
    let mut methods: BTreeSet<_> = routes.map(|route| route.method.as_str()).collect();
    if methods.contains("GET") {
        // Rocket answers it by the handler for GET.
        methods.insert("HEAD");
    }
    match methods.contains(request.method().as_str()) {
        true => String::new(),
        false => methods.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// Whether the path of a route, `/api/logins/<login>`, is that of `request`. A route for
/// every path, as the guard's are, is none for this one.
fn is_at(route: &str, request: &Request<'_>) -> bool {
    let segments = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.map(ToOwned::to_owned).collect()
    };
    let (route, path) = (segments(route), segments(request.uri().path().as_str()));
    let matches = |(own, sent): (&String, &String)| own.starts_with('<') || own == sent;
    !route.iter().any(|part| part.ends_with("..>"))
        && route.len() == path.len()
        && route.iter().zip(&path).all(matches)
}
