//! The headers that every answer carries.

use rocket::Response;
use rocket::http::{ContentType, Header};

/// Nothing may be loaded, framed or submitted but what the pages need: their
/// style. No `form-action`: browsers apply it to the redirects after a form too.
const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Completes `response`; what it already says stays.
pub(super) fn complete(response: &mut Response<'_>, request_id: &str, scheme: Scheme) {
    response.set_raw_header("X-Request-Id", request_id.to_owned());
    for (name, value) in [
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ] {
        set_if_absent(response, Header::new(name, value));
    }
    // On a redirect it would sever a popup from its opener.
    if response.content_type() == Some(ContentType::HTML) {
        set_if_absent(
            response,
            Header::new("Cross-Origin-Opener-Policy", "same-origin"),
        );
    }
    if scheme == Scheme::Https {
        set_if_absent(
            response,
            Header::new("Strict-Transport-Security", "max-age=31536000"),
        );
    }
}

/// How browsers reach the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// `http`, on loopback.
    Http,
    /// `https`.
    Https,
}

fn set_if_absent(response: &mut Response<'_>, header: Header<'static>) {
    if !response.headers().contains(header.name().as_str()) {
        response.set_header(header);
    }
}
