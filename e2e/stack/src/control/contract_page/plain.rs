//! The operations of the contract, read from the document, for browsers without
//! scripts.

use contract::openapi::DOCUMENT;
use rocket::serde::json::Value;

/// An operation, as the page lists it.
pub(super) struct ContractOperation {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) choice: String,
    pub(super) takes: Vec<ContractField>,
    pub(super) answers: Vec<ContractAnswer>,
}

/// A parameter, or a member of a body.
pub(super) struct ContractField {
    pub(super) name: String,
    /// `query`, `path` or `body`.
    pub(super) location: String,
    pub(super) is_required: bool,
    /// Type, constants, pattern and lengths, on one line.
    pub(super) constraints: String,
    pub(super) description: String,
}

/// A status, with the members of its body.
pub(super) struct ContractAnswer {
    pub(super) status: String,
    pub(super) description: String,
    pub(super) fields: Vec<ContractField>,
}

/// Every operation of the contract.
pub(super) fn operations() -> Vec<ContractOperation> {
    let document: Value = serde_json::from_str(DOCUMENT).expect("it was made when this was built");
    let reader = DocumentReader(&document);
    let mut operations = Vec::new();
    for (path, item) in members(&document["paths"]) {
        let shared = &item["parameters"];
        let own = members(item).filter(|(method, _)| *method != "parameters");
        operations.extend(own.map(|(method, own)| reader.operation(method, path, own, shared)));
    }
    operations
}

struct DocumentReader<'d>(&'d Value);

impl<'d> DocumentReader<'d> {
    fn operation(
        &self,
        method: &str,
        path: &str,
        own: &'d Value,
        shared: &'d Value,
    ) -> ContractOperation {
        let parameters = items(shared).chain(items(&own["parameters"]));
        let mut takes: Vec<_> = parameters.map(|it| self.parameter(it)).collect();
        takes.extend(self.body(&own["requestBody"]));
        ContractOperation {
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(&own["summary"]),
            description: text(&own["description"]),
            choice: text(&own["x-kit-choice"]),
            takes,
            answers: members(&own["responses"])
                .map(|(status, answer)| self.answer(status, answer))
                .collect(),
        }
    }

    fn parameter(&self, parameter: &'d Value) -> ContractField {
        ContractField {
            name: text(&parameter["name"]),
            location: text(&parameter["in"]),
            is_required: parameter["required"] == true,
            constraints: constraints(self.resolve(&parameter["schema"])),
            description: text(&parameter["description"]),
        }
    }

    fn answer(&self, status: &str, answer: &'d Value) -> ContractAnswer {
        let answer = self.resolve(answer);
        ContractAnswer {
            status: status.to_owned(),
            description: text(&answer["description"]),
            fields: self.body(answer),
        }
    }

    /// The members of a JSON body, or of all its alternatives.
    fn body(&self, body: &'d Value) -> Vec<ContractField> {
        let schema = self.resolve(&body["content"]["application/json"]["schema"]);
        let schema = match schema.get("items") {
            Some(items) => self.resolve(items),
            None => schema,
        };
        let alternatives = items(&schema["oneOf"]).chain([schema]);
        alternatives.flat_map(|it| self.fields(it)).collect()
    }

    fn fields(&self, schema: &'d Value) -> impl Iterator<Item = ContractField> {
        members(&schema["properties"]).map(move |(name, own)| {
            let resolved = self.resolve(own);
            let description = own.get("description").or(resolved.get("description"));
            ContractField {
                name: name.to_owned(),
                location: "body".to_owned(),
                is_required: items(&schema["required"]).any(|it| it == name),
                constraints: constraints(resolved),
                description: description.map(text).unwrap_or_default(),
            }
        })
    }

    /// The value that `value` refers to with `$ref`, or `value` itself.
    fn resolve(&self, value: &'d Value) -> &'d Value {
        let target = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
        match target.and_then(|pointer| self.0.pointer(pointer)) {
            Some(target) => self.resolve(target),
            None => value,
        }
    }
}

/// The constraints of a schema, on one line.
fn constraints(schema: &Value) -> String {
    let one_of: Vec<_> = items(&schema["enum"]).map(constant).collect();
    let types: Vec<_> = items(&schema["type"]).map(constant).collect();
    let parts = [
        types.join(" or "),
        constant(&schema["type"]),
        constant(&schema["const"]),
        one_of.join(" or "),
        constant(&schema["pattern"]),
        length_limit("at least", &schema["minLength"]),
        length_limit("at most", &schema["maxLength"]),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

fn length_limit(label: &str, length: &Value) -> String {
    match length.as_u64() {
        Some(length) => format!("{label} {length} characters"),
        None => String::new(),
    }
}

/// A constant as text; empty for other values.
fn constant(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => String::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().trim_end().to_owned()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(name, member)| (name.as_str(), member))
}
