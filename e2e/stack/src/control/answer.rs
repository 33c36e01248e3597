//! How the control address answers: JSON, and on a refusal one sentence that
//! names what was wrong and what would be right.

use std::fmt::Display;
use std::str::FromStr;

use rocket::data::{self, Data, FromData, ToByteUnit as _};
use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::serde::DeserializeOwned;
use rocket::serde::json::{Json, json};
use rocket::{Request, Response, catch};

/// No body of a control call is near this size.
const MAX_BODY_KIB: u64 = 64;

/// 204: it was done, and there is nothing to say.
pub(super) struct Done;

impl<'r> Responder<'r, 'static> for Done {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        Status::NoContent.respond_to(request)
    }
}

/// A control call that is not obeyed.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    status: Status,
    message: String,
}

impl Refused {
    /// 400: the call itself is wrong.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self {
            status: Status::BadRequest,
            message: message.into(),
        }
    }

    /// 403: the caller may not.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self {
            status: Status::Forbidden,
            message: message.into(),
        }
    }

    /// 404: there is no such thing.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self {
            status: Status::NotFound,
            message: message.into(),
        }
    }

    /// 415: the body is not JSON.
    pub(crate) fn media_type() -> Self {
        Self {
            status: Status::UnsupportedMediaType,
            message: "a body must be sent as application/json".to_owned(),
        }
    }

    /// 415: what was sent to a form is none.
    pub(crate) fn media_type_of_form() -> Self {
        Self {
            status: Status::UnsupportedMediaType,
            message: "a form must be sent as application/x-www-form-urlencoded".to_owned(),
        }
    }

    /// 500: the stack could not.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            status: Status::InternalServerError,
            message: message.into(),
        }
    }
}

impl<'r> Responder<'r, 'static> for Refused {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let body = Json(json!({ "error": "control_refused", "message": self.message }));
        (self.status, body).respond_to(request)
    }
}

/// A JSON body, or a refusal that says which field is wrong.
pub(super) struct Body<T>(pub(super) T);

#[rocket::async_trait]
impl<'r, T: DeserializeOwned> FromData<'r> for Body<T> {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> data::Outcome<'r, Self, ()> {
        match read(data).await {
            Ok(body) => data::Outcome::Success(Body(body)),
            Err(refused) => {
                let status = refused.status;
                request.local_cache(|| Some(refused));
                data::Outcome::Error((status, ()))
            }
        }
    }
}

async fn read<T: DeserializeOwned>(data: Data<'_>) -> Result<T, Refused> {
    let bytes = data
        .open(MAX_BODY_KIB.kibibytes())
        .into_bytes()
        .await
        .map_err(|_| Refused::bad("the body broke off"))?;
    if !bytes.is_complete() {
        return Err(Refused::bad(format!(
            "a body has at most {MAX_BODY_KIB} KiB"
        )));
    }
    // serde would also take an array of the fields' values in their order.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Refused::bad("a body is one JSON object"));
    }
    // Nothing secret is sent here, so the parser may say what it met.
    serde_json::from_slice(&bytes).map_err(|error| Refused::bad(error.to_string()))
}

/// One of the words that `name` may be; the refusal lists them.
pub(crate) fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Refused> {
    text.parse()
        .map_err(|error| Refused::bad(format!("{name}: {error}")))
}

/// What no handler answered.
#[catch(default)]
pub(super) fn catch(status: Status, request: &Request<'_>) -> Refused {
    let said: &Option<Refused> = request.local_cache(|| None);
    said.clone().unwrap_or_else(|| Refused {
        status,
        message: match status.code {
            404 => "there is no such call; the calls are listed at /calls".to_owned(),
            _ => status.reason_lossy().to_owned(),
        },
    })
}

/// What the pages may load and do: nothing from anywhere else, and no script that
/// stands in a page.
const POLICY: (&str, &str) = (
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);

/// What every answer carries.
pub(super) struct Headers;

#[rocket::async_trait]
impl Fairing for Headers {
    fn info(&self) -> Info {
        Info {
            name: "headers",
            kind: Kind::Response,
        }
    }

    async fn on_response<'r>(&self, _: &'r Request<'_>, response: &mut Response<'r>) {
        for (name, value) in [
            ("Cache-Control", "no-store"),
            // Our own forms must name their origin, which `no-referrer` would hide.
            ("Referrer-Policy", "same-origin"),
            ("X-Content-Type-Options", "nosniff"),
        ] {
            // A page may have a policy of its own.
            if !response.headers().contains(name) {
                response.set_raw_header(name, value);
            }
        }
        // A picture brings a narrower one.
        if !response.headers().contains(POLICY.0) {
            response.set_raw_header(POLICY.0, POLICY.1);
        }
    }
}
