//! Flaws of token responses, and of the codes in callbacks.

use super::super::proxy::{ProxiedRequest, ProxiedResponse};
use super::NonCompliantBroker;

const TOKEN: &str = "/v1/token";

/// Changes a token response.
fn on_token(
    request: &ProxiedRequest,
    response: &mut ProxiedResponse,
    member: &str,
    value: serde_json::Value,
) {
    if request.path == TOKEN && response.status == 200 {
        response.edit(|body| body[member] = value);
    }
}

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::changes(
            "issues tokens without a prefix",
            &[(
                "token.access_token",
                "expected a prefix, an underscore and 43 characters of [A-Za-z0-9_-]",
                r#", 43 long>","token_type""#,
            )],
            |_, request| {
                if let Some(token) = request.authorization().strip_prefix("Bearer ") {
                    request.authorize(&format!("Bearer fsi_{token}"));
                }
                None
            },
            |_, request, response| {
                let token = response.json()["access_token"].clone();
                if let Some(token) = token.as_str() {
                    on_token(request, response, "access_token", token[4..].into());
                }
            },
        )
        .blocking(&["token.prefix"]),
        NonCompliantBroker::changes(
            "issues tokens of 42 characters",
            &[(
                "token.access_token",
                "expected a prefix, an underscore and 43 characters of [A-Za-z0-9_-]",
                r#", 46 long>","token_type""#,
            )],
            |memory, request| {
                let bearer = request.authorization();
                if bearer.len() == "Bearer fsi_".len() + 42 {
                    let whole = memory.texts.get(&bearer).cloned();
                    request.authorize(&whole.unwrap_or_else(|| format!("{bearer}A")));
                }
                None
            },
            |memory, request, response| {
                let token = response.json()["access_token"].clone();
                if let Some(token) = token.as_str() {
                    let short = &token[..token.len() - 1];
                    let (short_one, whole) = (format!("Bearer {short}"), format!("Bearer {token}"));
                    memory.texts.insert(short_one, whole);
                    on_token(request, response, "access_token", short.into());
                }
            },
        )
        .blocking(&["token.prefix"]),
        NonCompliantBroker::responds(
            "sends bearer in lower case",
            &[(
                "token.type",
                r#"expected token_type to be "Bearer""#,
                r#""token_type":"bearer""#,
            )],
            |_, request, response| {
                on_token(request, response, "token_type", "bearer".into());
            },
        ),
        NonCompliantBroker::responds(
            "announces an hour for a token",
            &[(
                "token.expires_in",
                "expected expires_in to be 900",
                r#""expires_in":3600"#,
            )],
            |_, request, response| {
                on_token(request, response, "expires_in", 3600.into());
            },
        ),
        NonCompliantBroker::responds(
            "sends the seconds of a token as text",
            &[(
                "token.expires_in",
                "expected expires_in to be 900",
                r#""expires_in":"900""#,
            )],
            |_, request, response| {
                on_token(request, response, "expires_in", "900".into());
            },
        ),
        NonCompliantBroker::responds(
            "sends a further scope",
            &[(
                "token.scope",
                r#"expected scope to be "profile""#,
                r#""scope":"profile email""#,
            )],
            |_, request, response| {
                on_token(request, response, "scope", "profile email".into());
            },
        ),
        NonCompliantBroker::responds(
            "adds a member to a token response",
            &[],
            |_, request, response| {
                on_token(request, response, "created_at", 0.into());
            },
        )
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member created_at",
            r#""created_at":0}"#,
        )]),
        NonCompliantBroker::responds(
            "leaves out the scope",
            &[(
                "token.fields",
                "expected the member scope",
                r#""expires_in":900}"#,
            )],
            |_, request, response| {
                if request.path == TOKEN && response.status == 200 {
                    response.edit(|body| {
                        body.as_object_mut().expect("an object").remove("scope");
                    });
                }
            },
        )
        .blocking(&["token.scope"]),
        NonCompliantBroker::responds(
            "returns a refresh token",
            &[(
                "answer.no_upstream_token",
                "expected no member refresh_token",
                r#""refresh_token":"1//0e""#,
            )],
            |_, request, response| on_token(request, response, "refresh_token", "1//0e".into()),
        )
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member refresh_token",
            r#""refresh_token":"1//0e""#,
        )]),
        NonCompliantBroker::responds(
            "issues codes of more than 200 characters",
            &[(
                "code.length",
                "expected at most 200 characters",
                "came to http://localhost:9/conformance?code=<",
            )],
            |_, _, response| {
                lengthen_code(response);
            },
        )
        .with_short_codes(),
    ]
}

/// Makes the code in a legacy callback longer than it may be.
fn lengthen_code(response: &mut ProxiedResponse) {
    let location = response.location();
    if let Some((before, after)) = location.split_once("?code=") {
        let padding = "0".repeat(201);
        response.locate(&format!("{before}?code={padding}{after}"));
    }
}

impl NonCompliantBroker {
    /// Accepts the codes of [`lengthen_code`] back.
    fn with_short_codes(self) -> Self {
        Self {
            before: |_, request| {
                let code = request.text("code");
                if let Some(code) = code.strip_prefix(&"0".repeat(201)) {
                    request.put("code", code);
                }
                None
            },
            ..self
        }
    }
}
