//! What a request must bring along before anything may change by it, read plainly
//! from the request itself.

use rocket::http::Method;
use serde_json::Value;
use testkit::fuzz::Request;
use url::Url;

use super::door::{BASE, CALLBACKS, CLIENT, SECRET};

/// Whether `request` brings what its door asks for.
pub(super) fn is_enough(request: &Request) -> bool {
    let path = request.target.path();
    match &request.method {
        Method::Get if path.starts_with("/login/") => {
            is_vouched_for(request) || has_cookie(request)
        }
        Method::Get if path.starts_with("/callback/") => has_cookie(request),
        Method::Post if path.starts_with("/login/") => is_pressed_on_our_page(request),
        Method::Post if path == "/v1/revoke" => has_bearer(request),
        Method::Post if path.starts_with("/v1/") => has_credentials(&request.body),
        _ => false,
    }
}

/// Whether it has one bearer token, whatever token that is.
pub(super) fn has_bearer(request: &Request) -> bool {
    let scheme = |line: &str| line.get(..7).map(str::to_ascii_lowercase);
    matches!(values(request, "authorization")[..], [line] if scheme(line).as_deref() == Some("bearer "))
}

fn is_vouched_for(request: &Request) -> bool {
    let origin = |page: &str| Url::parse(page).map(|url| url.origin()).ok();
    let pages = values(request, "referer");
    let from_home = pages.len() == 1 && origin(pages[0]) == origin(CALLBACKS[0]);
    let site = values(request, "sec-fetch-site");
    from_home
        && values(request, "sec-fetch-mode") == ["navigate"]
        && values(request, "sec-fetch-dest") == ["document"]
        && site.len() == 1
        && site != ["none"]
}

fn is_pressed_on_our_page(request: &Request) -> bool {
    let sites = values(request, "sec-fetch-site");
    values(request, "origin") == [BASE] && sites.iter().all(|site| *site == "same-origin")
}

fn has_cookie(request: &Request) -> bool {
    !values(request, "cookie").is_empty()
}

fn has_credentials(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["client_id"] == CLIENT && body["client_secret"] == SECRET
}

fn values<'r>(request: &'r Request, name: &str) -> Vec<&'r str> {
    let own = request.headers.iter().filter(|header| header.0 == name);
    own.map(|(_, value)| value.as_str()).collect()
}
