//! The calls of the control address as tools, from the list of the page `/calls`.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::object;
use serde_json::{Value, json};
use stack::control::Call;

/// The call whose answer does not end.
const STREAM: &str = "/api/events/stream";

/// Every call, without the endless one.
pub(super) fn all() -> impl Iterator<Item = Call> {
    stack::calls().into_iter().filter(|it| it.path() != STREAM)
}

/// The name of its tool: `POST /api/clock/advance` is `post_clock_advance`.
pub(super) fn name(call: &Call) -> String {
    let name = call.method().to_lowercase() + path(call).trim_start_matches("/api");
    name.replace(['{', '}'], "").replace(['/', '.', '-'], "_")
}

/// Its tool. The schema has the members of the example: the stack refuses what it does not know,
/// by its name.
pub(super) fn tool(call: &Call) -> Tool {
    let (method, path, body) = (call.method(), path(call), call.body());
    let parameters = call.parameters().map(|name| {
        let says = match name {
            "provider" => "google or github",
            _ => "from the answer of another call",
        };
        let schema = json!({ "type": "string", "description": says });
        (name.to_owned(), schema)
    });
    let members: JsonObject = serde_json::from_str(body).unwrap_or_default();
    let members = members.iter().map(|(name, it)| (name.clone(), schema(it)));
    let required = call.parameters().filter(|it| path.contains(&slot(it)));
    let input = object!({
        "type": "object",
        "required": required.collect::<Vec<_>>(),
        "properties": parameters.chain(members).collect::<JsonObject>(),
        "additionalProperties": !body.is_empty(),
    });
    let hints = ToolAnnotations::new()
        .read_only(method == "GET")
        .destructive(method == "DELETE" || path == "/api/reset")
        .open_world(false);
    let description = format!("{} {method} {path} {body}", call.sentence);
    Tool::new(name(call), description, input).with_annotations(hints)
}

/// The path with its query, and the body, for these arguments.
///
/// # Errors
///
/// If one is missing, unknown or no id: a sentence that names it.
pub(super) fn request(
    call: &Call,
    mut arguments: JsonObject,
) -> Result<(String, Option<Value>), String> {
    let mut path = path(call);
    for name in call.parameters() {
        let value = arguments.remove(name).map(|it| match it {
            Value::String(text) => text,
            other => other.to_string(),
        });
        let is_in_path = path.contains(&slot(name));
        path = match value {
            None if is_in_path => return Err(format!("{name}: it is missing")),
            None => path,
            Some(id) if !is_id(&id) => return Err(format!("{name}: letters, digits, - and _")),
            Some(id) if is_in_path => path.replace(&slot(name), &id),
            Some(id) if path.contains('?') => format!("{path}&{name}={id}"),
            Some(id) => format!("{path}?{name}={id}"),
        };
    }
    match (call.body(), arguments.keys().next()) {
        ("", Some(name)) => Err(format!("{name}: the call has no such parameter")),
        ("", None) => Ok((path, None)),
        _ => Ok((path, Some(Value::Object(arguments)))),
    }
}

fn path(call: &Call) -> String {
    call.path().split('?').take(1).collect()
}

fn slot(parameter: &str) -> String {
    format!("{{{parameter}}}")
}

fn is_id(text: &str) -> bool {
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_id)
}

/// The schema of a member, by its example.
fn schema(example: &Value) -> Value {
    let kind = match example {
        Value::Object(_) => "object",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Array(_) => return json!({ "type": "array", "items": {}, "examples": [example] }),
        _ => "string",
    };
    json!({ "type": kind, "examples": [example] })
}
