//! The guard of the control address: it admits programs on this machine and its own
//! pages, and refuses every page of another origin, also one that reaches loopback under
//! a name of its own. Beside it the headers of every answer.

use std::net::IpAddr;

use broker::http::is_host;
use rocket::fairing::AdHoc;
use rocket::http::{Method, Status};
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use crate::request::ControlError;

/// The settings of the guard.
pub(super) struct ControlGuard {
    /// The scheme of the control address.
    pub(super) scheme: &'static str,
    /// The host names that are accepted besides the loopback ones.
    pub(super) more_hosts: Vec<String>,
}

/// The routes of the guard, which come before every other route, for every method.
pub(super) fn routes() -> Vec<Route> {
    [
        Method::Get,
        Method::Head,
        Method::Post,
        Method::Put,
        Method::Patch,
        Method::Delete,
        Method::Options,
        Method::Trace,
    ]
    .map(|method| Route::ranked(-20, method, "/<path..>", Guard))
    .into()
}

#[derive(Clone)]
struct Guard;

#[rocket::async_trait]
impl Handler for Guard {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r> {
        match check(request) {
            Err(refused) => Outcome::from(request, refused),
            Ok(()) => Outcome::forward(data, Status::NotFound),
        }
    }
}

fn check(request: &Request<'_>) -> Result<(), ControlError> {
    let settings: &ControlGuard = request.rocket().state().expect("it is managed");
    let host = host(request, settings)?;
    let own = format!("{}://{host}", settings.scheme);
    let mut origins = request.headers().get("Origin");
    if origins.any(|origin| origin != own) {
        return Err(ControlError::forbidden(
            "a page of another origin may not control the stack",
        ));
    }
    let mut sites = request.headers().get("Sec-Fetch-Site");
    if sites.any(|site| site != "none" && site != "same-origin") && !is_link(request) {
        return Err(ControlError::forbidden(
            "a page of another site may not control the stack",
        ));
    }
    if is_form(request) {
        return check_form(request);
    }
    if has_body(request) && !request.content_type().is_some_and(|media| media.is_json()) {
        return Err(ControlError::media_type("application/json"));
    }
    Ok(())
}

/// Whether a link of another page leads to a page here, as from one sandbox to another.
/// A browser lets no other origin read the page, and it changes nothing.
fn is_link(request: &Request<'_>) -> bool {
    let is = |name, value| request.headers().get(name).eq([value]);
    request.method() == Method::Get
        && first_segment(request).is_none_or(|it| it != "api")
        && is("Sec-Fetch-Mode", "navigate")
        && is("Sec-Fetch-Dest", "document")
}

/// Whether the request is for one of the forms of the pages.
fn is_form(request: &Request<'_>) -> bool {
    first_segment(request).is_some_and(|it| it == "do")
}

/// The first segment of the path as the router reads it: decoded, without empty ones.
fn first_segment(request: &Request<'_>) -> Option<String> {
    let mut segments = request.uri().path().segments();
    segments.next().map(ToOwned::to_owned)
}

/// A form must name the origin of its page. A browser posts the forms of any page to any
/// address without a preflight request, in a media type that the other calls refuse.
fn check_form(request: &Request<'_>) -> Result<(), ControlError> {
    if !request.headers().contains("Origin") {
        return Err(ControlError::forbidden(
            "this path takes the forms of the pages; the calls for programs are listed at /calls",
        ));
    }
    let is_form = request.content_type().is_some_and(|media| media.is_form());
    if has_body(request) && !is_form {
        return Err(ControlError::media_type(
            "application/x-www-form-urlencoded",
        ));
    }
    Ok(())
}

/// The `Host` of the request. It must be a loopback one: a page could otherwise reach the
/// stack under a name of its own that resolves to this machine.
fn host<'r>(request: &'r Request<'_>, settings: &ControlGuard) -> Result<&'r str, ControlError> {
    let mut hosts = request.headers().get("Host");
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(ControlError::bad_request(
            "Host: a call has exactly one, as in Host: localhost:8010",
        ));
    };
    if !is_host(host) {
        return Err(ControlError::bad_request(
            "Host: a name or an address, and its port, as in localhost:8010",
        ));
    }
    let name = name_of(host);
    let mut more = settings.more_hosts.iter();
    if is_loopback(name) || more.any(|host| host.eq_ignore_ascii_case(name)) {
        Ok(host)
    } else {
        Err(ControlError::forbidden(
            "the Host must be a loopback one, or the one given with --host or --control-host",
        ))
    }
}

/// `host` without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn has_body(request: &Request<'_>) -> bool {
    let length = request.headers().get_one("Content-Length");
    length.is_some_and(|length| length != "0") || request.headers().contains("Transfer-Encoding")
}

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

/// A fairing that sets the headers that the answer does not set itself.
pub(super) fn response_headers() -> AdHoc {
    AdHoc::on_response("response headers", |_, response| {
        for (name, value) in HEADERS {
            if !response.headers().contains(name) {
                response.set_raw_header(name, value);
            }
        }
        Box::pin(async {})
    })
}
