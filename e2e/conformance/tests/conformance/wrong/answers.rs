//! Wrong with every answer, with the list of providers, with the way home.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;

use super::super::ground::{CALLBACK, SECRET};
use super::super::proxy::{Answered, Asked};
use super::Wrong;
use super::profiles::on_profile;

const RESULT: &str = "/v1/login/result";

pub(crate) fn all() -> Vec<Wrong> {
    [everywhere(), providers(), callbacks()]
        .into_iter()
        .flatten()
        .collect()
}

fn everywhere() -> Vec<Wrong> {
    vec![
        Wrong::says(
            "sends JSON as text",
            &["answer.media_type"],
            |_, asked, answered| {
                if asked.path == RESULT {
                    let text = HeaderValue::from_static("text/html; charset=utf-8");
                    answered.headers.insert(CONTENT_TYPE, text);
                }
            },
        ),
        Wrong::says(
            "refuses without a code",
            &["error.shape"],
            |_, _, answered| {
                if answered.status >= 400 {
                    answered.body = br#"{"message":"The request was refused."}"#.to_vec();
                }
            },
        )
        .blocking(&["error.code"]),
        Wrong::says("refuses in prose", &["error.shape"], |_, _, answered| {
            if answered.status == 401 {
                answered.body = b"Who are you?".to_vec();
            }
        }),
        Wrong::says("says more of an error", &[], |_, asked, answered| {
            if answered.status == 400 && asked.path == RESULT {
                answered.edit(|body| body["hint"] = "the key was read before".into());
            }
        })
        .and_chooses(&["answer.members"]),
        Wrong::says(
            "explains an error in an object",
            &["error.shape"],
            |_, asked, answered| {
                if answered.status == 400 && asked.path == RESULT {
                    answered.edit(|body| body["message"] = json!({ "en": "It was read before." }));
                }
            },
        ),
        Wrong::says(
            "hands out the provider's token",
            &["answer.no_upstream_token"],
            |_, _, answered| {
                on_profile(answered, |profile| {
                    profile["access_token"] = "ya29.a0".into();
                });
            },
        )
        .and_chooses(&["answer.members"]),
    ]
}

fn providers() -> Vec<Wrong> {
    vec![
        Wrong::says(
            "knows one more provider",
            &["providers.known"],
            |_, asked, answered| {
                if asked.path == "/api/providers" {
                    answered.edit(|body| {
                        let mut more = body[0].clone();
                        more["id"] = "gitlab".into();
                        body.as_array_mut().expect("an array").push(more);
                    });
                }
            },
        ),
        Wrong::says(
            "does not say what is enabled",
            &["providers.shape"],
            |_, asked, answered| {
                if asked.path == "/api/providers" {
                    answered.edit(|body| {
                        body[1]
                            .as_object_mut()
                            .expect("an object")
                            .remove("enabled");
                    });
                }
            },
        ),
        Wrong::says(
            "says yes instead of true",
            &["providers.shape"],
            |_, asked, answered| {
                if asked.path == "/api/providers" {
                    answered.edit(|body| body[0]["configured"] = "yes".into());
                }
            },
        ),
    ]
}

/// Changes the way home of the clean flow.
fn come_home(answered: &mut Answered, end: &str) {
    if answered.location() == CALLBACK {
        answered.locate(&format!("{CALLBACK}{end}"));
    }
}

/// Whether the provider says that somebody declined.
fn is_refusal(asked: &Asked) -> bool {
    asked.path.contains("error=access_denied")
}

fn callbacks() -> Vec<Wrong> {
    vec![
        Wrong::says(
            "comes home with a query",
            &["callback.clean"],
            |_, asked, answered| {
                if !is_refusal(asked) {
                    come_home(answered, "?login=ok");
                }
            },
        ),
        Wrong::says(
            "comes home with a fragment",
            &["callback.clean"],
            |_, asked, answered| {
                if !is_refusal(asked) {
                    come_home(answered, "#_=_");
                }
            },
        ),
        Wrong::says(
            "comes home with a slash more",
            &["callback.clean"],
            |_, asked, answered| {
                if !is_refusal(asked) {
                    come_home(answered, "/");
                }
            },
        ),
        Wrong::says(
            "tells the browser that somebody declined",
            &["callback.clean_after_failure"],
            |_, asked, answered| {
                if is_refusal(asked) {
                    come_home(answered, "?error=access_denied");
                }
            },
        ),
        Wrong::says(
            "brings the secret home",
            &["callback.clean", "url.no_secret"],
            |_, asked, answered| {
                if !is_refusal(asked) {
                    come_home(answered, &format!("?of={SECRET}"));
                }
            },
        ),
    ]
}
