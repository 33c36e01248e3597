//! The exact JSON of every response.

use contract::{
    AccessToken, ApiError, LoginError, LoginLifetime, LoginResult, LoginSessionResponse, Profile,
    Provider, ProviderStatus, Subject, TokenResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[track_caller]
fn check(answer: &impl Serialize, expected: &str) {
    assert_eq!(serde_json::to_string(answer).unwrap(), expected);
}

#[track_caller]
fn unreadable<T: DeserializeOwned>(answer: Value) {
    assert!(
        serde_json::from_value::<T>(answer.clone()).is_err(),
        "{answer}"
    );
}

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

/// `printf 'github\x1f583231' | openssl dgst -sha256 -binary | basenc --base64url`
const SUBJECT_OF_ADA: &str = "sub_Hzi4C8m_HbmJBgiisWU05tbsnHZj7oKbvF2EOPHdK4o";

fn empty_profile() -> Profile {
    Profile {
        name: None,
        username: None,
        email: None,
        email_verified: false,
        avatar_url: None,
        ..ada()
    }
}

#[test]
fn a_login_session_answers_with_a_url_and_600() {
    let url = "https://broker.example/login/abc";
    let answer = LoginSessionResponse {
        authorization_url: url.parse().unwrap(),
        expires_in: LoginLifetime {},
    };
    check(
        &answer,
        r#"{"authorization_url":"https://broker.example/login/abc","expires_in":600}"#,
    );
    let read: LoginSessionResponse =
        serde_json::from_value(json!({ "authorization_url": url, "expires_in": 600 })).unwrap();
    assert_eq!(read.authorization_url.expose(), url);
    assert_eq!(
        read.authorization_url.origin().as_str(),
        "https://broker.example"
    );
    unreadable::<LoginSessionResponse>(json!({ "authorization_url": url, "expires_in": 601 }));
    unreadable::<LoginSessionResponse>(
        json!({ "authorization_url": "http://evil.example/login/a", "expires_in": 600 }),
    );
}

#[test]
fn a_login_result_is_pending_succeeded_with_a_profile_or_failed_with_an_error() {
    check(&LoginResult::Pending, r#"{"status":"pending"}"#);
    for error in LoginError::ALL {
        let word = error.as_str();
        check(
            &LoginResult::Failed { error },
            &format!(r#"{{"status":"failed","error":"{word}"}}"#),
        );
    }
    let profile = serde_json::to_string(&ada()).unwrap();
    check(
        &LoginResult::Succeeded { profile: ada() },
        &format!(r#"{{"status":"succeeded","profile":{profile}}}"#),
    );
}

#[test]
fn every_login_result_is_read_back_as_it_was_written() {
    for result in [
        LoginResult::Pending,
        LoginResult::Succeeded {
            profile: empty_profile(),
        },
        LoginResult::Failed {
            error: LoginError::AccessDenied,
        },
    ] {
        let text = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<LoginResult>(&text).unwrap(), result);
    }
}

#[test]
fn a_login_result_lacking_what_its_status_demands_is_not_read() {
    unreadable::<LoginResult>(json!({}));
    unreadable::<LoginResult>(json!({ "status": "Pending" }));
    unreadable::<LoginResult>(json!({ "status": "expired" }));
    unreadable::<LoginResult>(json!({ "status": "succeeded" }));
    unreadable::<LoginResult>(json!({ "status": "succeeded", "profile": null }));
    unreadable::<LoginResult>(json!({ "status": "failed" }));
    unreadable::<LoginResult>(json!({ "status": "failed", "error": "other" }));
}

#[test]
fn a_profile_has_eight_fields_in_camel_case() {
    check(
        &ada(),
        &format!(
            r#"{{"subject":"{SUBJECT_OF_ADA}","provider":"github","providerSubject":"583231","name":"Ada","username":"ada","email":"ada@mail.example","emailVerified":true,"avatarUrl":"https://cdn.example/ada.png"}}"#
        ),
    );
}

#[test]
fn a_missing_profile_value_is_null_and_never_absent() {
    check(
        &empty_profile(),
        &format!(
            r#"{{"subject":"{SUBJECT_OF_ADA}","provider":"github","providerSubject":"583231","name":null,"username":null,"email":null,"emailVerified":false,"avatarUrl":null}}"#
        ),
    );
    assert_eq!(
        serde_json::from_value::<Profile>(serde_json::to_value(empty_profile()).unwrap()).unwrap(),
        empty_profile()
    );
}

#[test]
fn a_profile_that_lacks_a_field_is_not_read() {
    let whole = serde_json::to_value(empty_profile()).unwrap();
    for field in whole.as_object().unwrap().keys() {
        let mut partial = whole.clone();
        partial.as_object_mut().unwrap().remove(field);
        unreadable::<Profile>(partial);
    }
    for field in ["subject", "provider", "providerSubject", "emailVerified"] {
        let mut broken = whole.clone();
        broken[field] = Value::Null;
        unreadable::<Profile>(broken);
    }
}

#[test]
fn a_subject_is_a_prefix_and_43_characters_and_depends_on_its_user_alone() {
    let subject = Subject::of(Provider::GitHub, "583231");
    assert_eq!(subject.as_str(), SUBJECT_OF_ADA);
    assert_eq!(subject.to_string(), SUBJECT_OF_ADA);
    assert_eq!(subject, Subject::of(Provider::GitHub, "583231"));
    let text = subject.as_str().strip_prefix("sub_").unwrap();
    assert_eq!(text.len(), 43);
    assert!(
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    );
}

// Threats: A40.
#[test]
fn the_same_number_at_two_providers_is_two_users() {
    assert_ne!(
        Subject::of(Provider::GitHub, "583231"),
        Subject::of(Provider::Google, "583231")
    );
    assert_ne!(
        Subject::of(Provider::GitHub, "58323"),
        Subject::of(Provider::GitHub, "583231")
    );
}

#[test]
fn a_token_answers_with_three_constants() {
    let token = AccessToken::from_random(&[7; 32]);
    let text = token.expose().to_owned();
    check(
        &TokenResponse::issuing(token),
        &format!(
            r#"{{"access_token":"{text}","token_type":"Bearer","expires_in":900,"scope":"profile"}}"#
        ),
    );
    let whole = json!({
        "access_token": text, "token_type": "Bearer", "expires_in": 900, "scope": "profile",
    });
    assert!(serde_json::from_value::<TokenResponse>(whole.clone()).is_ok());
    for (field, wrong) in [
        ("token_type", json!("bearer")),
        ("expires_in", json!(600)),
        ("scope", json!("profile email")),
        ("access_token", json!("fsi_short")),
    ] {
        let mut broken = whole.clone();
        broken[field] = wrong;
        unreadable::<TokenResponse>(broken);
    }
}

#[test]
fn a_provider_status_has_four_fields() {
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
    let read: ProviderStatus =
        serde_json::from_str(&serde_json::to_string(&status).unwrap()).unwrap();
    assert_eq!(read, status);
}

#[test]
fn an_api_error_is_request_failed_and_a_message() {
    check(
        &ApiError::request_failed("No."),
        r#"{"error":"request_failed","message":"No."}"#,
    );
}

#[test]
fn the_message_of_an_api_error_is_optional() {
    let bare: ApiError = serde_json::from_value(json!({ "error": "request_failed" })).unwrap();
    assert_eq!(bare.message, None);
    check(&bare, r#"{"error":"request_failed"}"#);
    unreadable::<ApiError>(json!({ "message": "No." }));
}
