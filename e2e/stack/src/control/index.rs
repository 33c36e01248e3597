//! Where everything is, and what can be called, as a page.

use std::sync::Arc;

use askama::Template;
use rocket::response::content::RawHtml;
use rocket::{State, get};

use crate::world::{Urls, World};

/// Every call, as the page and the README list it.
const CALLS: &[(&str, &str)] = &[
    ("GET /api/stack", "where everything is"),
    ("GET /api/projects", "the projects, with their secrets"),
    (
        "POST /api/projects",
        r#"{"name":"…","redirect_uris":["…"],"relay_guard":"always"}"#,
    ),
    ("GET /api/clock", "what time it is here"),
    ("POST /api/clock/advance", r#"{"seconds":600}"#),
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
        r#"{"person":{"id":"7"}} or {"misbehave":"deny"}"#,
    ),
    (
        "GET /api/upstreams/{provider}/misbehaviours",
        "what can go wrong",
    ),
    (
        "GET /api/upstreams/{provider}/requests",
        "what the broker asked",
    ),
    (
        "POST /api/faults",
        r#"{"operation":"POST /v1/login/result","fault":"lose_response"}"#,
    ),
    ("GET /api/faults", "the faults that may still strike"),
    ("DELETE /api/faults", "no faults any more"),
    ("GET /api/events?after=0", "what happened, in order"),
    ("GET /api/events/stream", "the same, as it happens"),
    ("GET /api/exchanges/{request_id}", "one exchange, masked"),
    ("GET /api/logins", "the latest logins, and where they stand"),
    (
        "GET /api/logins/{login}",
        "one login, and the truth about it",
    ),
    ("POST /api/reset", "a new world"),
];

#[derive(Template)]
#[template(path = "control.html")]
struct Index<'a> {
    urls: &'a Urls,
    calls: &'static [(&'static str, &'static str)],
}

#[get("/calls")]
pub(super) fn page(world: &State<Arc<World>>) -> RawHtml<String> {
    let index = Index {
        urls: &world.urls,
        calls: CALLS,
    };
    RawHtml(index.render().expect("the template only writes strings"))
}
