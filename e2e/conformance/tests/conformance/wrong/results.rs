//! Wrong with the results of the clean flow.

use serde_json::Value;

use super::super::ground::{CALLBACK, CLIENT_ID, OTHER_CLIENT_ID, SECOND_CALLBACK, SECRET};
use super::super::proxy::Answered;
use super::Wrong;

const RESULT: &str = "/v1/login/result";

pub(crate) fn all() -> Vec<Wrong> {
    [results(), reads()].into_iter().flatten().collect()
}

fn results() -> Vec<Wrong> {
    vec![
        Wrong::says("says null for no profile", &[], |_, _, answered| {
            answered.edit(|body| {
                if body["status"] == "pending" {
                    body["profile"] = Value::Null;
                }
            });
        })
        .and_chooses(&["answer.members"]),
        Wrong::says(
            "says which error it will not be",
            &["result.fields"],
            |_, _, answered| {
                answered.edit(|body| {
                    if body["status"] == "pending" {
                        body["error"] = "access_denied".into();
                    }
                });
            },
        )
        .and_chooses(&["answer.members"]),
        Wrong::says("says null for no error", &[], |_, _, answered| {
            answered.edit(|body| {
                if body["status"] == "succeeded" {
                    body["error"] = Value::Null;
                }
            });
        })
        .and_chooses(&["answer.members"]),
        Wrong::says(
            "calls pending something else",
            &[
                "result.pending",
                "result.pending_keeps",
                "result.fields",
                "session.lifetime",
            ],
            |_, _, answered| {
                answered.edit(|body| {
                    if body["status"] == "pending" {
                        body["status"] = "waiting".into();
                    }
                });
            },
        ),
        Wrong::says(
            "keeps the profile to itself",
            &["result.succeeded", "result.fields"],
            |_, asked, answered| {
                if asked.path == RESULT {
                    answered
                        .edit(|body| drop(body.as_object_mut().expect("one").remove("profile")));
                }
            },
        )
        .blocking(&["profile.subject_stable"]),
        Wrong::says(
            "makes a failed login an HTTP error",
            &["result.failed"],
            |_, _, answered| {
                if answered.json()["status"] == "failed" {
                    answered.status = 403;
                    answered.body = br#"{"error":"access_denied"}"#.to_vec();
                }
            },
        ),
        Wrong::says(
            "fails with an error of its own",
            &["result.failed"],
            |_, _, answered| {
                answered.edit(|body| {
                    if body["status"] == "failed" {
                        body["error"] = "cancelled".into();
                    }
                });
            },
        )
        .blocking(&["upstream.denied"]),
        Wrong::says(
            "takes a person who declines for trouble",
            &["upstream.denied"],
            |_, _, answered| {
                answered.edit(|body| {
                    if body["status"] == "failed" {
                        body["error"] = "provider_unavailable".into();
                    }
                });
            },
        ),
    ]
}

fn reads() -> Vec<Wrong> {
    vec![
        Wrong::both(
            "consumes what is pending",
            &["result.pending_keeps"],
            |memory, asked| {
                let is_gone =
                    asked.path == RESULT && memory.known.contains(&asked.text("session_key"));
                is_gone.then(|| Answered::refused(400))
            },
            |memory, asked, answered| {
                if answered.json()["status"] == "pending" {
                    memory.known.insert(asked.text("session_key"));
                }
            },
        ),
        Wrong::says(
            "shows a result twice",
            &["result.once"],
            |memory, asked, answered| {
                if asked.path != RESULT {
                    return;
                }
                let body = asked.json().to_string();
                match answered.status {
                    200 if is_terminal(answered) => {
                        drop(memory.answers.insert(body, answered.clone()));
                    }
                    _ => {
                        if let Some(known) = memory.answers.get(&body) {
                            *answered = known.clone();
                        }
                    }
                }
            },
        ),
        Wrong::says(
            "answers a replay 200",
            &["result.once"],
            |memory, asked, answered| {
                let body = asked.json().to_string();
                if asked.path == RESULT && is_terminal(answered) {
                    memory.known.insert(body);
                } else if memory.known.contains(&body) {
                    *answered = Answered::of(200, "{}");
                }
            },
        ),
        Wrong::says(
            "answers a replay 410",
            &["result.refused_status"],
            |memory, asked, answered| {
                let body = asked.json().to_string();
                if asked.path == RESULT && is_terminal(answered) {
                    memory.known.insert(body);
                } else if memory.known.contains(&body) {
                    answered.status = 410;
                }
            },
        ),
        Wrong::says(
            "answers an unknown key 404",
            &["result.refused_status"],
            |memory, asked, answered| {
                let key = asked.text("session_key");
                if asked.path == "/v1/login/session" && answered.status == 200 {
                    memory.known.insert(key);
                } else if asked.path == RESULT && is_key(&key) && !memory.known.contains(&key) {
                    answered.status = 404;
                }
            },
        ),
        Wrong::says(
            "takes an unknown key for a pending one",
            &["result.known"],
            |memory, asked, answered| {
                let key = asked.text("session_key");
                if asked.path == "/v1/login/session" && answered.status == 200 {
                    memory.known.insert(key);
                } else if asked.path == RESULT && is_key(&key) && !memory.known.contains(&key) {
                    *answered = Answered::of(200, r#"{"status":"pending"}"#);
                }
            },
        ),
        Wrong::takes(
            "shows results to any project",
            &["result.known"],
            |_, asked| {
                if asked.path == RESULT && asked.text("client_id") == OTHER_CLIENT_ID {
                    asked.put("client_id", CLIENT_ID);
                    asked.put("client_secret", SECRET);
                }
                None
            },
        ),
        Wrong::takes(
            "shows results at any callback",
            &["result.callback"],
            |_, asked| {
                if asked.path == RESULT && asked.text("redirect_uri") == SECOND_CALLBACK {
                    asked.put("redirect_uri", CALLBACK);
                }
                None
            },
        ),
        Wrong::both(
            "loses a result to wrong credentials",
            &["result.refused_keeps"],
            |memory, asked| {
                let is_gone =
                    asked.path == RESULT && memory.known.contains(&asked.text("session_key"));
                is_gone.then(|| Answered::refused(400))
            },
            |memory, asked, _| {
                if asked.path == RESULT && asked.text("client_id") == "nobody-we-know" {
                    memory.known.insert(asked.text("session_key"));
                }
            },
        ),
    ]
}

/// Whether this is a key that somebody could have.
fn is_key(text: &str) -> bool {
    text.len() == 43 && !text.contains('.')
}

/// Whether this is a result that can be read once.
fn is_terminal(answered: &Answered) -> bool {
    ["succeeded", "failed"]
        .iter()
        .any(|status| answered.json()["status"] == *status)
}
