//! Wrong with profiles, by either flow.

use serde_json::Value;

use super::super::proxy::Answered;
use super::Wrong;
use testkit::fresh;

pub(crate) fn all() -> Vec<Wrong> {
    vec![
        Wrong::says(
            "does not say whether the e-mail is verified",
            &["profile.fields"],
            |_, _, answered| {
                on_profile(answered, |profile| {
                    profile
                        .as_object_mut()
                        .expect("a profile")
                        .remove("emailVerified");
                });
            },
        ),
        Wrong::says(
            "leaves out what is null",
            &["profile.fields"],
            |_, _, answered| {
                on_profile(answered, |profile| {
                    profile
                        .as_object_mut()
                        .expect("a profile")
                        .retain(|_, value| !value.is_null());
                });
            },
        ),
        Wrong::says("says more of a person", &[], |_, _, answered| {
            on_profile(answered, |profile| profile["locale"] = "en".into());
        })
        .and_chooses(&["answer.members"]),
        Wrong::says(
            "writes true as text",
            &["profile.types"],
            |_, _, answered| {
                on_profile(answered, |profile| profile["emailVerified"] = "true".into());
            },
        ),
        Wrong::says("names nobody", &["profile.types"], |_, _, answered| {
            on_profile(answered, |profile| profile["name"] = false.into());
        }),
        Wrong::says(
            "capitalises the provider",
            &["profile.provider"],
            |_, _, answered| {
                on_profile(answered, |profile| profile["provider"] = "Google".into());
            },
        ),
        Wrong::says(
            "has another subject for each flow",
            &["profile.subject_stable"],
            |_, asked, answered| {
                if asked.path == "/v1/profile" {
                    on_profile(answered, |profile| {
                        profile["subject"] = format!("sub_{}", fresh::secret()).into();
                    });
                }
            },
        ),
    ]
}

/// Changes a profile, whichever way it goes out.
pub(super) fn on_profile(answered: &mut Answered, change: impl Fn(&mut Value)) {
    answered.edit(|body| {
        if body.get("providerSubject").is_some() {
            change(body);
        } else if body["profile"].is_object() {
            change(&mut body["profile"]);
        }
    });
}
