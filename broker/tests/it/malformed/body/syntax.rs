//! Bodies that are no JSON, or no object, or have other members.

use serde_json::{Value, json};

use super::Body;
use crate::malformed::Rules;

const JSON: Rules = &["body.json"];
const TYPE: Rules = &["body.field_type"];
const MISSING: Rules = &["body.missing_field"];
const TWICE: Rules = &["body.duplicate_field"];
const UNKNOWN: Rules = &["body.unknown_field"];

pub(super) fn bodies(good: &Value) -> Vec<Body> {
    let text = good.to_string();
    let mut bodies = texts(good, &text);
    bodies.push((
        "UTF-16".into(),
        text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        JSON,
    ));
    bodies.push(("NULs".into(), vec![0; 64], JSON));
    bodies.push(("no text".into(), b"\xff\xfe{\0}\0".to_vec(), JSON));
    let id = good["client_id"].to_string();
    let mut invalid = text.replacen(&id, "\"\u{1}\"", 1).into_bytes();
    for byte in &mut invalid {
        if *byte == 1 {
            *byte = 0xFF;
        }
    }
    bodies.push(("invalid UTF-8".into(), invalid, JSON));
    for (name, value) in [
        ("a lone high surrogate", r#""\ud800""#),
        ("a lone low surrogate", r#""\udc00""#),
        ("surrogates in the wrong order", r#""\udc00\ud800""#),
        ("an unknown escape", r#""\x41""#),
        ("a cut escape", r#""\u00""#),
        ("a raw newline in a string", "\"a\nb\""),
        ("a raw NUL in a string", "\"\0\""),
        ("NaN in a field", "NaN"),
        ("Infinity in a field", "Infinity"),
        ("a number with a leading zero", "01"),
        ("a number too large", "1e999"),
        ("undefined in a field", "undefined"),
    ] {
        bodies.push((name.into(), text.replacen(&id, value, 1).into(), JSON));
    }
    bodies
}

fn texts(good: &Value, text: &str) -> Vec<Body> {
    let first = |insert: &str| text.replacen('{', &format!("{{{insert},"), 1);
    let deep = format!("\"x\":{}{}", "[".repeat(5_000), "]".repeat(5_000));
    [
        ("nothing", String::new(), JSON),
        ("white space", " \n\t".into(), JSON),
        ("null", "null".into(), JSON),
        ("true", "true".into(), JSON),
        ("a number", "0".into(), JSON),
        ("NaN", "NaN".into(), JSON),
        ("a string", "\"text\"".into(), JSON),
        ("an empty array", "[]".into(), JSON),
        ("an open brace", "{".into(), JSON),
        ("a closing brace", "}".into(), JSON),
        ("an empty object", "{}".into(), MISSING),
        ("a member without a value", "{\"client_id\"}".into(), JSON),
        ("an array around it", format!("[{text}]"), JSON),
        ("an array of the values", values_in_order(good), JSON),
        ("a string of it", json!(text).to_string(), JSON),
        ("the first half", text[..text.len() / 2].into(), JSON),
        (
            "all but the last brace",
            text[..text.len() - 1].into(),
            JSON,
        ),
        ("a byte order mark", format!("\u{feff}{text}"), JSON),
        ("a form feed before it", format!("\u{c}{text}"), JSON),
        ("a comment before it", format!("/**/{text}"), JSON),
        ("a comment after it", format!("{text}//"), JSON),
        ("a prefix against hijacking", format!(")]}}'\n{text}"), JSON),
        ("a letter after it", format!("{text}x"), JSON),
        ("a trailing brace", format!("{text}}}"), JSON),
        ("a trailing comma", format!("{text},"), JSON),
        ("a trailing NUL", format!("{text}\0"), JSON),
        ("a second object", format!("{text}{text}"), JSON),
        ("a second line", format!("{text}\n{text}"), JSON),
        (
            "a comma after the last field",
            text.replace('}', ",}"),
            JSON,
        ),
        ("two commas", text.replacen(',', ",,", 1), JSON),
        ("an equals sign", text.replacen(':', "=", 1), JSON),
        ("single quotes", text.replace('"', "'"), JSON),
        (
            "a bare name",
            text.replacen("\"client_id\"", "client_id", 1),
            JSON,
        ),
        ("a form", "client_id=x&client_secret=y".into(), JSON),
        ("XML", "<xml/>".into(), JSON),
        ("many open brackets", "[".repeat(20_000), JSON),
        ("many open objects", "{\"client_id\":".repeat(2_000), TYPE),
        ("a deep unknown field", first(&deep), UNKNOWN),
        ("an unknown field", first("\"x\":1"), UNKNOWN),
        ("an unknown null", first("\"x\":null"), UNKNOWN),
        ("an empty name", first("\"\":\"\""), UNKNOWN),
        ("__proto__", first("\"__proto__\":{}"), UNKNOWN),
        (
            "another case",
            text.replacen("client_id", "Client_id", 1),
            UNKNOWN,
        ),
        (
            "camel case",
            text.replacen("client_id", "clientId", 1),
            UNKNOWN,
        ),
        (
            "the same name, escaped",
            first(&format!("\"client\\u005fid\":{}", good["client_id"])),
            TWICE,
        ),
    ]
    .map(|(name, text, rules)| (name.to_owned(), text.into_bytes(), rules))
    .into()
}

/// The values alone, in the order of the specification's table: a lenient parser
/// takes that for the object.
fn values_in_order(good: &Value) -> String {
    const ORDER: [&str; 8] = [
        "grant_type",
        "client_id",
        "client_secret",
        "code",
        "session_key",
        "provider",
        "redirect_uri",
        "code_verifier",
    ];
    let values: Vec<_> = ORDER.iter().filter_map(|name| good.get(name)).collect();
    assert_eq!(
        values.len(),
        good.as_object().map_or(0, serde_json::Map::len)
    );
    json!(values).to_string()
}
