//! The three request bodies: every required field, no other, each of its type.

use contract::{LoginResultRequest, LoginSessionRequest, Rule, TokenRequest};
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
fn check<T: Body>() {
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
    check::<LoginSessionRequest>();
    check::<LoginResultRequest>();
    let provider = LoginResultRequest::error_with("provider", &json!("google"));
    begins(&provider, "unknown field");
    // Its client id may be empty.
    check::<TokenRequest>();
}
