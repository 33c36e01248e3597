//! Generated bodies: a valid one with up to two changes.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::body::{Body, Endpoint, Shape, Spelling};
use super::values;

/// A field's name, a right value for it and an odd one.
type Field = (&'static str, String, String);

/// A change of a valid body.
#[derive(Debug, Clone)]
enum Change {
    /// A field gets its odd value.
    Odd(Index),
    /// A field gets a value that is no text.
    Retype(Index, Value),
    Remove(Index),
    /// A field's name is spelt in another way.
    Rename(Index, &'static str),
    /// An unknown field is added.
    Add(&'static str, Value),
    /// A field comes a second time, with its odd value first or last.
    Repeat(Index, bool),
}

/// Bodies for `endpoint`.
pub(super) fn of(endpoint: Endpoint) -> impl Strategy<Value = Body> {
    let shape = prop_oneof![
        30 => objects(endpoint),
        1 => others(),
        1 => objects(endpoint).prop_flat_map(broken),
    ];
    shape.prop_map(move |shape| Body { endpoint, shape })
}

fn objects(endpoint: Endpoint) -> BoxedStrategy<Shape> {
    let fields: Vec<_> = endpoint
        .fields()
        .iter()
        .map(|(name, kind)| (Just(*name), values::right(*kind), values::odd(*kind)))
        .collect();
    let changes = prop_oneof![
        3 => Just(0_usize),
        4 => Just(1),
        2 => Just(2),
    ]
    .prop_flat_map(|count| prop::collection::vec(change(), count));
    let spelling = select(vec![
        Spelling::Plain,
        Spelling::Plain,
        Spelling::Escaped,
        Spelling::Spaced,
    ]);
    (fields, changes, spelling)
        .prop_flat_map(|(fields, changes, spelling)| {
            let members = Just(changed(&fields, &changes)).prop_shuffle();
            members.prop_map(move |members| Shape::Object(members, spelling))
        })
        .boxed()
}

fn change() -> impl Strategy<Value = Change> {
    let renamed = select(vec!["upper", "space", "dash", "empty", "nul"]);
    let unknown = select(vec![
        "extra",
        "",
        "scope",
        "state",
        "Client_Id",
        "__proto__",
        "é",
    ]);
    prop_oneof![
        8 => any::<Index>().prop_map(Change::Odd),
        3 => (any::<Index>(), not_text()).prop_map(|(at, value)| Change::Retype(at, value)),
        2 => any::<Index>().prop_map(Change::Remove),
        1 => (any::<Index>(), renamed).prop_map(|(at, how)| Change::Rename(at, how)),
        2 => (unknown, any_value()).prop_map(|(name, value)| Change::Add(name, value)),
        2 => (any::<Index>(), any::<bool>()).prop_map(|(at, first)| Change::Repeat(at, first)),
    ]
}

fn not_text() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(0),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
        json!(["google"]),
        json!({ "value": "google" }),
    ])
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![not_text(), Just(json!("text"))]
}

fn changed(fields: &[Field], changes: &[Change]) -> Vec<(String, Value)> {
    let mut members: Vec<(String, Value)> = fields
        .iter()
        .map(|(name, right, _)| ((*name).to_owned(), json!(right)))
        .collect();
    for change in changes {
        // Whatever happened before: there is always something left to change.
        let Some(last) = members.len().checked_sub(1) else {
            break;
        };
        let at = |index: &Index| index.index(last + 1);
        match change {
            Change::Odd(index) => {
                let member = &mut members[at(index)];
                member.1 = odd(fields, &member.0);
            }
            Change::Retype(index, value) => members[at(index)].1 = value.clone(),
            Change::Remove(index) => {
                members.remove(at(index));
            }
            Change::Rename(index, how) => {
                let name = &mut members[at(index)].0;
                *name = renamed(name, how);
            }
            Change::Add(name, value) => members.push(((*name).to_owned(), value.clone())),
            Change::Repeat(index, is_first) => {
                let name = members[at(index)].0.clone();
                let again = (name.clone(), odd(fields, &name));
                let index = if *is_first { 0 } else { members.len() };
                members.insert(index, again);
            }
        }
    }
    members
}

fn odd(fields: &[Field], name: &str) -> Value {
    let field = fields.iter().find(|field| field.0 == name);
    field.map_or(json!("text"), |field| json!(field.2))
}

fn renamed(name: &str, how: &str) -> String {
    match how {
        "upper" => name.to_uppercase(),
        "space" => format!("{name} "),
        "dash" => name.replace('_', "-") + "-",
        "nul" => format!("{name}\u{0}"),
        _ => String::new(),
    }
}

/// JSON that is no object.
fn others() -> impl Strategy<Value = Shape> {
    let plain = select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!("text"),
        json!([]),
        json!([{}]),
        // What serde would take for the fields' values in their order.
        json!([
            "prj",
            "secret",
            "key",
            "github",
            "https://app.example/signed-in"
        ]),
    ]);
    plain.prop_map(Shape::Other)
}

/// An object that something happened to on its way.
fn broken(shape: Shape) -> impl Strategy<Value = Shape> {
    let body = Body {
        endpoint: Endpoint::Session,
        shape,
    };
    let whole = body.text();
    let middle = whole.char_indices().nth(whole.chars().count() / 2);
    let middle = middle.map_or(0, |(at, _)| at);
    let open = whole.trim_end().trim_end_matches('}').to_owned();
    select(vec![
        String::new(),
        " ".to_owned(),
        whole[..middle].to_owned(),
        open.clone(),
        format!("{open},}}"),
        format!("{open},\"x\":NaN}}"),
        format!("{open},\"x\":\"\\ud800\"}}"),
        format!("{open},\"x\":\"\u{1}\"}}"),
        format!("{open},x:1}}"),
        format!("{whole}{whole}"),
        format!("{whole}x"),
        format!("\u{feff}{whole}"),
        whole.replacen('"', "'", 2),
        "client_id=x&client_secret=y".to_owned(),
    ])
    .prop_map(Shape::Broken)
}
