//! Flaws of reads of a result: pending, replayed, unknown, refused.

use super::super::proxy::ProxiedResponse;
use super::super::test_broker::{CALLBACK, CLIENT_ID, OTHER_CLIENT_ID, SECOND_CALLBACK, SECRET};
use super::NonCompliantBroker;

const RESULT: &str = "/v1/login/result";

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::changes(
            "consumes a pending session",
            &[(
                "result.pending_keeps",
                r#"expected status to be "pending""#,
                r#" -> 400 application/json {"error":"request_failed"}"#,
            )],
            |memory, request| {
                let is_gone =
                    request.path == RESULT && memory.known.contains(&request.text("session_key"));
                is_gone.then(|| ProxiedResponse::refused(400))
            },
            |memory, request, response| {
                if response.json()["status"] == "pending" {
                    memory.known.insert(request.text("session_key"));
                }
            },
        ),
        NonCompliantBroker::responds(
            "returns a result twice",
            &[(
                "result.once",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"status":"succeeded","profile":{"subje"#,
            )],
            |memory, request, response| {
                if request.path != RESULT {
                    return;
                }
                let body = request.json().to_string();
                match response.status {
                    200 if is_terminal(response) => {
                        drop(memory.answers.insert(body, response.clone()));
                    }
                    _ => {
                        if let Some(known) = memory.answers.get(&body) {
                            *response = known.clone();
                        }
                    }
                }
            },
        ),
        NonCompliantBroker::responds(
            "answers a replay with 200",
            &[(
                "result.once",
                "expected a refusal (4xx)",
                " -> 200 application/json {}",
            )],
            |memory, request, response| {
                let body = request.json().to_string();
                if request.path == RESULT && is_terminal(response) {
                    memory.known.insert(body);
                } else if memory.known.contains(&body) {
                    *response = ProxiedResponse::of(200, "{}");
                }
            },
        ),
        NonCompliantBroker::responds(
            "answers a replay with 410",
            &[(
                "result.refused_status",
                "expected 400",
                r#" -> 410 application/json {"error":"request_failed","message":"Th"#,
            )],
            |memory, request, response| {
                let body = request.json().to_string();
                if request.path == RESULT && is_terminal(response) {
                    memory.known.insert(body);
                } else if memory.known.contains(&body) {
                    response.status = 410;
                }
            },
        ),
        NonCompliantBroker::responds(
            "answers an unknown key with 404",
            &[(
                "result.refused_status",
                "expected 400",
                r#" -> 404 application/json {"error":"request_failed","message":"Th"#,
            )],
            |memory, request, response| {
                let key = request.text("session_key");
                if request.path == "/v1/login/session" && response.status == 200 {
                    memory.known.insert(key);
                } else if request.path == RESULT && is_key(&key) && !memory.known.contains(&key) {
                    response.status = 404;
                }
            },
        ),
        NonCompliantBroker::responds(
            "reports an unknown key as pending",
            &[(
                "result.known",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"status":"pending"}"#,
            )],
            |memory, request, response| {
                let key = request.text("session_key");
                if request.path == "/v1/login/session" && response.status == 200 {
                    memory.known.insert(key);
                } else if request.path == RESULT && is_key(&key) && !memory.known.contains(&key) {
                    *response = ProxiedResponse::of(200, r#"{"status":"pending"}"#);
                }
            },
        ),
        NonCompliantBroker::accepts(
            "returns results to any project",
            &[(
                "result.known",
                "expected a refusal (4xx)",
                r#""client_id":"conformance-other""#,
            )],
            |_, request| {
                if request.path == RESULT && request.text("client_id") == OTHER_CLIENT_ID {
                    request.put("client_id", CLIENT_ID);
                    request.put("client_secret", SECRET);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "returns results for any callback",
            &[(
                "result.callback",
                "expected a refusal (4xx)",
                r#"conformance/second"} -> 200"#,
            )],
            |_, request| {
                if request.path == RESULT && request.text("redirect_uri") == SECOND_CALLBACK {
                    request.put("redirect_uri", CALLBACK);
                }
                None
            },
        ),
        NonCompliantBroker::changes(
            "consumes a result on a read with unknown credentials",
            &[(
                "result.refused_keeps",
                "expected a success",
                r#" -> 400 application/json {"error":"request_failed"}"#,
            )],
            |memory, request| {
                let is_gone =
                    request.path == RESULT && memory.known.contains(&request.text("session_key"));
                is_gone.then(|| ProxiedResponse::refused(400))
            },
            |memory, request, _| {
                if request.path == RESULT && is_unknown_client(&request.text("client_id")) {
                    memory.known.insert(request.text("session_key"));
                }
            },
        ),
    ]
}

/// Whether this is a well-formed client_id of no project.
fn is_unknown_client(id: &str) -> bool {
    (1..=100).contains(&id.len()) && ![CLIENT_ID, OTHER_CLIENT_ID].contains(&id)
}

/// Whether this is a well-formed key.
fn is_key(text: &str) -> bool {
    text.len() == 43 && !text.contains('.')
}

/// Whether this is a terminal result.
fn is_terminal(response: &ProxiedResponse) -> bool {
    ["succeeded", "failed"]
        .iter()
        .any(|status| response.json()["status"] == *status)
}
