//! Generated bodies: a valid one with up to two changes, and its bytes.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::values::Field;

/// A generated request body.
#[derive(Debug, Clone)]
pub(super) enum Body {
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

/// Bodies with these fields.
pub(super) fn of(fields: &[Field]) -> impl Strategy<Value = Body> {
    let fields = fields.iter().map(|field| {
        let (name, right) = (field.name.clone(), field.right.clone());
        (Just(name), Just(right), field.odd.clone())
    });
    let changes = prop_oneof![3 => Just(0_usize), 4 => Just(1), 2 => Just(2)];
    let changes = changes.prop_flat_map(|count| prop::collection::vec(change(), count));
    let objects = (fields.collect::<Vec<_>>(), changes)
        .prop_flat_map(|(fields, changes)| Just(changed(&fields, &changes)).prop_shuffle())
        .prop_map(Body::Object)
        .boxed();
    prop_oneof![
        30 => objects.clone(),
        1 => others(),
        1 => objects.prop_flat_map(|body| broken(&body.text())),
    ]
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

/// JSON that is no object; the last is what serde would take for the fields in order.
fn others() -> impl Strategy<Value = Body> {
    let fields = r#"["prj", "secret", "key", "github", "https://app.example/signed-in"]"#;
    let texts = vec!["null", "true", "0", "\"text\"", "[]", "[{}]", fields];
    select(texts).prop_map(|text| Body::Other(text.to_owned()))
}

/// An object that something happened to on its way.
fn broken(whole: &str) -> impl Strategy<Value = Body> + use<> {
    let half = whole.chars().take(whole.chars().count() / 2).collect();
    let open = whole.trim_end().trim_end_matches('}').to_owned();
    select(vec![
        String::new(),
        half,
        format!("{open},}}"),
        format!("{open},\"x\":NaN}}"),
        format!("{open},\"x\":\"\\ud800\"}}"),
        format!("{whole}{whole}"),
        format!("\u{feff}{whole}"),
        "client_id=x&client_secret=y".to_owned(),
    ])
    .prop_map(Body::Other)
}

impl Body {
    /// The bytes of the request, which are text: HTTP is not what is asked about.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Object(members) => {
                let member = |(name, value): &(String, Value)| format!("{}:{value}", json!(name));
                let members: Vec<_> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }
            Self::Other(text) => text.clone(),
        }
    }

    pub(super) fn has_a_field_twice(&self) -> bool {
        match self {
            Self::Object(members) => {
                let names: HashSet<_> = members.iter().map(|(name, _)| name).collect();
                names.len() < members.len()
            }
            Self::Other(_) => false,
        }
    }
}
