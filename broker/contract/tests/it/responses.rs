//! The exact JSON of every response.

use contract::{
    AccessToken, ApiError, LoginError, LoginLifetime, LoginResult, LoginSessionResponse, Profile,
    Provider, ProviderStatus, Subject, TokenResponse, Transaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Checks that an answer is written as `expected`, and read back from it.
#[track_caller]
fn check<T: Serialize + DeserializeOwned>(answer: &T, expected: &str) {
    assert_eq!(serde_json::to_string(answer).unwrap(), expected);
    let read: T = serde_json::from_str(expected).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), expected);
}

/// Checks that `expected` is not read with one member replaced, or without one of them if
/// `value` is absent.
#[track_caller]
fn unreadable_with<T: DeserializeOwned>(whole: &str, changes: &[(&str, Option<Value>)]) {
    for (member, value) in changes {
        let mut broken: Value = serde_json::from_str(whole).unwrap();
        match value {
            Some(value) => broken[*member] = value.clone(),
            None => drop(broken.as_object_mut().unwrap().remove(*member)),
        }
        assert!(
            serde_json::from_value::<T>(broken.clone()).is_err(),
            "{broken}"
        );
    }
}

/// `printf 'github\x1f583231' | openssl dgst -sha256 -binary | basenc --base64url`
const ADA: &str = r#"{"subject":"sub_Hzi4C8m_HbmJBgiisWU05tbsnHZj7oKbvF2EOPHdK4o","provider":"github","providerSubject":"583231","name":"Ada","username":"ada","email":"ada@mail.example","emailVerified":true,"avatarUrl":"https://cdn.example/ada.png"}"#;

fn ada() -> Profile {
    Profile {
        subject: Subject::of(Provider::GitHub, "583231"),
        provider: Provider::GitHub,
        provider_subject: "583231".to_owned(),
        name: Some("Ada".to_owned()),
        username: Some("ada".to_owned()),
        email: Some("ada@mail.example".to_owned()),
        email_verified: true,
        avatar_url: Some("https://cdn.example/ada.png".to_owned()),
    }
}

#[test]
fn a_profile_has_eight_members_of_which_a_missing_value_is_null_and_never_absent() {
    check(&ada(), ADA);
    let empty = Profile {
        name: None,
        username: None,
        email: None,
        email_verified: false,
        avatar_url: None,
        ..ada()
    };
    let mut nulls: Value = serde_json::from_str(ADA).unwrap();
    for member in ["name", "username", "email", "avatarUrl"] {
        nulls[member] = Value::Null;
    }
    nulls["emailVerified"] = false.into();
    assert_eq!(serde_json::to_value(&empty).unwrap(), nulls);
    assert_eq!(
        serde_json::from_value::<Profile>(nulls.clone()).unwrap(),
        empty
    );
    for member in nulls.as_object().unwrap().keys() {
        unreadable_with::<Profile>(ADA, &[(member, None)]);
    }
    for member in ["subject", "provider", "providerSubject", "emailVerified"] {
        unreadable_with::<Profile>(ADA, &[(member, Some(Value::Null))]);
    }
}

// Threats: A40.
#[test]
fn a_subject_depends_on_its_user_and_the_provider_alone() {
    let subject = Subject::of(Provider::GitHub, "583231");
    assert_eq!(subject.as_str(), subject.to_string());
    assert_eq!(subject, ada().subject);
    assert_ne!(subject, Subject::of(Provider::Google, "583231"));
    assert_ne!(subject, Subject::of(Provider::GitHub, "58323"));
}

