//! Flaws of `POST /v1/login/session`.

use super::super::proxy::ProxiedResponse;
use super::NonCompliantBroker;
use testkit::fresh;

const SESSION: &str = "/v1/login/session";

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::accepts(
            "compares providers without case",
            &[(
                "provider.known",
                "expected a refusal (4xx)",
                r#""provider":"Google""#,
            )],
            |_, request| {
                let provider = request.text("provider");
                if !provider.is_empty() {
                    request.put("provider", &provider.to_lowercase());
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts a padded session key",
            &[(
                "session_key.pattern",
                "expected a refusal (4xx)",
                r#", 44 long>","provider""#,
            )],
            |_, request| {
                let key = request.text("session_key");
                if let Some(key) = key.strip_suffix('=') {
                    request.put("session_key", key);
                }
                None
            },
        ),
        NonCompliantBroker::accepts("accepts a session key twice", &[], |memory, request| {
            let key = request.text("session_key");
            // Only complete requests: others are refused for another reason.
            let is_whole = request.path == SESSION && key.len() == 43;
            if is_whole && !memory.known.insert(key) {
                request.put("session_key", &fresh::secret());
            }
            None
        })
        .and_chooses(&[(
            "session_key.fresh",
            "expected a refusal (4xx)",
            r#" -> 200 application/json {"authorization_url":""#,
        )]),
        NonCompliantBroker::responds(
            "answers a started login with 201",
            &[(
                "session.status",
                "expected 200",
                r#" -> 201 application/json {"authorization_url":""#,
            )],
            |_, request, response| {
                if request.path == SESSION && response.status == 200 {
                    response.status = 201;
                }
            },
        ),
        NonCompliantBroker::responds(
            "adds a member to a started login",
            &[],
            |_, request, response| {
                if request.path == SESSION && response.status == 200 {
                    response.edit(|body| body["session_id"] = "1".into());
                }
            },
        )
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member session_id",
            r#""session_id":"1"}"#,
        )]),
        NonCompliantBroker::responds(
            "leaves out expires_in",
            &[(
                "session.fields",
                "expected the member expires_in",
                r#" -> 200 application/json {"authorization_url":""#,
            )],
            |_, request, response| {
                if request.path == SESSION && response.status == 200 {
                    response.edit(|body| {
                        body.as_object_mut()
                            .expect("an object")
                            .remove("expires_in");
                    });
                }
            },
        )
        .blocking(&["session.expires_in"]),
        NonCompliantBroker::responds(
            "announces 601 seconds for a login",
            &[(
                "session.expires_in",
                "expected expires_in to be 600",
                r#""expires_in":601}"#,
            )],
            |_, _, response| {
                response.edit(|body| {
                    if body["expires_in"] == 600 {
                        body["expires_in"] = 601.into();
                    }
                });
            },
        ),
        NonCompliantBroker::responds(
            "sends the seconds of a login as text",
            &[(
                "session.expires_in",
                "expected expires_in to be 600",
                r#""expires_in":"600"}"#,
            )],
            |_, _, response| {
                response.edit(|body| {
                    if body["expires_in"] == 600 {
                        body["expires_in"] = "600".into();
                    }
                });
            },
        ),
        NonCompliantBroker::responds(
            "puts a query into authorization_url",
            &[(
                "authorization_url.shape",
                "expected no query",
                r#" -> 200 application/json {"authorization_url":""#,
            )],
            |_, _, response| lengthen_url(response, "?from=us"),
        ),
        NonCompliantBroker::responds(
            "puts a fragment into authorization_url",
            &[(
                "authorization_url.shape",
                "expected no fragment",
                r#" -> 200 application/json {"authorization_url":""#,
            )],
            |_, _, response| lengthen_url(response, "#here"),
        ),
        NonCompliantBroker::changes(
            "puts the session key into authorization_url",
            &[(
                "url.no_secret",
                "expected no secret in authorization_url",
                r#" -> 200 application/json {"authorization_url":""#,
            )],
            |_, request| {
                if let Some((_, path)) = request.path.clone().split_once("/~/") {
                    request.path = format!("/{path}");
                }
                None
            },
            |_, request, response| {
                let key = request.text("session_key");
                response.edit(|body| {
                    if let Some(url) = body["authorization_url"].as_str() {
                        let url = url.replace("/login/", &format!("/{key}/~/login/"));
                        body["authorization_url"] = url.into();
                    }
                });
            },
        ),
    ]
}

fn lengthen_url(response: &mut ProxiedResponse, end: &str) {
    response.edit(|body| {
        if let Some(url) = body["authorization_url"].as_str() {
            body["authorization_url"] = format!("{url}{end}").into();
        }
    });
}
