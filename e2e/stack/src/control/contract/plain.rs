//! The contract in plain HTML, read from the document: what a browser without
//! scripts shows.

use contract::openapi::DOCUMENT;
use rocket::serde::json::Value;

/// One operation, as the page lists it.
pub(super) struct Operation {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) choice: String,
    pub(super) takes: Vec<Field>,
    pub(super) answers: Vec<Answer>,
}

/// A parameter, or a member of a body.
pub(super) struct Field {
    pub(super) name: String,
    /// `query`, `path` or `body`.
    pub(super) place: String,
    pub(super) is_required: bool,
    /// Type, constants, pattern and lengths, in a line.
    pub(super) form: String,
    pub(super) description: String,
}

/// A status, and the members of its body.
pub(super) struct Answer {
    pub(super) status: String,
    pub(super) description: String,
    pub(super) fields: Vec<Field>,
}

/// Every operation of the contract.
pub(super) fn operations() -> Vec<Operation> {
    let document: Value = serde_json::from_str(DOCUMENT).expect("it was made when this was built");
    let reader = Reader(&document);
    let mut operations = Vec::new();
    for (path, item) in members(&document["paths"]) {
        let shared = &item["parameters"];
        let own = members(item).filter(|(method, _)| *method != "parameters");
        operations.extend(own.map(|(method, own)| reader.operation(method, path, own, shared)));
    }
    operations
}

struct Reader<'d>(&'d Value);

impl<'d> Reader<'d> {
    fn operation(&self, method: &str, path: &str, own: &'d Value, shared: &'d Value) -> Operation {
        let parameters = items(shared).chain(items(&own["parameters"]));
        let mut takes: Vec<_> = parameters.map(|it| self.parameter(it)).collect();
        takes.extend(self.body(&own["requestBody"]));
        Operation {
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

    fn parameter(&self, parameter: &'d Value) -> Field {
        Field {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            is_required: parameter["required"] == true,
            form: form(self.resolve(&parameter["schema"])),
            description: text(&parameter["description"]),
        }
    }

    fn answer(&self, status: &str, answer: &'d Value) -> Answer {
        let answer = self.resolve(answer);
        Answer {
            status: status.to_owned(),
            description: text(&answer["description"]),
            fields: self.body(answer),
        }
    }

    /// The members of a JSON body, of each of its alternatives.
    fn body(&self, body: &'d Value) -> Vec<Field> {
        let schema = self.resolve(&body["content"]["application/json"]["schema"]);
        let schema = match schema.get("items") {
            Some(items) => self.resolve(items),
            None => schema,
        };
        let alternatives = items(&schema["oneOf"]).chain([schema]);
        alternatives.flat_map(|it| self.fields(it)).collect()
    }

    fn fields(&self, schema: &'d Value) -> impl Iterator<Item = Field> {
        members(&schema["properties"]).map(move |(name, own)| {
            let resolved = self.resolve(own);
            let says = own.get("description").or(resolved.get("description"));
            Field {
                name: name.to_owned(),
                place: "body".to_owned(),
                is_required: items(&schema["required"]).any(|it| it == name),
                form: form(resolved),
                description: says.map(text).unwrap_or_default(),
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

/// The form that a schema demands of one value.
fn form(schema: &Value) -> String {
    let one_of: Vec<_> = items(&schema["enum"]).map(shown).collect();
    let types: Vec<_> = items(&schema["type"]).map(shown).collect();
    let parts = [
        types.join(" or "),
        shown(&schema["type"]),
        shown(&schema["const"]),
        one_of.join(" or "),
        shown(&schema["pattern"]),
        labelled("at least", &schema["minLength"]),
        labelled("at most", &schema["maxLength"]),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

fn labelled(label: &str, length: &Value) -> String {
    match length.as_u64() {
        Some(length) => format!("{label} {length} characters"),
        None => String::new(),
    }
}

/// A constant as a person reads it; nothing for what is not one.
fn shown(value: &Value) -> String {
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
