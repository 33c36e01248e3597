//! Flaws of the results of the clean flow.

use serde_json::Value;

use super::NonCompliantBroker;

const RESULT: &str = "/v1/login/result";

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "sends a null profile with a pending result",
            &[],
            |_, _, response| {
                response.edit(|body| {
                    if body["status"] == "pending" {
                        body["profile"] = Value::Null;
                    }
                });
            },
        )
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member profile",
            r#" -> 200 application/json {"status":"pending","profile":null}"#,
        )]),
        NonCompliantBroker::responds(
            "sends an error with a pending result",
            &[(
                "result.fields",
                "expected no error",
                r#" -> 200 application/json {"status":"pending","error":"access_den"#,
            )],
            |_, _, response| {
                response.edit(|body| {
                    if body["status"] == "pending" {
                        body["error"] = "access_denied".into();
                    }
                });
            },
        )
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member error",
            r#" -> 200 application/json {"status":"pending","error":"access_den"#,
        )]),
        NonCompliantBroker::responds(
            "sends a null error with a succeeded result",
            &[],
            |_, _, response| {
                response.edit(|body| {
                    if body["status"] == "succeeded" {
                        body["error"] = Value::Null;
                    }
                });
            },
        )
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member error",
            r#" -> 200 application/json {"status":"succeeded","profile":{"subje"#,
        )]),
        NonCompliantBroker::responds(
            "calls a pending login waiting",
            &[
                (
                    "result.pending",
                    r#"expected status to be "pending""#,
                    r#" -> 200 application/json {"status":"waiting"}"#,
                ),
                (
                    "result.pending_keeps",
                    r#"expected status to be "pending""#,
                    r#" -> 200 application/json {"status":"waiting"}"#,
                ),
                (
                    "result.fields",
                    "expected status to be pending, succeeded or failed",
                    r#" -> 200 application/json {"status":"waiting"}"#,
                ),
                (
                    "session.lifetime",
                    r#"expected status to be "pending""#,
                    r#" -> 200 application/json {"status":"waiting"}"#,
                ),
            ],
            |_, _, response| {
                response.edit(|body| {
                    if body["status"] == "pending" {
                        body["status"] = "waiting".into();
                    }
                });
            },
        ),
        NonCompliantBroker::responds(
            "leaves out the profile",
            &[
                (
                    "result.succeeded",
                    "expected a profile",
                    r#" -> 200 application/json {"status":"succeeded"}"#,
                ),
                (
                    "result.fields",
                    "expected the member profile",
                    r#" -> 200 application/json {"status":"succeeded"}"#,
                ),
            ],
            |_, request, response| {
                if request.path == RESULT {
                    response
                        .edit(|body| drop(body.as_object_mut().expect("one").remove("profile")));
                }
            },
        )
        .blocking(&[
            "profile.subject_stable",
            "profile.subject_distinct",
            "profile.subject_not_email",
        ]),
        NonCompliantBroker::responds(
            "makes a failed login an HTTP error",
            &[(
                "result.failed",
                "expected a success",
                r#" -> 403 application/json {"error":"access_denied"}"#,
            )],
            |_, _, response| {
                if response.json()["status"] == "failed" {
                    response.status = 403;
                    response.body = br#"{"error":"access_denied"}"#.to_vec();
                }
            },
        ),
        NonCompliantBroker::responds(
            "reports a failure with another error",
            &[(
                "result.failed",
                "expected one of the three errors",
                r#" -> 200 application/json {"status":"failed","error":"cancelled"}"#,
            )],
            |_, _, response| {
                response.edit(|body| {
                    if body["status"] == "failed" {
                        body["error"] = "cancelled".into();
                    }
                });
            },
        )
        .blocking(&["upstream.denied"]),
        NonCompliantBroker::responds(
            "reports a denial as provider_unavailable",
            &[(
                "upstream.denied",
                r#"expected error to be "access_denied""#,
                r#" -> 200 application/json {"status":"failed","error":"provider_un"#,
            )],
            |_, _, response| {
                response.edit(|body| {
                    if body["status"] == "failed" {
                        body["error"] = "provider_unavailable".into();
                    }
                });
            },
        ),
    ]
}
