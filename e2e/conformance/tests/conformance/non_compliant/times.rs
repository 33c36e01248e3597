//! Flaws of expiry: too early, or never.

use super::super::proxy::{Memory, ProxiedRequest, ProxiedResponse};
use super::NonCompliantBroker;

const RESULT: &str = "/v1/login/result";
const PROFILE: &str = "/v1/profile";

/// An age below the lifetime of a login and of a token.
const EARLY_MS: i64 = 500_000;

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "never expires a pending login",
            &[(
                "result.expiry",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"status":"pending"}"#,
            )],
            |memory, request, response| {
                let body = request.json().to_string();
                if response.json()["status"] == "pending" {
                    memory.answers.insert(body, response.clone());
                } else if response.status == 200 {
                    memory.answers.remove(&body);
                } else if let Some(known) = memory.answers.get(&body) {
                    *response = known.clone();
                }
            },
        ),
        NonCompliantBroker::responds(
            "returns expired results",
            &[(
                "result.expiry",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"status":"failed","error":"access_deni"#,
            )],
            |memory, request, response| {
                note_start(memory, request, response);
                let key = request.text("session_key");
                // Only results that were not read before: others are replays.
                let is_read = request.path == RESULT && response.status == 200;
                if is_read {
                    memory.known.insert(key.clone());
                }
                if request.path == RESULT
                    && !memory.known.contains(&key)
                    && age_ms(memory, &key) >= 600_000
                {
                    *response =
                        ProxiedResponse::of(200, r#"{"status":"failed","error":"access_denied"}"#);
                }
            },
        ),
        NonCompliantBroker::responds(
            "expires a login early",
            &[(
                "session.lifetime",
                r#"expected status to be "pending""#,
                r#" -> 400 application/json {"error":"request_failed"}"#,
            )],
            |memory, request, response| {
                note_start(memory, request, response);
                let key = request.text("session_key");
                if request.path == RESULT && age_ms(memory, &key) >= EARLY_MS {
                    *response = ProxiedResponse::refused(400);
                }
            },
        ),
        NonCompliantBroker::responds(
            "expires a token early",
            &[(
                "token.lifetime",
                "expected a success",
                r#" -> 401 application/json {"error":"request_failed"}"#,
            )],
            |memory, request, response| {
                note_start(memory, request, response);
                let bearer = request.authorization();
                if request.path == PROFILE && age_ms(memory, &bearer) >= EARLY_MS {
                    *response = ProxiedResponse::refused(401);
                }
            },
        ),
        NonCompliantBroker::responds(
            "never expires a token",
            &[(
                "bearer.expiry",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"subject":""#,
            )],
            |memory, request, response| {
                note_start(memory, request, response);
                if request.path == PROFILE && response.status == 200 {
                    memory
                        .answers
                        .insert("profile".to_owned(), response.clone());
                } else if request.path == PROFILE
                    && age_ms(memory, &request.authorization()) >= 900_000
                {
                    *response = memory.answers["profile"].clone();
                }
            },
        ),
    ]
}

/// Remembers the start of a login or a token.
fn note_start(memory: &mut Memory, request: &ProxiedRequest, response: &ProxiedResponse) {
    let began = match response.json()["access_token"].as_str() {
        _ if response.status != 200 => return,
        Some(token) => format!("Bearer {token}"),
        None if request.path == "/v1/login/session" => request.text("session_key"),
        None => return,
    };
    let now = memory.clock.now().0;
    memory.times.entry(began).or_insert(now);
}

/// The age; zero for what is unknown.
fn age_ms(memory: &Memory, what: &str) -> i64 {
    let began = memory.times.get(what);
    began.map_or(0, |began| memory.clock.now().0 - began)
}
