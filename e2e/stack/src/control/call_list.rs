//! The page `/calls`: the addresses of the stack, the credentials of its projects, and the
//! calls of the control address.

use std::sync::Arc;

use askama::Template;
use rocket::response::content::RawHtml;
use rocket::{State, get};

use crate::inspector::PageHeader;
use crate::projects::ProjectCredentials;
use crate::runtime::{ServerUrls, StackRuntime};

/// One call of the control address.
#[derive(Clone, Copy)]
struct Call {
    method: &'static str,
    path: &'static str,
    /// An example; empty for a call without a body.
    body: &'static str,
    description: &'static str,
}

const fn call(
    method: &'static str,
    path: &'static str,
    body: &'static str,
    description: &'static str,
) -> Call {
    Call {
        method,
        path,
        body,
        description,
    }
}

const CALLS: &[Call] = &[
    call("GET", "/api/stack", "", "The addresses of all servers."),
    call(
        "GET",
        "/api/projects",
        "",
        "The projects, with their secrets.",
    ),
    call(
        "POST",
        "/api/projects",
        r#"{"name":"My app","redirect_uris":["http://localhost:4000/callback"]}"#,
        "Registers a project; its relay_guard may be auto, always or off.",
    ),
    call(
        "POST",
        "/api/projects/{client_id}/callbacks",
        r#"{"redirect_uri":"http://localhost:4000/callback"}"#,
        "Adds a callback to a project.",
    ),
    call("GET", "/api/clock", "", "The time of the stack."),
    call(
        "POST",
        "/api/clock/advance",
        r#"{"seconds":600}"#,
        "Moves the clock ahead.",
    ),
    call(
        "GET",
        "/api/upstreams/{provider}",
        "",
        "The switches of a provider, as PUT takes them.",
    ),
    call(
        "PUT",
        "/api/upstreams/{provider}",
        r#"{"mode":"automatic","iss":"off"}"#,
        "Sets the switches: with automatic, users sign in without a page.",
    ),
    call(
        "POST",
        "/api/upstreams/google/keys/rotate",
        "",
        "Adds a signing key, or removes the oldest.",
    ),
    call(
        "POST",
        "/api/upstreams/{provider}/next",
        r#"{"misbehave":"bad_signature"}"#,
        r#"Plans the next sign-in: a failure, {"person":{"key":"ada"}} or {"person":{"id":"7"}}; with client_id, of that project alone."#,
    ),
    call(
        "DELETE",
        "/api/upstreams/{provider}/next/{id}",
        "",
        "Takes a planned sign-in back.",
    ),
    call(
        "GET",
        "/api/upstreams/{provider}/misbehaviours",
        "",
        "The failures of a provider.",
    ),
    call(
        "GET",
        "/api/upstreams/{provider}/requests",
        "",
        "The requests to a provider, masked.",
    ),
    call(
        "POST",
        "/api/faults",
        r#"{"operation":"POST /v1/login/result","fault":"lose_response"}"#,
        "Arms a fault; with client_id, for that project alone; the fault answer takes an answer with status, headers and body.",
    ),
    call("GET", "/api/faults", "", "The armed faults."),
    call("DELETE", "/api/faults/{id}", "", "Disarms one fault."),
    call("DELETE", "/api/faults", "", "Disarms all faults."),
    call("GET", "/api/events?after=0", "", "All events, in order."),
    call(
        "GET",
        "/api/events/stream",
        "",
        "New events, as they happen.",
    ),
    call(
        "GET",
        "/api/exchanges/{request_id}",
        "",
        "One exchange, masked.",
    ),
    call(
        "GET",
        "/api/logins",
        "",
        "The latest logins, with their states.",
    ),
    call(
        "GET",
        "/api/held",
        "",
        "The calls that hold_request or hold_response holds.",
    ),
    call("DELETE", "/api/held/{id}", "", "Lets one of them go."),
    call(
        "GET",
        "/api/logins/{login}",
        "",
        "The state and the calls of one login.",
    ),
    call(
        "POST",
        "/api/reset",
        "",
        "Starts again, with an empty store; projects stay.",
    ),
];

/// The calls that only a stack has: a sandbox has no sandboxes.
const SANDBOX_CALLS: &[Call] = &[
    call(
        "POST",
        "/api/sandboxes",
        r#"{"name":"checkout","ttl_seconds":900,"consumer":true}"#,
        "Starts a sandbox: a stack of its own; starts_at and projects are optional, too.",
    ),
    call("GET", "/api/sandboxes", "", "The sandboxes that run."),
    call("GET", "/api/sandboxes/{id}", "", "One of them."),
    call("DELETE", "/api/sandboxes/{id}", "", "Ends it."),
];

impl Call {
    /// A command that makes the call at `control`, once the ids in it are filled in.
    fn curl(self, control: &str) -> String {
        let path = self.path.replace("{provider}", "google");
        let path = path.replace("{client_id}", "demo");
        let url = match path.contains(['?', '{']) {
            true => format!("'{control}{path}'"),
            false => format!("{control}{path}"),
        };
        let method = match (self.method, self.body) {
            ("GET", _) => String::new(),
            // With a body, POST is what curl sends.
            ("POST", body) if !body.is_empty() => String::new(),
            (method, _) => format!("-X {method} "),
        };
        match self.body {
            "" => format!("curl {method}{url}"),
            body => format!("curl {method}{url} --json '{body}'"),
        }
    }
}

#[derive(Template)]
#[template(path = "control.html")]
struct CallList<'a> {
    header: PageHeader,
    urls: &'a ServerUrls,
    projects: Vec<ProjectCredentials>,
    calls: Vec<Call>,
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
        projects: runtime.projects.list(),
        calls: [CALLS, sandboxes].concat(),
    };
    RawHtml(page.render().expect("the template only writes strings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(call: Call, expected: &str) {
        assert_eq!(call.curl("http://127.0.0.1:8010"), expected);
    }

    #[test]
    fn a_command_has_the_method_and_the_body_of_its_call() {
        check(CALLS[0], "curl http://127.0.0.1:8010/api/stack");
        check(
            call("POST", "/api/clock/advance", r#"{"seconds":600}"#, ""),
            r#"curl http://127.0.0.1:8010/api/clock/advance --json '{"seconds":600}'"#,
        );
        check(
            call("POST", "/api/reset", "", ""),
            "curl -X POST http://127.0.0.1:8010/api/reset",
        );
        check(
            call("PUT", "/api/upstreams/{provider}", "{}", ""),
            "curl -X PUT http://127.0.0.1:8010/api/upstreams/google --json '{}'",
        );
        check(
            call("DELETE", "/api/faults/{id}", "", ""),
            "curl -X DELETE 'http://127.0.0.1:8010/api/faults/{id}'",
        );
    }
}
