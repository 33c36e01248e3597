//! The three request bodies: every required field, no other, each of its type.

use contract::{LoginResultRequest, LoginSessionRequest, Rule, TokenRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

fn session() -> Value {
    json!({
        "client_id": "prj_ada",
        "client_secret": "secret of ada",
        "session_key": KEY,
        "provider": "google",
        "redirect_uri": "https://app.example/cb",
    })
}

fn result() -> Value {
    json!({
        "client_id": "prj_ada",
        "client_secret": "secret of ada",
        "session_key": KEY,
        "redirect_uri": "https://app.example/cb",
    })
}

fn token() -> Value {
    json!({
        "grant_type": "authorization_code",
        "client_id": "prj_ada",
        "client_secret": "secret of ada",
        "code": "a code",
        "redirect_uri": "https://app.example/cb",
        "code_verifier": "v".repeat(43),
    })
}

/// One of the three requests, and a well-formed body of it.
trait Body: DeserializeOwned + Serialize {
    fn sample() -> Map<String, Value>;
}

impl Body for LoginSessionRequest {
    fn sample() -> Map<String, Value> {
        session().as_object().unwrap().clone()
    }
}

impl Body for LoginResultRequest {
    fn sample() -> Map<String, Value> {
        result().as_object().unwrap().clone()
    }
}

impl Body for TokenRequest {
    fn sample() -> Map<String, Value> {
        token().as_object().unwrap().clone()
    }
}

fn parse<T: Body>(body: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(body)).map_err(|error| error.to_string())
}

fn with<T: Body>(field: &str, value: Value) -> Map<String, Value> {
    let mut body = T::sample();
    body.insert(field.to_owned(), value);
    body
}

#[track_caller]
fn refused<T: Body>(body: Map<String, Value>, why: &str) {
    let error = parse::<T>(body.clone()).err();
    assert!(
        error.as_ref().is_some_and(|error| error.starts_with(why)),
        "{body:?}: {error:?}"
    );
}

fn a_sample_is_taken_and_written_back_unchanged<T: Body>() {
    let request = parse::<T>(T::sample()).unwrap();
    assert_eq!(
        serde_json::to_value(request).unwrap(),
        Value::Object(T::sample())
    );
}

fn each_field_is_required<T: Body>() {
    for field in T::sample().keys() {
        let mut body = T::sample();
        body.remove(field);
        refused::<T>(body, &format!("missing field `{field}`"));
    }
}

fn no_other_field_is_taken<T: Body>() {
    for name in [
        "",
        "x",
        "Client_id",
        "CLIENT_ID",
        "clientId",
        "client_id ",
        "state",
        "scope",
        "__proto__",
    ] {
        refused::<T>(with::<T>(name, json!("x")), "unknown field");
        refused::<T>(with::<T>(name, Value::Null), "unknown field");
    }
}

fn each_field_is_a_string<T: Body>() {
    for field in T::sample().keys() {
        for wrong in [
            Value::Null,
            json!(true),
            json!(0),
            json!(1.5),
            json!([]),
            json!(["google"]),
            json!({}),
            json!({ "google": null }),
        ] {
            refused::<T>(with::<T>(field, wrong), "invalid type");
        }
    }
}

fn no_field_comes_twice<T: Body>() {
    for (field, value) in T::sample() {
        let body = Value::Object(T::sample()).to_string();
        let again = format!("{{{}:{value},{}", json!(field), &body[1..]);
        let error = serde_json::from_str::<T>(&again).err().unwrap().to_string();
        assert!(
            error.starts_with(&format!("duplicate field `{field}`")),
            "{error}"
        );
    }
}

#[test]
fn a_login_session_request_has_the_five_fields_of_its_table() {
    a_sample_is_taken_and_written_back_unchanged::<LoginSessionRequest>();
    each_field_is_required::<LoginSessionRequest>();
    no_other_field_is_taken::<LoginSessionRequest>();
    each_field_is_a_string::<LoginSessionRequest>();
    no_field_comes_twice::<LoginSessionRequest>();
}

#[test]
fn a_login_result_request_has_the_four_fields_of_its_table() {
    a_sample_is_taken_and_written_back_unchanged::<LoginResultRequest>();
    each_field_is_required::<LoginResultRequest>();
    no_other_field_is_taken::<LoginResultRequest>();
    each_field_is_a_string::<LoginResultRequest>();
    no_field_comes_twice::<LoginResultRequest>();
    refused::<LoginResultRequest>(
        with::<LoginResultRequest>("provider", json!("google")),
        "unknown field",
    );
}

#[test]
fn a_token_request_has_the_six_fields_of_its_table() {
    a_sample_is_taken_and_written_back_unchanged::<TokenRequest>();
    each_field_is_required::<TokenRequest>();
    no_other_field_is_taken::<TokenRequest>();
    each_field_is_a_string::<TokenRequest>();
    no_field_comes_twice::<TokenRequest>();
}

#[test]
fn a_malformed_field_is_refused_by_its_own_rule_which_can_be_traced_back() {
    #[track_caller]
    fn check<T: Body>(field: &str, value: &str, rule: Rule) {
        // From text, as on the wire, where the parser adds its position.
        let body = Value::Object(with::<T>(field, json!(value))).to_string();
        let error = serde_json::from_str::<T>(&body).err().unwrap().to_string();
        assert_eq!(Rule::begun_by(&error), Some(rule), "{error}");
        assert!(value.is_empty() || !error.contains(value), "{error}");
    }
    let long = "x".repeat(201);
    check::<LoginSessionRequest>("client_id", "", Rule::ClientIdLength);
    check::<LoginSessionRequest>("client_id", &long, Rule::ClientIdLength);
    check::<LoginSessionRequest>("client_secret", "", Rule::ClientSecretLength);
    check::<LoginSessionRequest>("client_secret", &long, Rule::ClientSecretLength);
    check::<LoginSessionRequest>("session_key", &long, Rule::SessionKeyPattern);
    check::<LoginSessionRequest>("provider", "gitlab", Rule::ProviderKnown);
    check::<LoginSessionRequest>("redirect_uri", "ftp://a.test", Rule::RedirectUriShape);
    check::<LoginResultRequest>("client_id", "", Rule::ClientIdLength);
    check::<LoginResultRequest>("client_secret", "", Rule::ClientSecretLength);
    check::<LoginResultRequest>("session_key", "", Rule::SessionKeyPattern);
    check::<LoginResultRequest>("redirect_uri", "/cb", Rule::RedirectUriShape);
    check::<TokenRequest>("grant_type", "password", Rule::GrantTypeConstant);
    check::<TokenRequest>("client_id", &long, Rule::ClientIdLength);
    check::<TokenRequest>("client_secret", "", Rule::ClientSecretLength);
    check::<TokenRequest>("code", "", Rule::HandoffCodeLength);
    check::<TokenRequest>("code", &long, Rule::HandoffCodeLength);
    check::<TokenRequest>("redirect_uri", "", Rule::RedirectUriShape);
    check::<TokenRequest>("code_verifier", "short", Rule::CodeVerifierPattern);
}

#[test]
fn an_empty_client_id_is_well_formed_only_in_a_token_request() {
    assert!(parse::<TokenRequest>(with::<TokenRequest>("client_id", json!(""))).is_ok());
}
