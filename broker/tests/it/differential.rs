//! The published JSON Schema and the broker accept the same request bodies: valid ones
//! with up to two changes, several thousand for each request type. `PROPTEST_CASES`, or
//! `just differential`, asks for another number.

mod bodies;
mod values;

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::Value;
use url::Url;

use crate::fuzz::broker::FuzzedBroker;
use bodies::Body;
use values::Field;

/// The number of bodies of each request type in a run.
const BODIES: u32 = 5_000;

// Threats: A18.
#[test]
fn schema_and_broker_agree_on_login_session_requests() {
    compare("/v1/login/session", "LoginSessionRequest");
}

// Threats: A18.
#[test]
fn schema_and_broker_agree_on_login_result_requests() {
    compare("/v1/login/result", "LoginResultRequest");
}

// Threats: A18.
#[test]
fn schema_and_broker_agree_on_token_requests() {
    compare("/v1/token", "TokenRequest");
}

/// The number of bodies by the rule about form that refused them; `None` for well-formed
/// ones.
type Outcomes = BTreeMap<Option<&'static str>, u32>;

/// The fields that the schema of this name requires.
fn fields(schema: &str) -> Vec<Field> {
    let document = testkit::openapi::document();
    let names = &document["components"]["schemas"][schema]["required"];
    let names = names.as_array().unwrap().iter();
    names
        .map(|name| Field::of(name.as_str().unwrap()))
        .collect()
}

/// Compares the schema of this name with the broker, which reads such a body at `path`.
fn compare(path: &str, schema: &str) {
    let cases = testkit::fuzz::cases(BODIES);
    let fields = fields(schema);
    let (schema, rules) = (testkit::openapi::schema(schema), rules(&fields));
    let broker = FuzzedBroker::start();
    let outcomes = RefCell::new(Outcomes::new());
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    });
    let ran = runner.run(&bodies::of(&fields), |body| {
        let text = body.text();
        if text.len() > 32 * 1024 {
            // A schema counts the characters of a value, not the bytes that spell a body.
            return Ok(());
        }
        // What is no JSON is nothing that a schema could accept.
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let by_schema = value.as_ref().is_some_and(|it| schema.is_valid(it));
        let (response, rule) = broker.post(path, &text);
        let rule = rule.filter(|rule| rules.contains(rule));
        let is_agreed = match rule {
            None => by_schema && !body.has_a_field_twice(),
            Some(rule) => {
                response.status == 400 && (!by_schema || is_gap(rule, &body, value.as_ref()))
            }
        };
        *outcomes.borrow_mut().entry(rule).or_default() += 1;
        let answer = || format!("{text}\nby the schema: {by_schema}, {rule:?}, {response:?}");
        is_agreed
            .then_some(())
            .ok_or_else(|| TestCaseError::fail(answer()))
    });
    if let Err(disagreement) = ran {
        panic!("{disagreement}");
    }
    if cases >= BODIES {
        check_coverage(&rules, &outcomes.into_inner());
    }
}

/// Whether a JSON Schema cannot see what the broker refuses. That a callback is
/// *registered* is no matter of form, so both call a body with another one well-formed.
fn is_gap(rule: &str, body: &Body, value: Option<&Value>) -> bool {
    match rule {
        // It validates a parsed object, in which only the last of two members is left.
        _ if body.has_a_field_twice() => true,
        // A pattern recognises neither a port's range and default, nor a path's dot
        // segments, nor how an address of numbers is written canonically.
        "redirect_uri.shape" | "redirect_uri.canonical" => {
            let uri = value.and_then(|it| it["redirect_uri"].as_str());
            let uri = uri.expect("a schema requires it");
            let written = Url::parse(uri).map(String::from).unwrap_or_default();
            written != uri && written != format!("{uri}/")
        }
        _ => false,
    }
}

/// The rules about the form of a body.
fn rules(fields: &[Field]) -> Vec<&'static str> {
    let of_fields = fields.iter().map(|field| field.rule);
    let of_shape = [
        "redirect_uri.canonical",
        "body.json",
        "body.unknown_field",
        "body.duplicate_field",
        "body.missing_field",
        "body.field_type",
    ];
    of_shape.into_iter().chain(of_fields).collect()
}

/// Agreement on nothing but refusals, or on one kind of them, would show little.
fn check_coverage(rules: &[&str], outcomes: &Outcomes) {
    let all: u32 = outcomes.values().sum();
    let well_formed = outcomes.get(&None).copied().unwrap_or_default();
    let is_mixed = well_formed > all / 5 && well_formed < all / 5 * 4;
    assert!(is_mixed, "{outcomes:?}");
    for rule in rules {
        let count = outcomes.get(&Some(*rule)).copied().unwrap_or_default();
        assert!(count > 5, "{rule} in {outcomes:?}");
    }
}
