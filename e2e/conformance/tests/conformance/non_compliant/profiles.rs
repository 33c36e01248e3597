//! Flaws of profiles, in either flow.

use serde_json::Value;

use super::super::proxy::ProxiedResponse;
use super::NonCompliantBroker;
use testkit::fresh;

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    [fields(), subjects(), contents()]
        .into_iter()
        .flatten()
        .collect()
}

fn fields() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "leaves out emailVerified",
            &[(
                "profile.fields",
                "expected the member emailVerified",
                r#""email":null,"avatarUrl":null}"#,
            )],
            |_, _, response| {
                on_profile(response, |profile| {
                    profile
                        .as_object_mut()
                        .expect("a profile")
                        .remove("emailVerified");
                });
            },
        )
        .blocking(&["profile.email_verified"]),
        NonCompliantBroker::responds(
            "leaves out what is null",
            &[(
                "profile.fields",
                "expected the member name",
                r#","emailVerified":false}}"#,
            )],
            |_, _, response| {
                on_profile(response, |profile| {
                    profile
                        .as_object_mut()
                        .expect("a profile")
                        .retain(|_, value| !value.is_null());
                });
            },
        ),
        NonCompliantBroker::responds("adds a member to a profile", &[], |_, _, response| {
            on_profile(response, |profile| profile["locale"] = "en".into());
        })
        .and_chooses(&[(
            "answer.members",
            "this kit sends no member locale",
            r#""locale":"en""#,
        )]),
        NonCompliantBroker::responds(
            "sends emailVerified as text",
            &[(
                "profile.types",
                "expected emailVerified to be a boolean",
                r#""emailVerified":"true""#,
            )],
            |_, _, response| {
                on_profile(response, |profile| profile["emailVerified"] = "true".into());
            },
        )
        .blocking(&["profile.email_verified"]),
        NonCompliantBroker::responds(
            "sends false as the name",
            &[(
                "profile.types",
                "expected name to be a string or null",
                r#""name":false"#,
            )],
            |_, _, response| {
                on_profile(response, |profile| profile["name"] = false.into());
            },
        ),
        NonCompliantBroker::responds(
            "capitalises the provider",
            &[(
                "profile.provider",
                r#"expected provider to be "google""#,
                r#""provider":"Google""#,
            )],
            |_, _, response| {
                on_profile(response, |profile| profile["provider"] = "Google".into());
            },
        ),
    ]
}

fn subjects() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "has another subject for each flow",
            &[(
                "profile.subject_stable",
                "expected the subject of the last login",
                "GET /v1/profile (Authorization: Bearer <",
            )],
            |_, request, response| {
                if request.path == "/v1/profile" {
                    on_profile(response, |profile| {
                        profile["subject"] = format!("sub_{}", fresh::secret()).into();
                    });
                }
            },
        ),
        NonCompliantBroker::responds(
            "has another subject for an account that was renamed",
            &[(
                "profile.subject_stable",
                "expected the subject of the last login",
                r#"200 application/json {"status":"succeeded","profile":{"subject":"<"#,
            )],
            |_, _, response| {
                on_profile(response, |profile| {
                    let account = [&profile["provider"], &profile["providerSubject"]];
                    let derived = format!("{account:?}{}", profile["name"]);
                    let derived = fresh::challenge(&derived);
                    profile["subject"] = format!("sub_{derived}").into();
                });
            },
        ),
        NonCompliantBroker::responds(
            "has one subject for all accounts",
            &[(
                "profile.subject_distinct",
                "expected another subject than other accounts'",
                r#""provider":"github""#,
            )],
            |_, _, response| {
                on_profile(response, |profile| {
                    profile["subject"] = format!("sub_{}", fresh::challenge("all")).into();
                });
            },
        ),
        NonCompliantBroker::responds(
            "takes the first address of an account into its subject",
            &[(
                "profile.subject_not_email",
                "expected no e-mail address in the subject",
                r#""provider":"github""#,
            )],
            |memory, _, response| {
                on_profile(response, |profile| {
                    if let (Some(email), "github") = (
                        profile["email"].as_str(),
                        profile["provider"].as_str().unwrap_or_default(),
                    ) {
                        let id = profile["providerSubject"].as_str().unwrap_or_default();
                        let subject = format!("{id}:{email}");
                        let first = memory.texts.entry(id.to_owned()).or_insert(subject);
                        profile["subject"] = first.as_str().into();
                    }
                });
            },
        )
        .and_chooses(&[(
            "profile.subject_form",
            "this kit sends sub_ and 43 characters",
            r#""provider":"github""#,
        )]),
    ]
}

fn contents() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds("drops the name", &[], |_, _, response| {
            on_profile(response, |profile| profile["name"] = Value::Null);
        })
        .and_chooses(&[(
            "profile.names",
            "this kit sends the name of the account",
            r#""name":null"#,
        )]),
        NonCompliantBroker::responds(
            "sends the username as providerSubject",
            &[],
            |_, _, response| {
                on_profile(response, |profile| {
                    if profile["username"].is_string() {
                        profile["providerSubject"] = profile["username"].clone();
                    }
                });
            },
        )
        .and_chooses(&[(
            "profile.provider_subject",
            "this kit sends the provider's id of the account",
            r#""provider":"github""#,
        )]),
        NonCompliantBroker::responds("calls every address verified", &[], |_, _, response| {
            on_profile(response, |profile| {
                profile["emailVerified"] = profile["email"].is_string().into();
            });
        })
        .and_chooses(&[(
            "profile.email_verified",
            "this kit sends true for an address that the provider verified, and for no other",
            r#""emailVerified":true"#,
        )]),
        NonCompliantBroker::responds("sends an address of its own", &[], |_, _, response| {
            on_profile(response, |profile| {
                if profile["email"].is_string() {
                    let id = profile["providerSubject"].as_str().unwrap_or_default();
                    profile["email"] = format!("{id}@users.broker.example").into();
                }
            });
        })
        .and_chooses(&[(
            "profile.email",
            "this kit sends the address of the account",
            r#""provider":"github""#,
        )]),
    ]
}

/// Changes a profile in the response of either flow.
pub(super) fn on_profile(response: &mut ProxiedResponse, mut change: impl FnMut(&mut Value)) {
    response.edit(|body| {
        if body.get("providerSubject").is_some() {
            change(body);
        } else if body["profile"].is_object() {
            change(&mut body["profile"]);
        }
    });
}
