//! The published JSON Schema and the broker accept the same request bodies: valid ones
//! with up to two changes, several thousand for each request type. `PROPTEST_CASES`, or
//! `just differential`, asks for another number.

mod values;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Map, Value, json};
use testkit::malformed;
use url::Url;
use values::Field;

use crate::fuzzed_broker::FuzzedBroker;

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
    let ran = runner.run(&bodies(&fields), |body| {
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

/// A generated request body.
#[derive(Debug, Clone)]
enum Body {
    /// Members in the order in which they are sent; a name may come twice.
    Object(Vec<(String, Value)>),
    /// Anything else.
    Other(String),
}

/// A field's name, a right value for it and an odd one.
type Values = (String, String, String);

/// A change of a valid body.
#[derive(Debug, Clone)]
enum Change {
    /// A field gets its odd value.
    Odd(Index),
    /// A field gets a value that is no text.
    Retype(Index, Value),
    Remove(Index),
    /// An unknown field is added.
    Add(&'static str, Value),
    /// A field comes a second time, with its odd value first or last.
    Repeat(Index, bool),
}

/// Bodies with these fields: objects, and what is no JSON in the corpus.
fn bodies(fields: &[Field]) -> impl Strategy<Value = Body> {
    let right = fields.iter().map(|it| (it.name.clone(), json!(it.right)));
    let right: Map<_, _> = right.collect();
    let no_json = malformed::bodies(&right.into()).into_iter();
    let no_json = no_json.filter(|it| it.rule == "body.json");
    let no_json: Vec<_> = no_json
        .filter_map(|it| String::from_utf8(it.body).ok())
        .collect();
    let fields = fields.iter().map(|field| {
        let (name, right) = (field.name.clone(), field.right.clone());
        (Just(name), Just(right), field.odd.clone())
    });
    let changes = prop_oneof![3 => Just(0_usize), 4 => Just(1), 2 => Just(2)];
    let changes = changes.prop_flat_map(|count| prop::collection::vec(change(), count));
    let objects = (fields.collect::<Vec<_>>(), changes)
        .prop_flat_map(|(fields, changes)| Just(changed(&fields, &changes)).prop_shuffle())
        .prop_map(Body::Object);
    prop_oneof![15 => objects, 1 => select(no_json).prop_map(Body::Other)]
}

fn change() -> impl Strategy<Value = Change> {
    let unknown = vec![
        "extra",
        "",
        "client_id ",
        "client-id",
        "Client_Id",
        "code\u{0}",
        "__proto__",
        "é",
    ];
    let value = prop_oneof![not_text(), Just(json!("text"))];
    prop_oneof![
        8 => any::<Index>().prop_map(Change::Odd),
        3 => (any::<Index>(), not_text()).prop_map(|(at, value)| Change::Retype(at, value)),
        2 => any::<Index>().prop_map(Change::Remove),
        2 => (select(unknown), value).prop_map(|(name, value)| Change::Add(name, value)),
        2 => (any::<Index>(), any::<bool>()).prop_map(|(at, first)| Change::Repeat(at, first)),
    ]
}

fn not_text() -> impl Strategy<Value = Value> {
    let values = r#"[null, 0, 1.5, true, [], {}, ["google"], { "value": "google" }]"#;
    select(serde_json::from_str::<Vec<Value>>(values).unwrap())
}

fn changed(fields: &[Values], changes: &[Change]) -> Vec<(String, Value)> {
    let right = fields
        .iter()
        .map(|(name, right, _)| (name.clone(), json!(right)));
    let mut members: Vec<(String, Value)> = right.collect();
    let odd = |name: &str| {
        let field = fields.iter().find(|field| field.0 == name);
        field.map_or(json!("text"), |field| json!(field.2))
    };
    for change in changes {
        // There are more fields than changes: there is always one left.
        let count = members.len();
        match change {
            Change::Odd(at) => {
                let (name, value) = &mut members[at.index(count)];
                *value = odd(name);
            }
            Change::Retype(at, value) => members[at.index(count)].1 = value.clone(),
            Change::Remove(at) => {
                members.remove(at.index(count));
            }
            Change::Add(name, value) => members.push(((*name).to_owned(), value.clone())),
            Change::Repeat(at, is_first) => {
                let name = members[at.index(count)].0.clone();
                let again = (name.clone(), odd(&name));
                members.insert(if *is_first { 0 } else { count }, again);
            }
        }
    }
    members
}

impl Body {
    /// The bytes of the request, which are text: HTTP is not what is asked about.
    fn text(&self) -> String {
        match self {
            Self::Object(members) => {
                let member = |(name, value): &(String, Value)| format!("{}:{value}", json!(name));
                let members: Vec<_> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }
            Self::Other(text) => text.clone(),
        }
    }

    fn has_a_field_twice(&self) -> bool {
        match self {
            Self::Object(members) => {
                let names: HashSet<_> = members.iter().map(|(name, _)| name).collect();
                names.len() < members.len()
            }
            Self::Other(_) => false,
        }
    }
}
