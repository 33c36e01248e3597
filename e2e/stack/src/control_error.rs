//! The errors of the control address and of the inspector's forms: JSON, with one
//! sentence that names what was wrong and what would be right.

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
        let message = message.to_string();
        Self { status, message }
    }
}

impl<'r> Responder<'r, 'static> for ControlError {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let body = Json(json!({ "error": "control_refused", "message": self.message }));
        (self.status, body).respond_to(request)
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
    cached.clone().unwrap_or_else(|| match status.code {
        404 => ControlError::not_found("there is no such call; the calls are listed at /calls"),
        _ => ControlError::new(status, status.reason_lossy()),
    })
}
