//! Wrong with codes and tokens.

use super::super::ground::{CALLBACK, CLIENT_ID, OTHER_CLIENT_ID, SECOND_CALLBACK, SECRET};
use super::super::proxy::{Answered, Asked, Memory};
use super::Wrong;
use testkit::fresh;

const TOKEN: &str = "/v1/token";

/// The verifier of brokers that do not care for the consumer's.
const OUR_VERIFIER: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH";

pub(crate) fn all() -> Vec<Wrong> {
    [answers(), exchanges(), verifiers()]
        .into_iter()
        .flatten()
        .collect()
}

/// Changes a token response.
fn on_token(asked: &Asked, answered: &mut Answered, member: &str, value: serde_json::Value) {
    if asked.path == TOKEN && answered.status == 200 {
        answered.edit(|body| body[member] = value);
    }
}

fn answers() -> Vec<Wrong> {
    vec![
        Wrong::both(
            "leaves out the prefix of a token",
            &["token.access_token"],
            |_, asked| {
                if let Some(token) = asked.authorization().strip_prefix("Bearer ") {
                    asked.authorize(&format!("Bearer fsi_{token}"));
                }
                None
            },
            |_, asked, answered| {
                let token = answered.json()["access_token"].clone();
                if let Some(token) = token.as_str() {
                    on_token(asked, answered, "access_token", token[4..].into());
                }
            },
        )
        .blocking(&["token.prefix"]),
        Wrong::both(
            "makes tokens of 42 characters",
            &["token.access_token"],
            |memory, asked| {
                let bearer = asked.authorization();
                if bearer.len() == "Bearer fsi_".len() + 42 {
                    let whole = memory.texts.get(&bearer).cloned();
                    asked.authorize(&whole.unwrap_or_else(|| format!("{bearer}A")));
                }
                None
            },
            |memory, asked, answered| {
                let token = answered.json()["access_token"].clone();
                if let Some(token) = token.as_str() {
                    let short = &token[..token.len() - 1];
                    let (short_one, whole) = (format!("Bearer {short}"), format!("Bearer {token}"));
                    memory.texts.insert(short_one, whole);
                    on_token(asked, answered, "access_token", short.into());
                }
            },
        )
        .blocking(&["token.prefix"]),
        Wrong::says("says bearer", &["token.type"], |_, asked, answered| {
            on_token(asked, answered, "token_type", "bearer".into());
        }),
        Wrong::says(
            "gives a token an hour",
            &["token.expires_in"],
            |_, asked, answered| {
                on_token(asked, answered, "expires_in", 3600.into());
            },
        ),
        Wrong::says(
            "writes the token's seconds as text",
            &["token.expires_in"],
            |_, asked, answered| {
                on_token(asked, answered, "expires_in", "900".into());
            },
        ),
        Wrong::says(
            "has a scope more",
            &["token.scope"],
            |_, asked, answered| {
                on_token(asked, answered, "scope", "profile email".into());
            },
        ),
        Wrong::says("says more of a token", &[], |_, asked, answered| {
            on_token(asked, answered, "created_at", 0.into());
        })
        .and_chooses(&["answer.members"]),
        Wrong::says(
            "does not say what a token is for",
            &["token.fields"],
            |_, asked, answered| {
                if asked.path == TOKEN && answered.status == 200 {
                    answered.edit(|body| {
                        body.as_object_mut().expect("an object").remove("scope");
                    });
                }
            },
        )
        .blocking(&["token.scope"]),
        Wrong::says(
            "hands out a refresh token",
            &["answer.no_upstream_token"],
            |_, asked, answered| on_token(asked, answered, "refresh_token", "1//0e".into()),
        )
        .and_chooses(&["answer.members"]),
        Wrong::says(
            "makes codes of 201 characters",
            &["code.length"],
            |_, _, answered| {
                lengthen_code(answered);
            },
        )
        .with_short_codes(),
    ]
}

/// Makes the code in a legacy callback longer than it may be.
fn lengthen_code(answered: &mut Answered) {
    let location = answered.location();
    if let Some((before, after)) = location.split_once("?code=") {
        let padding = "0".repeat(201);
        answered.locate(&format!("{before}?code={padding}{after}"));
    }
}

impl Wrong {
    /// Takes the codes of [`lengthen_code`] back.
    fn with_short_codes(self) -> Self {
        Self {
            before: |_, asked| {
                let code = asked.text("code");
                if let Some(code) = code.strip_prefix(&"0".repeat(201)) {
                    asked.put("code", code);
                }
                None
            },
            ..self
        }
    }
}

