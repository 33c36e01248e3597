//! The bodies: of each request every required field, no other, each of its type; and the exact
//! JSON of every response.

use contract::{
    AccessToken, ApiError, LoginError, LoginLifetime, LoginResult, LoginResultRequest,
    LoginSessionRequest, LoginSessionResponse, Profile, Provider, ProviderStatus, Rule, Subject,
    TokenRequest, TokenResponse, Transaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A request with the values of a well-formed body.
trait Body: DeserializeOwned + Serialize {
    const FIELDS: &'static str;

    fn sample() -> Map<String, Value> {
        let value = |field: &str| match field {
            "client_id" => json!("prj_ada"),
            "client_secret" => json!("secret of ada"),
            "session_key" | "code_verifier" => json!("v".repeat(43)),
            "provider" => json!("google"),
            "redirect_uri" => json!("https://app.example/cb"),
            "grant_type" => json!("authorization_code"),
            _ => json!("a code"),
        };
        let fields = Self::FIELDS.split(' ');
        fields
            .map(|field| (field.to_owned(), value(field)))
            .collect()
    }

    /// The error for the sample with this value for this field.
    fn error_with(field: &str, value: &Value) -> String {
        let mut body = Self::sample();
        body.insert(field.to_owned(), value.clone());
        Self::error(&Value::Object(body).to_string())
    }

    /// The error for this text, as it comes from the wire; empty if there is none.
    fn error(text: &str) -> String {
        let parsed = serde_json::from_str::<Self>(text);
        parsed
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }
}

impl Body for LoginSessionRequest {
    const FIELDS: &'static str = "client_id client_secret session_key provider redirect_uri";
}

impl Body for LoginResultRequest {
    const FIELDS: &'static str = "client_id client_secret session_key redirect_uri";
}

impl Body for TokenRequest {
    const FIELDS: &'static str =
        "grant_type client_id client_secret code redirect_uri code_verifier";
}

#[track_caller]
fn begins(error: &str, why: &str) {
    assert!(error.starts_with(why), "{error:?}, not {why:?}");
}

#[track_caller]
fn check_request<T: Body>() {
    let sample = Value::Object(T::sample());
    let request: T = serde_json::from_value(sample.clone()).unwrap();
    assert_eq!(serde_json::to_value(request).unwrap(), sample);

    for field in T::FIELDS.split(' ') {
        let mut body = T::sample();
        let value = body.remove(field).unwrap();
        begins(
            &T::error(&Value::Object(body).to_string()),
            &format!("missing field `{field}`"),
        );
        let again = format!("{{{}:{value},{}", json!(field), &sample.to_string()[1..]);
        begins(&T::error(&again), &format!("duplicate field `{field}`"));
        for wrong in json!([null, true, 0, 1.5, [], ["google"], {}, { "google": null }])
            .as_array()
            .unwrap()
        {
            begins(&T::error_with(field, wrong), "invalid type");
        }
        // The rule of a malformed value is that of its own field, and does not repeat it.
        for wrong in ["", &"Malformed".repeat(23)] {
            let error = T::error_with(field, &json!(wrong));
            let rule = Rule::begun_by(&error).map(Rule::id);
            let area = rule.and_then(|id| id.split_once('.')).map(|(area, _)| area);
            let may_be_empty = field == "client_id" && T::sample().contains_key("code");
            let expected = (!wrong.is_empty() || !may_be_empty).then_some(field);
            assert_eq!(area, expected, "{error}");
            assert!(wrong.is_empty() || !error.contains(wrong), "{error}");
        }
    }
    for name in "|x|Client_id|clientId|client_id |state|__proto__".split('|') {
        begins(&T::error_with(name, &json!("x")), "unknown field");
        begins(&T::error_with(name, &Value::Null), "unknown field");
    }
}

#[test]
fn each_request_has_the_fields_of_its_table_and_no_other() {
    check_request::<LoginSessionRequest>();
    check_request::<LoginResultRequest>();
    let provider = LoginResultRequest::error_with("provider", &json!("google"));
    begins(&provider, "unknown field");
    // Its client id may be empty.
    check_request::<TokenRequest>();
}

/// Checks that an answer is written as `expected` and read back from it, and not with any of
/// `changes`, which semicolons separate: `member=JSON` sets a member, `-member` removes it.
#[track_caller]
fn check_response<T: Serialize + DeserializeOwned>(answer: &T, expected: &str, changes: &str) {
    assert_eq!(serde_json::to_string(answer).unwrap(), expected);
    let read: T = serde_json::from_str(expected).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), expected);
    for change in changes.split_terminator("; ") {
        let mut broken: Map<String, Value> = serde_json::from_str(expected).unwrap();
        if let Some((member, json)) = change.split_once('=') {
            broken.insert(member.to_owned(), serde_json::from_str(json).unwrap());
        } else {
            broken.remove(&change[1..]).expect("a member");
        }
        let read = serde_json::from_value::<T>(broken.into());
        assert!(read.is_err(), "{change}");
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
    let members = "-subject; -provider; -providerSubject; -name; -username; -email; \
                   -emailVerified; -avatarUrl; subject=null; provider=null; \
                   providerSubject=null; emailVerified=null";
    check_response(&ada(), ADA, members);
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
    assert_eq!(serde_json::from_value::<Profile>(nulls).unwrap(), empty);
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
    let changes = r#"expires_in=601; authorization_url="http://evil.example/login/a""#;
    check_response(&answer, &text, changes);
}

#[test]
fn a_login_result_is_pending_succeeded_with_a_profile_or_failed_with_an_error() {
    let statuses = r#"status="Pending"; status="expired"; status="succeeded"; status="failed""#;
    check_response(&LoginResult::Pending, r#"{"status":"pending"}"#, statuses);
    let succeeded = format!(r#"{{"status":"succeeded","profile":{ADA}}}"#);
    let profile = ada();
    let changes = "-status; -profile; profile=null";
    check_response(&LoginResult::Succeeded { profile }, &succeeded, changes);
    for error in LoginError::ALL {
        let failed = format!(r#"{{"status":"failed","error":"{}"}}"#, error.as_str());
        let changes = r#"-error; error="other""#;
        check_response(&LoginResult::Failed { error }, &failed, changes);
    }
}

#[test]
fn a_token_answers_with_three_constants() {
    let token = AccessToken::from_random(&[7; 32]);
    let text = format!(
        r#"{{"access_token":"{}","token_type":"Bearer","expires_in":900,"scope":"profile"}}"#,
        token.expose()
    );
    let changes =
        r#"token_type="bearer"; expires_in=600; scope="profile email"; access_token="fsi_short""#;
    check_response(&TokenResponse::issuing(token), &text, changes);
}

#[test]
fn a_provider_status_has_four_members_and_an_error_one_or_two() {
    let status = ProviderStatus {
        id: Provider::GitHub,
        configured: true,
        enabled: false,
        available: false,
    };
    let text = r#"{"id":"github","configured":true,"enabled":false,"available":false}"#;
    check_response(&status, text, "");
    let whole = r#"{"error":"request_failed","message":"No."}"#;
    check_response(&ApiError::request_failed("No."), whole, "-error");
    let bare = r#"{"error":"request_failed"}"#;
    let read: ApiError = serde_json::from_str(bare).unwrap();
    assert_eq!(read.message, None);
    check_response(&read, bare, "");
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
    let changes =
        r#"-state; -codeVerifier; -codeChallenge; -createdAt; -expiresAt; clientSecret="x""#;
    check_response(&transaction, &text, changes);
}
