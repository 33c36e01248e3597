//! The condition for any change: the request contains credentials, a
//! bearer token or a cookie that the broker has issued, read from the request itself.

use std::collections::HashSet;

use rocket::http::Method;
use serde_json::Value;
use testkit::fuzz::FuzzRequest;
use url::Url;

use super::broker::{BASE, CALLBACKS, CLIENT, SECRET};

/// Every token and cookie that is valid at the fuzzed broker.
pub(super) type Issued = HashSet<String>;

/// Whether `request` is entitled to change something. No seed has a result or a code to
/// consume.
pub(super) fn is_entitled(request: &FuzzRequest, issued: &Issued) -> bool {
    let path = request.target.path();
    match &request.method {
        Method::Get if path.starts_with("/login/") => is_vouched_for(request),
        Method::Get if path.starts_with("/callback/") => has_cookie(request, issued),
        Method::Post if path.starts_with("/login/") => is_from_own_page(request),
        Method::Post if path.starts_with("/callback/") => {
            is_from_own_page(request) && has_cookie(request, issued)
        }
        Method::Post if path == "/v1/revoke" => has_bearer(request, issued),
        Method::Post if path == "/v1/login/session" => has_credentials(request),
        _ => false,
    }
}

/// Whether it has one bearer token, and the broker issued it.
pub(super) fn has_bearer(request: &FuzzRequest, issued: &Issued) -> bool {
    let [line] = values(request, "authorization")[..] else {
        return false;
    };
    let Some((scheme, token)) = line.split_once(' ') else {
        return false;
    };
    scheme.eq_ignore_ascii_case("bearer") && issued.contains(token.trim_matches(' '))
}

/// Whether one of its cookies is, byte for byte, one that the broker set.
fn has_cookie(request: &FuzzRequest, issued: &Issued) -> bool {
    let lines = values(request, "cookie");
    let mut cookies = lines.iter().flat_map(|line| line.split(';'));
    cookies.any(|cookie| issued.contains(cookie.trim_ascii()))
}

fn is_vouched_for(request: &FuzzRequest) -> bool {
    let origin = |page: &str| Url::parse(page).map(|url| url.origin()).ok();
    let pages = values(request, "referer");
    let from_consumer = pages.len() == 1 && origin(pages[0]) == origin(CALLBACKS[0]);
    let site = values(request, "sec-fetch-site");
    from_consumer
        && values(request, "sec-fetch-mode") == ["navigate"]
        && values(request, "sec-fetch-dest") == ["document"]
        && site.len() == 1
        && site != ["none"]
}

fn is_from_own_page(request: &FuzzRequest) -> bool {
    let sites = values(request, "sec-fetch-site");
    values(request, "origin") == [BASE] && sites.iter().all(|site| *site == "same-origin")
}

fn has_credentials(request: &FuzzRequest) -> bool {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    body["client_id"] == CLIENT && body["client_secret"] == SECRET
}

fn values<'r>(request: &'r FuzzRequest, name: &str) -> Vec<&'r str> {
    let own = request.headers.iter().filter(|header| header.0 == name);
    own.map(|(_, value)| value.as_str()).collect()
}
