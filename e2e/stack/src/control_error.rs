//! The errors of the control address and of the inspector's forms: JSON, with one
//! sentence that names what was wrong and what would be right.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::serde::json::{Json, json};
use rocket::{Request, catch};

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

/// The answer to a call that no handler answered: the cached error of a guard, or one
/// that explains the status.
#[catch(default)]
pub(crate) fn catch(status: Status, request: &Request<'_>) -> ControlError {
    let cached: &Option<ControlError> = request.local_cache(|| None);
    if let Some(error) = cached {
        return error.clone();
    }
    match allowed_methods(request) {
        _ if status == Status::UnprocessableEntity => ControlError::new(
            status,
            "a field of the form is missing, or has not the form that it takes: an id is a \
             number, as the page shows it",
        ),
        _ if status != Status::NotFound => ControlError::new(status, status.reason_lossy()),
        methods if methods.is_empty() => {
            ControlError::not_found("there is no such call; the calls are listed at /calls")
        }
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
