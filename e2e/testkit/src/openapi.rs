//! The published contract, and whether it documents a response: operation, status,
//! headers, content type and body.
//!
//! The document is read as text, not through the contract's types. Where it allows
//! more members than it names, this is stricter: a member without a name must not
//! leave the broker.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyper::Method;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::response::Response;

/// Paths for operators or for the broker's own pages, not for consumers.
pub const NOT_PUBLISHED: [&str; 4] = ["/livez", "/readyz", "/style.css", "/question.js"];

/// Checks a response to `method` at `path` against the published contract. A response
/// that is no broker's passes.
///
/// # Errors
///
/// A sentence about what the contract does not document.
pub fn check(method: &Method, path: &str, response: &Response) -> Result<(), String> {
    if !response.is_a_brokers() || NOT_PUBLISHED.contains(&path) {
        return Ok(());
    }
    let documented = CONTRACT.responses(method, path);
    let shape = documented
        .get(response.status.to_string().as_str())
        .ok_or_else(|| format!("it documents only {:?}", documented.keys()))?;
    shape.check(method, response)
}

/// Every operation of the document: method, path template, statuses.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str, Vec<u16>)> {
    CONTRACT.operations.iter().map(|operation| {
        let statuses = operation.responses.keys();
        let statuses = statuses.filter_map(|status| status.parse().ok()).collect();
        (&*operation.method, &*operation.path, statuses)
    })
}

/// The statuses of requests that are no operation of the document.
pub fn unlisted() -> Vec<u16> {
    let statuses = CONTRACT.unlisted.keys();
    statuses.filter_map(|status| status.parse().ok()).collect()
}

/// A validator for the schema `name` of the document, as it is published.
pub fn schema(name: &str) -> Validator {
    let document = document();
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    validator(&document["components"], &schema)
}

/// The document as JSON.
pub fn document() -> Value {
    serde_json::from_str(contract::openapi::DOCUMENT).expect("JSON")
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::read(document()));

/// The responses of an operation, by status.
type Responses = BTreeMap<String, Shape>;

struct Contract {
    operations: Vec<Operation>,
    unlisted: Responses,
}

struct Operation {
    method: String,
    path: String,
    responses: Responses,
}

/// The documented response of one status.
struct Shape {
    headers: Vec<Header>,
    /// By content type; none at all means a response without a body.
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
                        responses: responses_of(&document, responses),
                    });
                }
            }
        }
        Self {
            unlisted: responses_of(&document, &document["x-unlisted"]["responses"]),
            operations,
        }
    }

    /// HEAD has the responses of GET where the document does not mention it.
    fn responses(&self, method: &Method, path: &str) -> &Responses {
        let find = |method: &str| {
            self.operations
                .iter()
                .find(|it| it.method == method && fits(&it.path, path))
        };
        find(method.as_str())
            .or_else(|| find("GET").filter(|_| *method == Method::HEAD))
            .map_or(&self.unlisted, |operation| &operation.responses)
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

    fn check(&self, method: &Method, response: &Response) -> Result<(), String> {
        for header in &self.headers {
            match response.headers.get(&header.name) {
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
        self.check_body(response)
    }

    fn check_body(&self, response: &Response) -> Result<(), String> {
        if self.bodies.is_empty() {
            return response
                .body
                .is_empty()
                .then_some(())
                .ok_or_else(|| "it has no body".to_owned());
        }
        let media = response.headers.get("content-type");
        let media = media.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default();
        let body = self
            .bodies
            .get(media)
            .ok_or_else(|| format!("its content type is one of {:?}", self.bodies.keys()))?;
        if media == "application/json" {
            let value =
                serde_json::from_slice(&response.body).map_err(|error| error.to_string())?;
            return violation(body, &value);
        }
        violation(body, &json!(String::from_utf8_lossy(&response.body)))
    }
}

fn responses_of(document: &Value, responses: &Value) -> Responses {
    members(responses)
        .iter()
        .map(|(status, response)| {
            let response = resolve(document, response);
            (status.clone(), Shape::read(document, response))
        })
        .collect()
}

/// Whether `path` matches `template`.
fn fits(template: &str, path: &str) -> bool {
    let mut names = path.split('/');
    template.split('/').all(|part| match names.next() {
        Some(name) if part.starts_with('{') => !name.is_empty(),
        name => name == Some(part),
    }) && names.next().is_none()
}

/// Forbids the members that a schema does not name.
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

/// The value that `value` refers to, or itself.
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

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;
    use crate::response::{PENDING, REFUSED};

    const RESULT: &str = "/v1/login/result";

    fn response(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Response {
        let all = headers.iter().chain(&[("x-request-id", "one")]);
        let all = all.map(|(name, value)| {
            let value = HeaderValue::from_static(value);
            (HeaderName::from_static(name), value)
        });
        Response {
            status,
            headers: all.collect::<HeaderMap>(),
            body: body.into(),
        }
    }

    fn json(status: u16, body: &str) -> Response {
        response(status, &[("content-type", "application/json")], body)
    }

    fn html(status: u16, body: &str) -> Response {
        response(status, &[("content-type", "text/html")], body)
    }

    fn away(body: &str) -> Response {
        response(303, &[("location", "https://app.example/cb")], body)
    }

    #[test]
    fn a_documented_response_is_no_violation_and_any_other_is() {
        const LOGIN: &str = "/login/handle";
        const PROFILE: &str = "/v1/profile";
        const STATUS: &str = "it documents only";
        let (get, post) = (Method::GET, Method::POST);
        let leaked = r#"{"status":"pending","session_key":"leaked"}"#;
        let rule = r#"{"error":"request_failed","rule":"unknown"}"#;
        for (method, path, response, about) in [
            (&post, RESULT, json(200, PENDING), ""),
            (&post, RESULT, json(400, REFUSED), ""),
            (&get, "/nowhere", json(404, REFUSED), ""),
            (&get, LOGIN, away(""), ""),
            (&Method::HEAD, LOGIN, response(200, &[], ""), ""),
            (&post, RESULT, json(401, REFUSED), STATUS),
            (&post, RESULT, json(500, REFUSED), STATUS),
            (&post, RESULT, json(201, PENDING), STATUS),
            (&post, PROFILE, json(200, PENDING), STATUS),
            (&get, "/nowhere", json(200, "{}"), STATUS),
            (&post, RESULT, json(200, r#"{"status":"waiting"}"#), "oneOf"),
            (
                &post,
                RESULT,
                json(200, r#"{"status":"succeeded"}"#),
                "oneOf",
            ),
            (&post, RESULT, json(200, leaked), "oneOf"),
            (&post, RESULT, json(200, "pending"), "expected"),
            (&post, RESULT, json(400, rule), "Additional properties"),
            (&get, LOGIN, away("x"), "no body"),
            (&post, RESULT, html(400, "<h1>"), "content type"),
            (&get, LOGIN, response(303, &[], ""), "Location is missing"),
            (&get, PROFILE, json(401, REFUSED), "WWW-Authenticate"),
        ] {
            match check(method, path, &response) {
                Ok(()) => assert_eq!(about, "", "{method} {path} {response:?}"),
                Err(violation) => assert!(
                    !about.is_empty() && violation.contains(about),
                    "{method} {path} {response:?}: {violation}"
                ),
            }
        }
    }
}