#[test]
fn a_login_session_answers_with_a_url_and_600() {
    let url = "https://broker.example/login/abc";
    let answer = LoginSessionResponse {
        authorization_url: url.parse().unwrap(),
        expires_in: LoginLifetime {},
    };
    assert_eq!(
        answer.authorization_url.origin().as_str(),
        "https://broker.example"
    );
    let text = format!(r#"{{"authorization_url":"{url}","expires_in":600}}"#);
    check(&answer, &text);
    unreadable_with::<LoginSessionResponse>(
        &text,
        &[
            ("expires_in", Some(json!(601))),
            (
                "authorization_url",
                Some(json!("http://evil.example/login/a")),
            ),
        ],
    );
}

#[test]
fn a_login_result_is_pending_succeeded_with_a_profile_or_failed_with_an_error() {
    let pending = r#"{"status":"pending"}"#;
    check(&LoginResult::Pending, pending);
    let succeeded = format!(r#"{{"status":"succeeded","profile":{ADA}}}"#);
    check(&LoginResult::Succeeded { profile: ada() }, &succeeded);
    let failed =
        |error: LoginError| format!(r#"{{"status":"failed","error":"{}"}}"#, error.as_str());
    for error in LoginError::ALL {
        check(&LoginResult::Failed { error }, &failed(error));
    }
    let status = |word: &str| ("status", Some(json!(word)));
    let others = ["Pending", "expired", "succeeded", "failed"].map(status);
    unreadable_with::<LoginResult>(pending, &others);
    let changes = [
        ("status", None),
        ("profile", None),
        ("profile", Some(Value::Null)),
    ];
    unreadable_with::<LoginResult>(&succeeded, &changes);
    let changes = [("error", None), ("error", Some(json!("other")))];
    unreadable_with::<LoginResult>(&failed(LoginError::AccessDenied), &changes);
}

#[test]
fn a_token_answers_with_three_constants() {
    let token = AccessToken::from_random(&[7; 32]);
    let text = format!(
        r#"{{"access_token":"{}","token_type":"Bearer","expires_in":900,"scope":"profile"}}"#,
        token.expose()
    );
    check(&TokenResponse::issuing(token), &text);
    unreadable_with::<TokenResponse>(
        &text,
        &[
            ("token_type", Some(json!("bearer"))),
            ("expires_in", Some(json!(600))),
            ("scope", Some(json!("profile email"))),
            ("access_token", Some(json!("fsi_short"))),
        ],
    );
}

#[test]
fn a_provider_status_has_four_members_and_an_error_one_or_two() {
    let status = ProviderStatus {
        id: Provider::GitHub,
        configured: true,
        enabled: false,
        available: false,
    };
    check(
        &status,
        r#"{"id":"github","configured":true,"enabled":false,"available":false}"#,
    );
    let whole = r#"{"error":"request_failed","message":"No."}"#;
    check(&ApiError::request_failed("No."), whole);
    let bare = r#"{"error":"request_failed"}"#;
    let read: ApiError = serde_json::from_str(bare).unwrap();
    assert_eq!(read.message, None);
    check(&read, bare);
    unreadable_with::<ApiError>(whole, &[("error", None)]);
}

const NOW: i64 = 1_790_000_000;

/// What a consumer keeps during a legacy login. Its verifier and its challenge are those
/// of RFC 7636, appendix B.
#[test]
fn a_transaction_has_five_members_and_is_live_until_its_600_seconds_are_over() {
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let transaction = Transaction::begin(
        "s".repeat(43).parse().unwrap(),
        verifier.parse().unwrap(),
        NOW,
    );
    for (elapsed, is_live) in [(0, true), (599, true), (600, false), (601, false)] {
        assert_eq!(transaction.is_live(NOW + elapsed), is_live, "{elapsed}");
    }
    let text = format!(
        r#"{{"state":"{}","codeVerifier":"{verifier}","codeChallenge":"{}","createdAt":{NOW},"expiresAt":{}}}"#,
        "s".repeat(43),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        NOW + 600
    );
    check(&transaction, &text);
    for member in [
        "state",
        "codeVerifier",
        "codeChallenge",
        "createdAt",
        "expiresAt",
    ] {
        unreadable_with::<Transaction>(&text, &[(member, None)]);
    }
    unreadable_with::<Transaction>(&text, &[("clientSecret", Some(json!("x")))]);
}
