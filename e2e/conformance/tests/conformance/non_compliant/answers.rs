//! Flaws of every response, of the list of providers, of the callback.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;

use super::super::proxy::{ProxiedRequest, ProxiedResponse};
use super::super::test_broker::{CALLBACK, SECRET};
use super::NonCompliantBroker;
use super::profiles::on_profile;

const RESULT: &str = "/v1/login/result";

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    [everywhere(), providers(), callbacks()]
        .into_iter()
        .flatten()
        .collect()
}

fn everywhere() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "sends JSON as text/html",
            &[(
                "answer.media_type",
                "expected Content-Type: application/json",
                r#" -> 405 text/html; charset=utf-8 {"error":"request_failed","mess"#,
            )],
            |_, request, response| {
                if request.path == RESULT {
                    let text = HeaderValue::from_static("text/html; charset=utf-8");
                    response.headers.insert(CONTENT_TYPE, text);
                }
            },
        ),
        NonCompliantBroker::responds(
            "refuses without a code",
            &[(
                "error.shape",
                "expected the member error",
                r#" -> 400 application/json {"message":"The request was refused."}"#,
            )],
            |_, _, response| {
                if response.status >= 400 {
                    response.body = br#"{"message":"The request was refused."}"#.to_vec();
                }
            },
        )
        .blocking(&["error.code"]),
        NonCompliantBroker::responds(
            "refuses in prose",
            &[(
                "error.shape",
                "expected a JSON object",
                " -> 401 application/json Who are you?",
            )],
            |_, _, response| {
                if response.status == 401 {
                    response.body = b"Who are you?".to_vec();
                }
            },
        ),
        NonCompliantBroker::responds("adds a member to an error", &[], |_, request, response| {
            if response.status == 400 && request.path == RESULT {
                response.edit(|body| body["hint"] = "the key was read before".into());
            }
        })
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member hint",
            r#" -> 400 application/json {"error":"request_failed","message":"Th"#,
        )]),
        NonCompliantBroker::responds(
            "explains an error in an object",
            &[(
                "error.shape",
                "expected message to be a string",
                r#" -> 400 application/json {"error":"request_failed","message":{"e"#,
            )],
            |_, request, response| {
                if response.status == 400 && request.path == RESULT {
                    response.edit(|body| body["message"] = json!({ "en": "It was read before." }));
                }
            },
        ),
        NonCompliantBroker::responds(
            "returns the provider's token",
            &[(
                "answer.no_upstream_token",
                "expected no member access_token",
                r#""access_token":"<"#,
            )],
            |_, _, response| {
                on_profile(response, |profile| {
                    profile["access_token"] = "ya29.a0".into();
                });
            },
        )
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member access_token",
            r#""access_token":"<"#,
        )]),
    ]
}

fn is_list(request: &ProxiedRequest, response: &ProxiedResponse) -> bool {
    request.path == "/api/providers" && response.status == 200
}

fn providers() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "lists another provider",
            &[(
                "providers.known",
                "expected google and github, each once",
                r#""id":"gitlab""#,
            )],
            |_, request, response| {
                if is_list(request, response) {
                    response.edit(|body| {
                        let mut more = body[0].clone();
                        more["id"] = "gitlab".into();
                        body.as_array_mut().expect("an array").push(more);
                    });
                }
            },
        ),
        NonCompliantBroker::responds(
            "leaves out enabled",
            &[(
                "providers.shape",
                "expected the member enabled",
                r#""id":"github","configured":true,"available":true"#,
            )],
            |_, request, response| {
                if is_list(request, response) {
                    response.edit(|body| {
                        body[1]
                            .as_object_mut()
                            .expect("an object")
                            .remove("enabled");
                    });
                }
            },
        ),
        NonCompliantBroker::responds(
            "sends yes instead of true",
            &[(
                "providers.shape",
                "expected configured to be a boolean",
                r#""configured":"yes""#,
            )],
            |_, request, response| {
                if is_list(request, response) {
                    response.edit(|body| body[0]["configured"] = "yes".into());
                }
            },
        ),
    ]
}

/// Changes the callback of the clean flow.
fn change_callback(response: &mut ProxiedResponse, end: &str) {
    if response.location() == CALLBACK {
        response.locate(&format!("{CALLBACK}{end}"));
    }
}

/// Whether the provider reports that the user declined.
fn is_denial(request: &ProxiedRequest) -> bool {
    request.path.contains("error=access_denied")
}

fn callbacks() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "returns with a query",
            &[(
                "callback.clean",
                "expected exactly http://localhost:9/conformance",
                "came to http://localhost:9/conformance?login=ok",
            )],
            |_, request, response| {
                if !is_denial(request) {
                    change_callback(response, "?login=ok");
                }
            },
        ),
        NonCompliantBroker::responds(
            "returns with a fragment",
            &[(
                "callback.clean",
                "expected exactly http://localhost:9/conformance",
                "came to http://localhost:9/conformance#_=_",
            )],
            |_, request, response| {
                if !is_denial(request) {
                    change_callback(response, "#_=_");
                }
            },
        ),
        NonCompliantBroker::responds(
            "returns with a further slash",
            &[(
                "callback.clean",
                "expected exactly http://localhost:9/conformance",
                "came to http://localhost:9/conformance/",
            )],
            |_, request, response| {
                if !is_denial(request) {
                    change_callback(response, "/");
                }
            },
        ),
        NonCompliantBroker::responds(
            "reports a denial in the callback",
            &[(
                "callback.clean_after_failure",
                "expected exactly http://localhost:9/conformance",
                "came to http://localhost:9/conformance?error=access_denied",
            )],
            |_, request, response| {
                if is_denial(request) {
                    change_callback(response, "?error=access_denied");
                }
            },
        ),
        NonCompliantBroker::responds(
            "puts the secret into the callback",
            &[
                (
                    "callback.clean",
                    "expected exactly http://localhost:9/conformance",
                    "came to http://localhost:9/conformance?of=<",
                ),
                (
                    "url.no_secret",
                    "expected no secret",
                    "came to http://localhost:9/conformance?of=<",
                ),
            ],
            |_, request, response| {
                if !is_denial(request) {
                    change_callback(response, &format!("?of={SECRET}"));
                }
            },
        ),
    ]
}
