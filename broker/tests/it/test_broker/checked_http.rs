//! A client that checks the headers of every response.

use std::fmt::Display;

use testkit::http::{Http, Response};

/// A client of a broker with this base URL that listens at `address`. Besides what
/// testkit checks, every response must carry the headers that all of the broker's do.
pub(crate) fn checked_http(base_url: &str, address: impl Display) -> Http {
    let http = Http::at(base_url).listening_at(address);
    http.with_observer(|_, _, response| check_headers(response))
}

#[track_caller]
fn check_headers(response: &Response) {
    // The confirmation page has policies of its own.
    if String::from_utf8_lossy(&response.body).contains("data-question=\"relay\"") {
        response.has_common_headers();
    } else {
        response.has_security_headers();
    }
}