/// The code that a legacy callback brings, if this is one.
fn code_in(answered: &Answered) -> Option<String> {
    let url = url::Url::parse(&answered.location()).ok()?;
    let (_, code) = url.query_pairs().find(|(name, _)| name == "code")?;
    Some(code.into_owned())
}

fn exchanges() -> Vec<Wrong> {
    vec![
        Wrong::says(
            "refuses good codes",
            &["token.issued"],
            |_, asked, answered| {
                if asked.path == TOKEN && answered.status == 200 {
                    *answered = Answered::refused(400);
                }
            },
        )
        .blocking(&[
            "token.fields",
            "token.access_token",
            "token.type",
            "token.expires_in",
            "token.scope",
            "token.prefix",
            "profile.bearer",
            "profile.subject_stable",
            "code.once",
            "code.replay_ends_token",
            "bearer.known",
            "bearer.shape",
            "bearer.header",
            "code.expiry",
            "session.lifetime",
            "result.expiry",
            "token.lifetime",
            "bearer.expiry",
            "revoke.accepted",
            "revoke.body",
            "revoke.idempotent",
            "bearer.ended",
        ])
        .and_chooses(&["code.kept"]),
        Wrong::says(
            "redeems a code twice",
            &["code.once"],
            |memory, asked, answered| {
                if asked.path != TOKEN {
                    return;
                }
                let body = asked.json().to_string();
                match answered.status {
                    200 => drop(memory.answers.insert(body, answered.clone())),
                    _ => {
                        if let Some(known) = memory.answers.get(&body) {
                            *answered = known.clone();
                        }
                    }
                }
            },
        )
        .blocking(&["code.replay_ends_token"]),
        Wrong::takes("takes any grant", &["grant_type.constant"], |_, asked| {
            if asked.text("grant_type") == "refresh_token" {
                asked.put("grant_type", "authorization_code");
            }
            None
        }),
        Wrong::both(
            "takes a code that is too long",
            &["code.length"],
            |memory, asked| {
                if asked.path == TOKEN && asked.text("code").len() > 200 {
                    let code = memory.texts["code"].clone();
                    asked.put("code", &code);
                }
                None
            },
            remember_code,
        ),
        Wrong::both(
            "takes a code that nobody issued",
            &["code.known"],
            |memory, asked| {
                let code = asked.text("code");
                if code.len() == 43 && !memory.known.contains(&code) {
                    let code = memory.texts["code"].clone();
                    asked.put("code", &code);
                }
                None
            },
            remember_code,
        ),
        Wrong::takes("redeems for any project", &["code.client"], |_, asked| {
            if asked.path == TOKEN && asked.text("client_id") == OTHER_CLIENT_ID {
                asked.put("client_id", CLIENT_ID);
                asked.put("client_secret", SECRET);
            }
            None
        }),
        Wrong::takes("redeems at any callback", &[], |_, asked| {
            if asked.path == TOKEN && asked.text("redirect_uri") == SECOND_CALLBACK {
                asked.put("redirect_uri", CALLBACK);
            }
            None
        })
        .and_chooses(&["code.callback"]),
    ]
}

fn remember_code(memory: &mut Memory, _: &Asked, answered: &mut Answered) {
    if let Some(code) = code_in(answered) {
        memory.known.insert(code.clone());
        memory.texts.insert("code".to_owned(), code);
    }
}

/// Puts a challenge of ours in the place of the consumer's, and remembers that.
fn take_over(memory: &mut Memory, asked: &mut Asked) {
    if let Some((before, after)) = asked.path.clone().split_once("code_challenge=") {
        let (theirs, after) = after.split_at(43);
        memory.known.insert(theirs.to_owned());
        asked.path = format!(
            "{before}code_challenge={}{after}",
            fresh::challenge(OUR_VERIFIER)
        );
    }
}

fn is_theirs(memory: &Memory, verifier: &str) -> bool {
    memory.known.contains(&fresh::challenge(verifier))
}

fn verifiers() -> Vec<Wrong> {
    vec![
        Wrong::takes(
            "does not check the verifier",
            &["code.verifier"],
            |memory, asked| {
                take_over(memory, asked);
                let verifier = asked.text("code_verifier");
                if verifier.len() == 43 || is_theirs(memory, &verifier) {
                    asked.put("code_verifier", OUR_VERIFIER);
                }
                None
            },
        ),
        Wrong::takes(
            "takes a short verifier",
            &["code_verifier.pattern"],
            |memory, asked| {
                take_over(memory, asked);
                let verifier = asked.text("code_verifier");
                if verifier.len() == 42 || is_theirs(memory, &verifier) {
                    asked.put("code_verifier", OUR_VERIFIER);
                }
                None
            },
        ),
    ]
}
