//! Every answer of a broker that these suites see is held against the published
//! contract: operation, status, headers, content type and body.
//!
//! The document is read as text, not through the contract's types. Where it lets
//! an answer have more members than it names, this is stricter: what it does not
//! name must not leave the broker.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::reply::Reply;

/// Paths that serve whoever runs a broker, or its pages, and no consumer.
pub(crate) const NOT_PUBLISHED: [&str; 4] = ["/livez", "/readyz", "/style.css", "/question.js"];

/// Asserts that a broker may answer like this; the answers of others pass.
#[track_caller]
pub(crate) fn check(method: &Method, path: &str, reply: &Reply) {
    if let Err(complaint) = judge(method, path, reply) {
        panic!("the contract does not show {method} {path} answering {reply:?}: {complaint}");
    }
}

/// What is wrong with `reply` by the published contract, if anything is.
pub(crate) fn judge(method: &Method, path: &str, reply: &Reply) -> Result<(), String> {
    // Only a broker's answers have this header, and all of them do.
    if reply.header("x-request-id").is_none() || NOT_PUBLISHED.contains(&path) {
        return Ok(());
    }
    let answers = CONTRACT.answers(method, path);
    let answer = answers
        .get(reply.status.to_string().as_str())
        .ok_or_else(|| format!("it shows only {:?}", answers.keys()))?;
    answer.judge(method, reply)
}

/// Every operation of the document: method, path template, statuses.
pub(crate) fn operations() -> impl Iterator<Item = (&'static str, &'static str, Vec<u16>)> {
    CONTRACT.operations.iter().map(|operation| {
        let statuses = operation.answers.keys();
        let statuses = statuses.filter_map(|status| status.parse().ok()).collect();
        (&*operation.method, &*operation.path, statuses)
    })
}

/// The statuses of whatever is no operation of the document.
pub(crate) fn unlisted() -> Vec<u16> {
    let statuses = CONTRACT.unlisted.keys();
    statuses.filter_map(|status| status.parse().ok()).collect()
}

/// What judges by the schema `name` of the document, as it is published.
pub(crate) fn schema(name: &str) -> Validator {
    let document = document();
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    validator(&document["components"], &schema)
}

pub(crate) fn document() -> Value {
    serde_json::from_str(contract::openapi::DOCUMENT).expect("JSON")
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::read(document()));

type Answers = BTreeMap<String, Answer>;

struct Contract {
    operations: Vec<Operation>,
    unlisted: Answers,
}

struct Operation {
    method: String,
    path: String,
    answers: Answers,
}

/// What one status of an operation looks like.
struct Answer {
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
                        answers: answers(&document, responses),
                    });
                }
            }
        }
        Self {
            unlisted: answers(&document, &document["x-unlisted"]["responses"]),
            operations,
        }
    }

    /// HEAD is answered like GET where the document does not show it.
    fn answers(&self, method: &Method, path: &str) -> &Answers {
        let find = |method: &str| {
            self.operations
                .iter()
                .find(|it| it.method == method && fits(&it.path, path))
        };
        find(method.as_str())
            .or_else(|| find("GET").filter(|_| *method == Method::HEAD))
            .map_or(&self.unlisted, |operation| &operation.answers)
    }
}

impl Answer {
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

    fn judge(&self, method: &Method, reply: &Reply) -> Result<(), String> {
        for header in &self.headers {
            match reply.headers.get(&header.name) {
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
        self.judge_body(reply)
    }

    fn judge_body(&self, reply: &Reply) -> Result<(), String> {
        if self.bodies.is_empty() {
            return reply
                .body
                .is_empty()
                .then_some(())
                .ok_or_else(|| "it has no body".to_owned());
        }
        let media = reply.header("content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default();
        let body = self
            .bodies
            .get(media)
            .ok_or_else(|| format!("its content type is one of {:?}", self.bodies.keys()))?;
        if media == "application/json" {
            let value = serde_json::from_str(&reply.body).map_err(|error| error.to_string())?;
            return violation(body, &value);
        }
        violation(body, &json!(reply.body))
    }
}

fn answers(document: &Value, responses: &Value) -> Answers {
    members(responses)
        .iter()
        .map(|(status, response)| {
            let response = resolve(document, response);
            (status.clone(), Answer::read(document, response))
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
