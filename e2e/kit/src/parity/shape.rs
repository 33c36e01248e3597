//! The shape of an answer: the kind of each of its parts. Of a text it has the words of
//! `words.toml` alone, so that no secret can get into it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use agent::http::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

/// The kinds of each part, by its path; that of a list's elements may have several.
pub(super) type Shape = BTreeMap<String, BTreeSet<String>>;

static WORDS: LazyLock<BTreeMap<String, BTreeSet<String>>> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).expect("it is a part of the code"));

/// The parts of an answer that are compared, with their values.
pub(super) fn parts(response: &Response) -> Value {
    let headers = response.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).to_lowercase();
        (name.to_string(), Value::from(value))
    });
    let is_compared = |(name, _): &(String, _)| !WORDS["ignored"].contains(name);
    let location = response
        .location()
        .and_then(|it| response.url.join(&it).ok());
    json!({
        "status": response.status.to_string(),
        "header": headers.filter(is_compared).collect::<Value>(),
        "location": location.as_ref().map(parameters),
        "body": body(response),
    })
}

pub(super) fn parameters(url: &Url) -> Value {
    json!(url.query_pairs().collect::<BTreeMap<_, _>>())
}

fn body(response: &Response) -> Value {
    let content_type = response.header("content-type").unwrap_or_default();
    let form = || form_urlencoded::parse(&response.body).collect::<BTreeMap<_, _>>();
    match serde_json::from_slice(&response.body) {
        Ok(json) => json,
        Err(_) if content_type.contains("form") => json!({ "form": form() }),
        Err(_) => response.text().into(),
    }
}

/// The shape of these parts.
pub(super) fn of(parts: &Value) -> Shape {
    let mut shape = Shape::new();
    for (name, part) in parts.as_object().into_iter().flatten() {
        add(&mut shape, name, part);
    }
    shape
}

fn add(shape: &mut Shape, path: &str, value: &Value) {
    let decoded = value.as_str().and_then(jwt);
    let value = decoded.as_ref().unwrap_or(value);
    let name = path.rsplit('.').next().unwrap_or_default();
    let kind = kind_of(name.trim_end_matches("[]"), value);
    shape.entry(path.to_owned()).or_default().insert(kind);
    for it in value.as_array().into_iter().flatten() {
        add(shape, &format!("{path}[]"), it);
    }
    for (name, it) in value.as_object().into_iter().flatten() {
        add(shape, &format!("{path}.{name}"), it);
    }
}

/// The header and the claims of a JSON Web Token.
fn jwt(text: &str) -> Option<Value> {
    let mut parts = text.splitn(3, '.').map(|it| URL_SAFE_NO_PAD.decode(it));
    let mut part = || serde_json::from_slice::<Value>(&parts.next()?.ok()?).ok();
    Some(json!({ "header": part()?, "claims": part()? }))
}

fn kind_of(name: &str, value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
        Value::String(text) => match text.as_str() {
            "" => "empty text",
            _ if name == "status" && text.parse::<u16>().is_ok() => text,
            // Google changes their order.
            _ if name == "scope" => return spelt(&sorted(text)),
            _ if WORDS["spelt"].contains(name) => return spelt(text),
            _ if WORDS["measured"].contains(name) => return format!("{} characters", text.len()),
            _ if text.contains(char::is_whitespace) => "text",
            _ if Url::parse(text).is_ok_and(|url| url.has_host()) => "URL",
            _ if text.contains('@') => "e-mail address",
            _ if text.parse::<u128>().is_ok() => "digits",
            _ => "text",
        },
    };
    kind.to_owned()
}

fn sorted(scopes: &str) -> String {
    let scopes: BTreeSet<_> = scopes.split(' ').collect();
    Vec::from_iter(scopes).join(" ")
}

/// The text in known words, without what ends a line or a cell of a table.
pub(super) fn spelt(text: &str) -> String {
    let is_mark = |it: char| !it.is_alphanumeric();
    let pieces = text.split_inclusive(is_mark).map(|piece| {
        let word = piece.trim_end_matches(is_mark);
        let mark = &piece[word.len()..];
        match (word.to_lowercase(), word.parse::<u64>()) {
            (known, _) if word.is_empty() || WORDS["words"].contains(&known) => piece.to_owned(),
            (_, Ok(0)) => format!("0{mark}"),
            (_, Ok(_)) => format!("N{mark}"),
            _ => format!("…{mark}"),
        }
    });
    let text: String = pieces.collect();
    format!("`{}`", text.replace(['\n', '\r', '|'], " "))
}
