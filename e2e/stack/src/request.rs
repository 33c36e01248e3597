//! The parts of a request to the control address: its JSON body, or the page that its form is
//! on.

use rocket::Request;
use rocket::data::{self, Data, FromData, ToByteUnit as _};
use rocket::http::ext::IntoOwned as _;
use rocket::http::uri::Origin;
use rocket::request::{FromRequest, Outcome};
use rocket::response::Redirect;
use rocket::serde::DeserializeOwned;

use crate::control_error::ControlError;

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
