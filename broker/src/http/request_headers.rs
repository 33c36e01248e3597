//! What a request's headers say, read from their raw values: Rocket takes the first
//! of two `Content-Type` headers and refuses `application/json;`, which RFC 9110
//! allows.

use rocket::http::HeaderMap;

/// The value of a header that comes once.
pub(super) fn only<'h>(headers: &'h HeaderMap<'_>, name: &str) -> Option<&'h str> {
    let mut values = headers.get(name);
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}

/// Whether `value` is `token`, compared without case and without its parameters.
pub(super) fn is(value: &str, token: &str) -> bool {
    let before_parameters = value.split(';').next().unwrap_or_default();
    before_parameters.trim_ascii().eq_ignore_ascii_case(token)
}

/// Whether there is exactly one `Content-Type`, and that one is JSON.
pub(super) fn is_json(headers: &HeaderMap<'_>) -> bool {
    only(headers, "Content-Type").is_some_and(|value| is(value, "application/json"))
}
