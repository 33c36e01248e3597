//! The headers of every answer of the control address.

use rocket::fairing::{Fairing, Info, Kind};
use rocket::{Request, Response};

/// The policy of the pages: nothing from another address, and no inline scripts.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 4] = [
    ("Cache-Control", "no-store"),
    // Browsers must send the `Origin` of our forms, which `no-referrer` would hide.
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
];

/// Sets the headers that the answer does not set itself.
pub(super) struct ResponseHeaders;

#[rocket::async_trait]
impl Fairing for ResponseHeaders {
    fn info(&self) -> Info {
        Info {
            name: "response headers",
            kind: Kind::Response,
        }
    }

    async fn on_response<'r>(&self, _: &'r Request<'_>, response: &mut Response<'r>) {
        for (name, value) in HEADERS {
            if !response.headers().contains(name) {
                response.set_raw_header(name, value);
            }
        }
    }
}
