//! The page `/calls`: the addresses of the stack and the calls of the control address.

use std::sync::Arc;

use askama::Template;
use rocket::response::content::RawHtml;
use rocket::{State, get};

use crate::inspector::PageHeader;
use crate::runtime::{ServerUrls, StackRuntime};

/// Every call, with an example body or a description.
const CALLS: &[(&str, &str)] = &[
    ("GET /api/stack", "the addresses of all servers"),
    ("GET /api/projects", "the projects, with their secrets"),
    (
        "POST /api/projects",
        r#"{"name":"…","redirect_uris":["…"],"relay_guard":"always"}"#,
    ),
    (
        "POST /api/projects/{client_id}/callbacks",
        r#"{"redirect_uri":"…"}, one more callback"#,
    ),
    ("GET /api/clock", "the time of the stack"),
    ("POST /api/clock/advance", r#"{"seconds":600}"#),
    (
        "GET /api/upstreams/{provider}",
        "the switches of a provider, as PUT takes them",
    ),
    (
        "PUT /api/upstreams/{provider}",
        r#"{"mode":"automatic","iss":"off"}"#,
    ),
    (
        "POST /api/upstreams/google/keys/rotate",
        "a new signing key",
    ),
    (
        "POST /api/upstreams/{provider}/next",
        r#"{"person":{"id":"7"}}, {"person":{"key":"ada"}} or {"misbehave":"deny"}, for one project with "client_id":"…""#,
    ),
    (
        "GET /api/upstreams/{provider}/misbehaviours",
        "the misbehaviours of a provider",
    ),
    (
        "GET /api/upstreams/{provider}/requests",
        "the requests to a provider, masked",
    ),
    (
        "POST /api/faults",
        r#"{"operation":"POST /v1/login/result","fault":"lose_response"}, for one project with "client_id":"…"; with the fault answer "answer":{"status":503,"headers":{…},"body":"…"}"#,
    ),
    ("GET /api/faults", "the armed faults"),
    ("DELETE /api/faults", "disarm all faults"),
    ("GET /api/events?after=0", "all events, in order"),
    ("GET /api/events/stream", "new events, as they happen"),
    ("GET /api/exchanges/{request_id}", "one exchange, masked"),
    ("GET /api/logins", "the latest logins, with their states"),
    (
        "GET /api/held",
        "the calls that hold_request or hold_response holds",
    ),
    ("DELETE /api/held/{id}", "let one of them go"),
    (
        "GET /api/logins/{login}",
        "the state and calls of one login",
    ),
    ("POST /api/reset", "start again, with an empty store"),
];

/// The calls that only a stack has: a sandbox has no sandboxes.
const SANDBOX_CALLS: &[(&str, &str)] = &[
    (
        "POST /api/sandboxes",
        r#"{"name":"…","ttl_seconds":900,"starts_at":1790000000,"consumer":true,"projects":[…]}"#,
    ),
    ("GET /api/sandboxes", "the sandboxes that run"),
    ("GET /api/sandboxes/{id}", "one of them"),
    ("DELETE /api/sandboxes/{id}", "end it"),
];

#[derive(Template)]
#[template(path = "control.html")]
struct CallList<'a> {
    header: PageHeader,
    urls: &'a ServerUrls,
    calls: Vec<(&'static str, &'static str)>,
}

#[get("/calls")]
pub(super) fn page(runtime: &State<Arc<StackRuntime>>) -> RawHtml<String> {
    let sandboxes = match runtime.own_sandbox {
        None => SANDBOX_CALLS,
        Some(_) => &[],
    };
    let page = CallList {
        header: PageHeader::new(runtime),
        urls: &runtime.urls,
        calls: [CALLS, sandboxes].concat(),
    };
    RawHtml(page.render().expect("the template only writes strings"))
}
