//! Flaws of `POST /v1/token`: what must redeem no code is accepted.

use super::super::proxy::{Memory, ProxiedRequest, ProxiedResponse};
use super::super::test_broker::{CALLBACK, CLIENT_ID, OTHER_CLIENT_ID, SECOND_CALLBACK, SECRET};
use super::NonCompliantBroker;
use testkit::fresh;

const TOKEN: &str = "/v1/token";

/// The verifier of brokers that ignore the consumer's.
const OUR_VERIFIER: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH";

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    [exchanges(), verifiers()].into_iter().flatten().collect()
}

/// The code that a legacy callback brings, if this is one.
fn code_in(response: &ProxiedResponse) -> Option<String> {
    let url = url::Url::parse(&response.location()).ok()?;
    let (_, code) = url.query_pairs().find(|(name, _)| name == "code")?;
    Some(code.into_owned())
}

fn exchanges() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "refuses good codes",
            &[(
                "token.issued",
                "expected a success",
                r#" -> 400 application/json {"error":"request_failed"}"#,
            )],
            |_, request, response| {
                if request.path == TOKEN && response.status == 200 {
                    *response = ProxiedResponse::refused(400);
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
            "code.once",
            "code.replay_ends_token",
            "bearer.known",
            "bearer.shape",
            "bearer.header",
            "code.expiry",
            "upstream_login.expiry",
            "session.lifetime",
            "result.expiry",
            "token.lifetime",
            "bearer.expiry",
            "revoke.accepted",
            "revoke.body",
            "revoke.idempotent",
            "bearer.ended",
        ])
        .and_chooses(&[(
            "code.kept",
            "this kit redeems the code still",
            r#" -> 400 application/json {"error":"request_failed"}"#,
        )]),
        NonCompliantBroker::responds(
            "redeems a code twice",
            &[(
                "code.once",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"access_token":""#,
            )],
            |memory, request, response| {
                if request.path != TOKEN {
                    return;
                }
                let body = request.json().to_string();
                match response.status {
                    200 => drop(memory.answers.insert(body, response.clone())),
                    _ => {
                        if let Some(known) = memory.answers.get(&body) {
                            *response = known.clone();
                        }
                    }
                }
            },
        )
        .blocking(&["code.replay_ends_token"]),
        NonCompliantBroker::accepts(
            "accepts any grant",
            &[(
                "grant_type.constant",
                "expected a refusal (4xx)",
                r#""grant_type":"refresh_token""#,
            )],
            |_, request| {
                if request.path == TOKEN && !request.text("grant_type").is_empty() {
                    request.put("grant_type", "authorization_code");
                }
                None
            },
        ),
        NonCompliantBroker::changes(
            "accepts a code that is too long",
            &[(
                "code.length",
                "expected a refusal (4xx)",
                r#", 201 long>","redirect_uri""#,
            )],
            |memory, request| {
                if request.path == TOKEN && request.text("code").len() > 200 {
                    let code = memory.texts["code"].clone();
                    request.put("code", &code);
                }
                None
            },
            remember_code,
        ),
        NonCompliantBroker::changes(
            "accepts a code that it never issued",
            &[(
                "code.known",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"access_token":""#,
            )],
            |memory, request| {
                let code = request.text("code");
                if code.len() == 43 && !memory.known.contains(&code) {
                    let code = memory.texts["code"].clone();
                    request.put("code", &code);
                }
                None
            },
            remember_code,
        ),
        NonCompliantBroker::accepts(
            "redeems for any project",
            &[(
                "code.client",
                "expected a refusal (4xx)",
                r#""client_id":"conformance-other""#,
            )],
            |_, request| {
                if request.path == TOKEN && request.text("client_id") == OTHER_CLIENT_ID {
                    request.put("client_id", CLIENT_ID);
                    request.put("client_secret", SECRET);
                }
                None
            },
        ),
        NonCompliantBroker::accepts("redeems for any callback", &[], |_, request| {
            if request.path == TOKEN && request.text("redirect_uri") == SECOND_CALLBACK {
                request.put("redirect_uri", CALLBACK);
            }
            None
        })
        .and_chooses(&[(
            "code.callback",
            "expected a refusal (4xx)",
            r#"conformance/second","code_verifier""#,
        )]),
    ]
}

fn remember_code(memory: &mut Memory, _: &ProxiedRequest, response: &mut ProxiedResponse) {
    if let Some(code) = code_in(response) {
        memory.known.insert(code.clone());
        memory.texts.insert("code".to_owned(), code);
    }
}

/// Replaces the consumer's challenge by that of [`OUR_VERIFIER`], and remembers it.
fn take_over(memory: &mut Memory, request: &mut ProxiedRequest) {
    if let Some((before, after)) = request.path.clone().split_once("code_challenge=") {
        let (theirs, after) = after.split_at(43);
        memory.known.insert(theirs.to_owned());
        request.path = format!(
            "{before}code_challenge={}{after}",
            fresh::challenge(OUR_VERIFIER)
        );
    }
}

/// `^[A-Za-z0-9._~-]{43,128}$`
fn is_well_formed(verifier: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_allowed)
}

/// Whether a consumer made the verifier.
fn is_theirs(memory: &Memory, verifier: &str) -> bool {
    memory.known.contains(&fresh::challenge(verifier))
}

fn verifiers() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::accepts(
            "does not check the verifier",
            &[(
                "code.verifier",
                "expected a refusal (4xx)",
                r#", 43 long>"} -> 200"#,
            )],
            |memory, request| {
                take_over(memory, request);
                let verifier = request.text("code_verifier");
                if is_well_formed(&verifier) || is_theirs(memory, &verifier) {
                    request.put("code_verifier", OUR_VERIFIER);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts a short verifier",
            &[(
                "code_verifier.pattern",
                "expected a refusal (4xx)",
                r#", 42 long>"} -> 200"#,
            )],
            |memory, request| {
                take_over(memory, request);
                let verifier = request.text("code_verifier");
                let is_short = (1..43).contains(&verifier.len());
                if is_short || is_theirs(memory, &verifier) {
                    request.put("code_verifier", OUR_VERIFIER);
                }
                None
            },
        ),
    ]
}
