//! The published contract as a page: `GET /contract`.
//!
//! Scalar's crate contains its whole renderer, so the page needs no network, and its
//! content security policy limits the script to this address. A browser without scripts
//! shows the same operations as plain tables.

use askama::Template;
use contract::openapi::DOCUMENT;
use contract::{RedirectUri, SessionKey};
use rocket::http::{ContentType, Header, Status};
use rocket::response::content::{RawHtml, RawJson};
use rocket::serde::json::{Value, json};
use rocket::{Responder, Route, get, routes};

use crate::page::{asset, html};
use crate::projects::ProjectCredentials;
use crate::request::Runtime;
use crate::snippets::{Snippet, Snippets};

/// The policy that the renderer needs: scripts and data from this address, styles that it
/// writes itself, and pictures that it contains.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    connect-src 'self'; img-src 'self' data:; font-src 'self' data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Vec<Route> {
    let style = include_str!("../../templates/contract.css");
    let script = include_str!("../../templates/contract.js");
    let assets = [
        asset("/contract/page.css", ContentType::CSS, style),
        asset("/contract/page.js", ContentType::JavaScript, script),
    ];
    let routes = routes![page, renderer, document];
    routes.into_iter().chain(assets).collect()
}

/// A page with a policy of its own.
#[derive(Responder)]
struct PageWithPolicy {
    page: RawHtml<String>,
    policy: Header<'static>,
}

#[derive(Template)]
#[template(path = "contract.html")]
struct ContractPage {
    operations: Vec<ContractOperation>,
}

#[get("/contract")]
fn page(runtime: &Runtime) -> PageWithPolicy {
    let project = runtime.projects.demo_or_first();
    let snippets = project.map(|it| Snippets::new(&runtime.urls.broker, &it));
    let operations = operations(snippets.as_ref());
    PageWithPolicy {
        page: html(&ContractPage { operations }),
        policy: Header::new("Content-Security-Policy", POLICY),
    }
}

/// A debug build reads the script from Cargo's registry on demand; a release build
/// contains it.
#[get("/contract/scalar.js")]
fn renderer() -> Result<(ContentType, Vec<u8>), Status> {
    let script = scalar_api_reference::get_asset("scalar.js").ok_or(Status::NotFound)?;
    Ok((ContentType::JavaScript, script))
}

/// The document for readers: the kit's choices are part of the descriptions, the server is
/// this stack's broker, and the examples have credentials that it accepts.
#[get("/contract/openapi.json")]
fn document(runtime: &Runtime) -> RawJson<String> {
    let mut document = parsed_document();
    append_choices(&mut document);
    ignore_heads(&mut document);
    if let Some(project) = runtime.projects.demo_or_first() {
        let snippets = Snippets::new(&runtime.urls.broker, &project);
        add_samples(&mut document, &snippets);
        fill_in(&mut document, &runtime.urls.broker, &project);
    }
    document["servers"] =
        json!([{ "url": runtime.urls.broker, "description": "The broker of this stack." }]);
    RawJson(document.to_string())
}

fn parsed_document() -> Value {
    serde_json::from_str(DOCUMENT).expect("it was made when this was built")
}

/// Appends each `x-kit-choice` to the description beside it.
fn append_choices(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(choice)) = members.get("x-kit-choice") {
                let choice = format!("*This kit's choice:* {choice}");
                let description = members.get("description").and_then(Value::as_str);
                let description = description.map_or(choice.clone(), |text| {
                    format!("{}\n\n{choice}", text.trim_end())
                });
                members.insert("description".to_owned(), description.into());
            }
            members.values_mut().for_each(append_choices);
        }
        Value::Array(items) => items.iter_mut().for_each(append_choices),
        _ => {}
    }
}

/// Leaves the operations out that only check a link: each is beside the one that follows it.
fn ignore_heads(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (_, path) in paths {
        if let Some(head) = path.get_mut("head") {
            head["x-scalar-ignore"] = true.into();
        }
    }
}

/// The values of the document that stand for those of a deployment.
const CLIENT_ID: &str = "prj_example";
const CLIENT_SECRET: &str = "the secret of the registration";
const REDIRECT_URI: &str = "https://app.example/signed-in";
const SESSION_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const BROKER: &str = "https://signin.example";

/// The paths of the legacy flow, for which the demo has a callback of its own, its second.
const LEGACY_PATHS: [&str; 2] = ["/authorize", "/v1/token"];

/// Gives each operation its call for a shell, and in the languages of the reference consumers.
fn add_samples(document: &mut Value, snippets: &Snippets) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        let operations = item.as_object_mut().into_iter().flatten();
        for (method, operation) in operations.filter(|(_, it)| it.is_object()) {
            let snippet = snippets.of_operation(method, path);
            let shell = json!({ "lang": "shell", "label": "curl", "source": snippet.command });
            let code = snippet.code().into_iter().map(|it| {
                json!({ "lang": it.language.to_lowercase(), "label": it.language, "source": it.code })
            });
            operation["x-codeSamples"] = [shell].into_iter().chain(code).collect();
        }
    }
}

