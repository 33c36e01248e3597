//! Whatever arrives: it is refused, nothing happens, and the next request is
//! served. Through the wire, as real clients send it.

mod addresses;
mod bodies;
mod http;

use serde_json::Value;

use crate::login::GOOGLE;
use testkit::backend::Backend;
use testkit::fresh;

const ENDPOINTS: [&str; 3] = ["/v1/login/session", "/v1/login/result", "/v1/token"];

/// A body that `path` would accept, or refuse only for what it names.
fn valid_body(backend: &Backend, path: &str) -> Value {
    match path {
        "/v1/login/session" => backend.session_body(&fresh::secret(), GOOGLE),
        "/v1/login/result" => backend.result_body(&fresh::secret()),
        _ => backend.token_body(&fresh::secret(), &fresh::secret()),
    }
}
