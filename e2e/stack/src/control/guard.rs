//! Who may call the control address: programs on this machine and its own page,
//! and no page of anybody else, whatever name it found for loopback.

use std::net::IpAddr;

use rocket::http::{Method, Status};
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use super::answer::Refused;

/// The name by which the control address may be called besides the loopback ones.
pub(super) struct Names(pub(super) Option<String>);

/// A gate before every route, for every method.
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
    .map(|method| Route::ranked(-20, method, "/<path..>", Gate))
    .into()
}

#[derive(Clone)]
struct Gate;

#[rocket::async_trait]
impl Handler for Gate {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r> {
        match check(request) {
            Err(refused) => Outcome::from(request, refused),
            Ok(()) => Outcome::forward(data, Status::NotFound),
        }
    }
}

fn check(request: &Request<'_>) -> Result<(), Refused> {
    let host = host(request)?;
    let mut origins = request.headers().get("Origin");
    if origins.any(|origin| origin != format!("http://{host}")) {
        return Err(Refused::forbidden(
            "a page of another origin may not control the stack",
        ));
    }
    let mut sites = request.headers().get("Sec-Fetch-Site");
    if sites.any(|site| site != "none" && site != "same-origin") {
        return Err(Refused::forbidden(
            "a page of another site may not control the stack",
        ));
    }
    if is_form(request) {
        return check_form(request);
    }
    if has_body(request) && !request.content_type().is_some_and(|media| media.is_json()) {
        return Err(Refused::media_type());
    }
    Ok(())
}

/// Whether it is for one of the forms of the page.
fn is_form(request: &Request<'_>) -> bool {
    request.uri().path().starts_with("/do/")
}

/// A browser sends forms of any page to any address, without asking and in a media
/// type that our other calls refuse. It says from which origin, and here it must.
fn check_form(request: &Request<'_>) -> Result<(), Refused> {
    if !request.headers().contains("Origin") {
        return Err(Refused::forbidden(
            "this is for the forms of the page; the calls for programs are listed at /calls",
        ));
    }
    let is_form = request.content_type().is_some_and(|media| media.is_form());
    if has_body(request) && !is_form {
        return Err(Refused::media_type_of_form());
    }
    Ok(())
}

/// The `Host` of the request: a loopback one, so that no page can reach us under
/// a name of its own that resolves to this machine.
fn host<'r>(request: &'r Request<'_>) -> Result<&'r str, Refused> {
    let mut hosts = request.headers().get("Host");
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Refused::forbidden("a call names one Host"));
    };
    let name = name_of(host);
    let extra = request
        .rocket()
        .state::<Names>()
        .and_then(|names| names.0.as_deref());
    if is_loopback(name) || extra.is_some_and(|extra| extra.eq_ignore_ascii_case(name)) {
        Ok(host)
    } else {
        Err(Refused::forbidden(
            "the Host must be a loopback one, or the one given with --control-host",
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
