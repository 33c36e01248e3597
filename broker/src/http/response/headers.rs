//! The headers of every answer.

use contract::Origin;
use rocket::http::Header;
use rocket::response::{self, Responder};
use rocket::{Request, Response};

use crate::http::raw_headers;

/// The pages load their style, and nothing else. No `form-action`: browsers apply it to
/// the redirects after a form, too.
const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The same for the one page that has a script.
const POLICY_WITH_SCRIPT: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// A page with forms. It has a script, and sends its origin with a form: under
/// `no-referrer`, browsers would send `Origin: null`.
pub(crate) struct FormPage<R>(pub(crate) R);

impl<'r, 'o: 'r, R: Responder<'r, 'o>> Responder<'r, 'o> for FormPage<R> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'o> {
        Response::build_from(self.0.respond_to(request)?)
            .raw_header("Content-Security-Policy", POLICY_WITH_SCRIPT)
            .raw_header("Referrer-Policy", "same-origin")
            .ok()
    }
}

/// Adds the headers that `response` does not have yet.
pub(crate) fn complete(response: &mut Response<'_>, request_id: &str, base_url: &Origin) {
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
    if is_html(response) {
        set_if_absent(
            response,
            Header::new("Cross-Origin-Opener-Policy", "same-origin"),
        );
    }
    if base_url.is_https() {
        set_if_absent(
            response,
            Header::new("Strict-Transport-Security", "max-age=31536000"),
        );
    }
}

fn is_html(response: &Response<'_>) -> bool {
    let media_type = response.headers().get_one("Content-Type");
    media_type.is_some_and(|it| raw_headers::is(it, "text/html"))
}

fn set_if_absent(response: &mut Response<'_>, header: Header<'static>) {
    if !response.headers().contains(header.name().as_str()) {
        response.set_header(header);
    }
}
