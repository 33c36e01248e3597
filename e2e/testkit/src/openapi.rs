//! The published contract, and whether it shows an answer: operation, status,
//! headers, content type and body.
//!
//! The document is read as text, not through the contract's types. Where it lets
//! an answer have more members than it names, this is stricter: what it does not
//! name must not leave the broker.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyper::{HeaderMap, Method};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// Paths that serve whoever runs a broker, or its pages, and no consumer.
pub const NOT_PUBLISHED: [&str; 4] = ["/livez", "/readyz", "/style.css", "/question.js"];

/// An answer as it crossed the wire.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body.
    pub body: &'a str,
}

/// What is wrong with `answer` to `method` at `path` by the published contract, if
/// anything is. Whatever is no broker's answer passes.
///
/// # Errors
///
/// What the contract does not show, in a sentence.
pub fn judge(method: &Method, path: &str, answer: &Answer<'_>) -> Result<(), String> {
    if !answer.is_a_brokers() || NOT_PUBLISHED.contains(&path) {
        return Ok(());
    }
    let shapes = CONTRACT.shapes(method, path);
    let shape = shapes
        .get(answer.status.to_string().as_str())
        .ok_or_else(|| format!("it shows only {:?}", shapes.keys()))?;
    shape.judge(method, answer)
}

impl Answer<'_> {
    /// Only a broker's answers have this header, and all of them do.
    pub fn is_a_brokers(&self) -> bool {
        self.headers.contains_key("x-request-id")
    }
}

/// Every operation of the document: method, path template, statuses.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str, Vec<u16>)> {
    CONTRACT.operations.iter().map(|operation| {
        let statuses = operation.shapes.keys();
        let statuses = statuses.filter_map(|status| status.parse().ok()).collect();
        (&*operation.method, &*operation.path, statuses)
    })
}

/// The statuses of whatever is no operation of the document.
pub fn unlisted() -> Vec<u16> {
    let statuses = CONTRACT.unlisted.keys();
    statuses.filter_map(|status| status.parse().ok()).collect()
}

/// What judges by the schema `name` of the document, as it is published.
pub fn schema(name: &str) -> Validator {
    let document = document();
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    validator(&document["components"], &schema)
}

/// The document, as anything that reads JSON has it.
pub fn document() -> Value {
    serde_json::from_str(contract::openapi::DOCUMENT).expect("JSON")
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::read(document()));

type Shapes = BTreeMap<String, Shape>;

struct Contract {
    operations: Vec<Operation>,
    unlisted: Shapes,
}

struct Operation {
    method: String,
    path: String,
    shapes: Shapes,
}

/// What one status of an operation looks like.
struct Shape {
    headers: Vec<Header>,
    /// By content type; none at all means an answer without a body.
    bodies: BTreeMap<String, Validator>,
}

struct Header {
    name: String,
    required: bool,
    value: Validator,
}

impl Contract {
    fn read(mut document: Value) -> Self {
        close(&mut document);
        let mut operations = Vec::new();
        for (path, item) in members(&document["paths"]) {
            for (method, operation) in members(item) {
                if let Some(responses) = operation.get("responses") {
                    operations.push(Operation {
                        method: method.to_uppercase(),
                        path: path.clone(),
                        shapes: shapes(&document, responses),
                    });
                }
            }
        }
        Self {
            unlisted: shapes(&document, &document["x-unlisted"]["responses"]),
            operations,
        }
    }

    /// HEAD is answered like GET where the document does not show it.
    fn shapes(&self, method: &Method, path: &str) -> &Shapes {
        let find = |method: &str| {
            self.operations
                .iter()
                .find(|it| it.method == method && fits(&it.path, path))
        };
        find(method.as_str())
            .or_else(|| find("GET").filter(|_| *method == Method::HEAD))
            .map_or(&self.unlisted, |operation| &operation.shapes)
    }
}

impl Shape {
    fn read(document: &Value, response: &Value) -> Self {
        let components = &document["components"];
        let headers = response.get("headers").into_iter().flat_map(members);
        let bodies = response.get("content").into_iter().flat_map(members);
        Self {
            headers: headers
                .map(|(name, header)| {
                    let header = resolve(document, header);
                    Header {
                        name: name.clone(),
                        required: header["required"] == true,
                        value: validator(components, &header["schema"]),
                    }
                })
                .collect(),
            bodies: bodies
                .map(|(media, body)| (media.clone(), validator(components, &body["schema"])))
                .collect(),
        }
    }

    fn judge(&self, method: &Method, answer: &Answer<'_>) -> Result<(), String> {
        for header in &self.headers {
            match answer.headers.get(&header.name) {
                None if header.required => return Err(format!("{} is missing", header.name)),
                None => {}
                Some(value) => {
                    let value = json!(value.to_str().map_err(|error| error.to_string())?);
                    violation(&header.value, &value)?;
                }
            }
        }
        if *method == Method::HEAD {
            return Ok(());
        }
        self.judge_body(answer)
    }

    fn judge_body(&self, answer: &Answer<'_>) -> Result<(), String> {
        if self.bodies.is_empty() {
            return answer
                .body
                .is_empty()
                .then_some(())
                .ok_or_else(|| "it has no body".to_owned());
        }
        let media = answer.headers.get("content-type");
        let media = media.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default();
        let body = self
            .bodies
            .get(media)
            .ok_or_else(|| format!("its content type is one of {:?}", self.bodies.keys()))?;
        if media == "application/json" {
            let value = serde_json::from_str(answer.body).map_err(|error| error.to_string())?;
            return violation(body, &value);
        }
        violation(body, &json!(answer.body))
    }
}

fn shapes(document: &Value, responses: &Value) -> Shapes {
    members(responses)
        .iter()
        .map(|(status, response)| {
            let response = resolve(document, response);
            (status.clone(), Shape::read(document, response))
        })
        .collect()
}

/// Whether `path` is one that `template` stands for.
fn fits(template: &str, path: &str) -> bool {
    let mut names = path.split('/');
    template.split('/').all(|part| match names.next() {
        Some(name) if part.starts_with('{') => !name.is_empty(),
        name => name == Some(part),
    }) && names.next().is_none()
}

/// Lets no object have a member that its schema does not name.
fn close(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("properties").is_some_and(Value::is_object) {
                members
                    .entry("additionalProperties")
                    .or_insert(json!(false));
            }
            members.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// What `value` refers to, or itself.
fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    target.map_or(value, |pointer| {
        document.pointer(pointer).expect("it is in the document")
    })
}

fn validator(components: &Value, schema: &Value) -> Validator {
    let whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": components,
        "allOf": [schema],
    });
    jsonschema::validator_for(&whole).expect("a schema")
}

fn violation(validator: &Validator, value: &Value) -> Result<(), String> {
    validator.validate(value).map_err(|error| error.to_string())
}

fn members(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}
