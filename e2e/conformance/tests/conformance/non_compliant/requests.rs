//! Flaws of requests: malformed ones are accepted.

use std::mem::take;

use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use super::super::proxy::ProxiedResponse;
use super::super::test_broker::CALLBACK;
use super::NonCompliantBroker;

/// The versioned paths without their version.
const UNVERSIONED: &[&str] = &[
    "/login/session",
    "/login/result",
    "/token",
    "/profile",
    "/revoke",
];

/// The paths that answer POST alone.
const POST_ONLY: &[&str] = &[
    "/v1/login/session",
    "/v1/login/result",
    "/v1/token",
    "/v1/revoke",
];

const FIELDS: &[&str] = &[
    "client_id",
    "client_secret",
    "session_key",
    "provider",
    "redirect_uri",
    "grant_type",
    "code",
    "code_verifier",
];

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::accepts("accepts an unversioned path", &[], |_, request| {
            if UNVERSIONED.contains(&request.path.as_str()) {
                request.path = format!("/v1{}", request.path);
            }
            None
        })
        .and_chooses(&[(
            "request.path",
            "expected a refusal (4xx)",
            "POST /login/session {",
        )]),
        NonCompliantBroker::accepts("answers GET on a POST path", &[], |_, request| {
            let is_it = request.method == Method::GET && POST_ONLY.contains(&request.path.as_str());
            is_it.then(|| ProxiedResponse::of(200, "{}"))
        })
        .and_chooses(&[(
            "request.method",
            "expected a refusal (4xx)",
            "GET /v1/login/session -> 200",
        )]),
        NonCompliantBroker::accepts(
            "accepts any media type",
            &[(
                "body.media_type",
                "expected a refusal (4xx)",
                "POST /v1/login/session text/plain {",
            )],
            |_, request| {
                if !request.body.is_empty() {
                    let json = HeaderValue::from_static("application/json");
                    request.headers.insert(CONTENT_TYPE, json);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts an array of one object",
            &[(
                "body.json",
                "expected a refusal (4xx)",
                "POST /v1/login/session application/json [{",
            )],
            |_, request| {
                if let Value::Array(items) = request.json() {
                    request.body = items[0].to_string().into_bytes();
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts unknown fields",
            &[(
                "body.unknown_field",
                "expected a refusal (4xx)",
                r#""hint":"x"} -> 200"#,
            )],
            |_, request| {
                request.edit(|body| {
                    if let Some(members) = body.as_object_mut() {
                        members.retain(|name, _| FIELDS.contains(&name.as_str()));
                    }
                });
                None
            },
        ),
        NonCompliantBroker::accepts(
            "has a default for a missing callback",
            &[(
                "body.missing_field",
                "expected a refusal (4xx)",
                r#""provider":"google"} -> 200"#,
            )],
            |_, request| {
                request.edit(|body| {
                    if body.get("redirect_uri").is_none() {
                        body["redirect_uri"] = CALLBACK.into();
                    }
                });
                None
            },
        ),
        NonCompliantBroker::accepts(
            "has a default for a callback that is no string",
            &[(
                "body.field_type",
                "expected a refusal (4xx)",
                r#""redirect_uri":null} -> 200"#,
            )],
            |_, request| {
                request.edit(|body| {
                    if body.get("redirect_uri").is_some_and(|it| !it.is_string()) {
                        body["redirect_uri"] = CALLBACK.into();
                    }
                });
                None
            },
        ),
        NonCompliantBroker::accepts(
            "compares field names without case",
            &[(
                "body.field_names",
                "expected a refusal (4xx)",
                r#""Client_Id":"conformance"} -> 200"#,
            )],
            |_, request| {
                request.edit(|body| {
                    if let Some(members) = body.as_object_mut() {
                        let in_lower_case =
                            |(name, value): (String, _)| (name.to_lowercase(), value);
                        *members = take(members).into_iter().map(in_lower_case).collect();
                    }
                });
                None
            },
        ),
    ]
}