/// Replaces the values by those of `project`, and the session key by a fresh one.
fn fill_in(document: &mut Value, broker: &str, project: &ProjectCredentials) {
    let key = SessionKey::from_random(&broker::random::bytes32());
    let mut values = vec![
        (CLIENT_ID, project.client_id.as_str()),
        (CLIENT_SECRET, project.client_secret.expose()),
        (SESSION_KEY, key.expose()),
        (BROKER, broker),
    ];
    let callbacks = &project.redirect_uris;
    let legacy = callbacks.get(1).map(RedirectUri::as_str);
    for path in LEGACY_PATHS {
        replace(
            &mut document["paths"][path],
            &[(REDIRECT_URI, legacy.unwrap_or(REDIRECT_URI))],
        );
    }
    values.extend(callbacks.first().map(|uri| (REDIRECT_URI, uri.as_str())));
    replace(document, &values);
}

fn replace(value: &mut Value, values: &[(&str, &str)]) {
    match value {
        Value::Object(members) => members.values_mut().for_each(|it| replace(it, values)),
        Value::Array(items) => items.iter_mut().for_each(|it| replace(it, values)),
        Value::String(text) => {
            for (from, to) in values {
                if text.starts_with(from) {
                    *text = text.replacen(from, to, 1);
                }
            }
        }
        _ => {}
    }
}

/// An operation, as the page lists it.
struct ContractOperation {
    method: String,
    path: String,
    summary: String,
    description: String,
    choice: String,
    takes: Vec<ContractField>,
    answers: Vec<ContractAnswer>,
    snippet: Option<Snippet>,
}

/// A parameter, or a member of a body.
struct ContractField {
    name: String,
    /// `query`, `path` or `body`.
    location: String,
    is_required: bool,
    /// Type, constants and lengths, on one line.
    constraints: String,
    description: String,
    /// The expression for the form that the description puts into words.
    pattern: String,
}

/// A status, with the members of its body.
struct ContractAnswer {
    status: String,
    description: String,
    fields: Vec<ContractField>,
}

/// Every operation of the contract.
fn operations(snippets: Option<&Snippets>) -> Vec<ContractOperation> {
    let document = parsed_document();
    let reader = DocumentReader {
        document: &document,
        snippets,
    };
    let mut operations = Vec::new();
    for (path, item) in members(&document["paths"]) {
        let shared = &item["parameters"];
        let own = members(item).filter(|(method, _)| *method != "parameters");
        operations.extend(own.map(|(method, own)| reader.operation(method, path, own, shared)));
    }
    operations
}

struct DocumentReader<'d> {
    document: &'d Value,
    snippets: Option<&'d Snippets>,
}

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
            snippet: self.snippets.map(|it| it.of_operation(method, path)),
        }
    }

    fn parameter(&self, parameter: &'d Value) -> ContractField {
        let name = text(&parameter["name"]);
        let schema = self.resolve(&parameter["schema"]);
        ContractField {
            location: text(&parameter["in"]),
            ..ContractField::new(name, parameter["required"] == true, schema, parameter)
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

    /// The members of an object, each followed by its own, such as `profile.subject`.
    fn fields(&self, schema: &'d Value) -> Vec<ContractField> {
        let members = members(&schema["properties"]).flat_map(|(name, own)| {
            let resolved = self.resolve(own);
            let is_required = items(&schema["required"]).any(|it| it == name);
            let field = ContractField::new(name.to_owned(), is_required, resolved, own);
            let inner = self
                .fields(resolved)
                .into_iter()
                .map(move |it| ContractField {
                    name: format!("{name}.{}", it.name),
                    ..it
                });
            [field].into_iter().chain(inner)
        });
        members.collect()
    }

    /// The value that `value` refers to with `$ref`, or `value` itself.
    fn resolve(&self, value: &'d Value) -> &'d Value {
        let target = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
        match target.and_then(|pointer| self.document.pointer(pointer)) {
            Some(target) => self.resolve(target),
            None => value,
        }
    }
}

impl ContractField {
    /// A member of a body, as its place describes it, or else its schema.
    fn new(name: String, is_required: bool, schema: &Value, place: &Value) -> Self {
        let described = place.get("description").map_or(schema, |_| place);
        let mut description = text(&described["description"]);
        if let Some(choice) = described["x-kit-choice"].as_str() {
            description = format!("{description} This kit's choice: {choice}");
        }
        Self {
            name,
            location: "body".to_owned(),
            is_required,
            constraints: constraints(schema),
            description,
            pattern: constant(&schema["pattern"]),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_values_that_are_replaced() {
        for value in [CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SESSION_KEY, BROKER] {
            assert!(DOCUMENT.contains(value), "{value}");
        }
        let document = parsed_document();
        for path in LEGACY_PATHS {
            let operations = document["paths"][path].to_string();
            assert!(operations.contains(REDIRECT_URI), "{path}");
        }
    }
}
