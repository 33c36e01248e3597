//! Bodies with a field that is missing, there twice, of another type or out of its
//! limits.

use serde_json::{Value, json};

use super::Body;
use crate::malformed::Rules;
use crate::malformed::callback::near_misses;

/// A callback may be malformed, unregistered, or another one than before.
const CALLBACK: Rules = &[
    "redirect_uri.shape",
    "redirect_uri.canonical",
    "redirect_uri.registered",
    "result.callback",
    "code.callback",
];

pub(super) fn bodies(good: &Value) -> Vec<Body> {
    let mut bodies: Vec<Body> = Vec::new();
    let text = good.to_string();
    for (field, value) in good.as_object().expect("an object") {
        let mut missing = good.clone();
        missing.as_object_mut().expect("an object").remove(field);
        let missing = missing.to_string().into();
        bodies.push((format!("no {field}"), missing, &["body.missing_field"]));
        let twice = text.replacen('{', &format!("{{{}:{value},", json!(field)), 1);
        bodies.push((
            format!("{field} twice"),
            twice.into(),
            &["body.duplicate_field"],
        ));
        for wrong in [
            json!(null),
            json!(1),
            json!(true),
            json!([]),
            json!([value]),
            json!({}),
            json!({ "a": 1 }),
        ] {
            bodies.push(with(good, field, wrong, &["body.field_type"]));
        }
        let at_token = good.get("grant_type").is_some();
        for (wrong, rules) in values(field, value, at_token) {
            bodies.push(with(good, field, json!(wrong), rules));
        }
    }
    bodies
}

fn with(good: &Value, field: &str, value: Value, rules: Rules) -> Body {
    let name = format!("{field}: {value}");
    let mut body = good.clone();
    body[field] = value;
    (name, body.to_string().into(), rules)
}

/// The strings that a field does not allow, each with the rules.
fn values(field: &str, good: &Value, at_token: bool) -> Vec<(String, Rules)> {
    let long = |length| "x".repeat(length);
    let key = |rules: Rules| {
        let pattern = [
            String::new(),
            long(42),
            "+".repeat(43),
            format!("{}\n", long(43)),
        ];
        pattern.map(|value| (value, rules)).to_vec()
    };
    match field {
        // An empty one is unknown at the token endpoint, not malformed.
        "client_id" if at_token => vec![(long(101), &["client_id.length"][..])],
        "client_id" => [String::new(), long(101)]
            .map(|value| (value, &["client_id.length"][..]))
            .into(),
        "client_secret" => [String::new(), long(201)]
            .map(|value| (value, &["client_secret.length"][..]))
            .into(),
        "session_key" => [
            key(&["session_key.pattern"][..]),
            vec![(long(44), &["session_key.pattern"][..])],
        ]
        .concat(),
        "code_verifier" => [
            key(&["code_verifier.pattern"][..]),
            vec![(long(129), &["code_verifier.pattern"][..])],
        ]
        .concat(),
        "code" => [String::new(), long(201)]
            .map(|value| (value, &["code.length"][..]))
            .into(),
        "grant_type" => ["", "refresh_token", "Authorization_Code"]
            .map(|value| (value.to_owned(), &["grant_type.constant"][..]))
            .into(),
        "provider" => ["", "Google", "gitlab", "google "]
            .map(|value| (value.to_owned(), &["provider.known"][..]))
            .into(),
        "redirect_uri" => {
            let good = good.as_str().expect("a string");
            let mut values = near_misses(good);
            values.extend([String::new(), format!("{good}{}", long(2048))]);
            values.into_iter().map(|value| (value, CALLBACK)).collect()
        }
        other => panic!("{other} is no field of the contract"),
    }
}
