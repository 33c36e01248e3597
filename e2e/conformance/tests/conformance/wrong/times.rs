//! Wrong with time: things that end too early, or never.

use super::super::proxy::{Answered, Asked, Memory};
use super::Wrong;

const RESULT: &str = "/v1/login/result";
const PROFILE: &str = "/v1/profile";

/// Ends sooner than a login or a token may.
const EARLY_MS: i64 = 500_000;

pub(crate) fn all() -> Vec<Wrong> {
    vec![
        Wrong::says(
            "never ends a pending login",
            &["result.expiry"],
            |memory, asked, answered| {
                let body = asked.json().to_string();
                if answered.json()["status"] == "pending" {
                    memory.answers.insert(body, answered.clone());
                } else if answered.status == 200 {
                    memory.answers.remove(&body);
                } else if let Some(known) = memory.answers.get(&body) {
                    *answered = known.clone();
                }
            },
        ),
        Wrong::says(
            "shows results that have expired",
            &["result.expiry"],
            |memory, asked, answered| {
                note(memory, asked, answered);
                let key = asked.text("session_key");
                // Never read before, so that it is no replay.
                let is_read = asked.path == RESULT && answered.status == 200;
                if is_read {
                    memory.known.insert(key.clone());
                }
                if asked.path == RESULT
                    && !memory.known.contains(&key)
                    && age_ms(memory, &key) >= 600_000
                {
                    *answered = Answered::of(200, r#"{"status":"failed","error":"access_denied"}"#);
                }
            },
        ),
        Wrong::says(
            "ends a login early",
            &["session.lifetime"],
            |memory, asked, answered| {
                note(memory, asked, answered);
                let key = asked.text("session_key");
                if asked.path == RESULT && age_ms(memory, &key) >= EARLY_MS {
                    *answered = Answered::refused(400);
                }
            },
        ),
        Wrong::says(
            "ends a token early",
            &["token.lifetime"],
            |memory, asked, answered| {
                note(memory, asked, answered);
                let bearer = asked.authorization();
                if asked.path == PROFILE && age_ms(memory, &bearer) >= EARLY_MS {
                    *answered = Answered::refused(401);
                }
            },
        ),
        Wrong::says(
            "never ends a token",
            &["bearer.expiry"],
            |memory, asked, answered| {
                note(memory, asked, answered);
                if asked.path == PROFILE && answered.status == 200 {
                    memory
                        .answers
                        .insert("profile".to_owned(), answered.clone());
                } else if asked.path == PROFILE && age_ms(memory, &asked.authorization()) >= 900_000
                {
                    *answered = memory.answers["profile"].clone();
                }
            },
        ),
    ]
}

/// Notes when a login or a token began.
fn note(memory: &mut Memory, asked: &Asked, answered: &Answered) {
    let began = match answered.json()["access_token"].as_str() {
        _ if answered.status != 200 => return,
        Some(token) => format!("Bearer {token}"),
        None if asked.path == "/v1/login/session" => asked.text("session_key"),
        None => return,
    };
    let now = memory.clock.now().0;
    memory.times.entry(began).or_insert(now);
}

/// How old it is; nothing that is not known has any age.
fn age_ms(memory: &Memory, what: &str) -> i64 {
    let began = memory.times.get(what);
    began.map_or(0, |began| memory.clock.now().0 - began)
}
