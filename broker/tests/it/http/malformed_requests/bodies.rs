//! Malformed bodies of JSON, and bodies that are declared as something else.

use serde_json::{Value, json};

use crate::http::authorize::near_misses;

/// The rules by which a body may be refused, as the audit log names them.
type Rules = &'static [&'static str];

/// A body that is refused, and how.
pub(super) struct MalformedBody {
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: Vec<u8>,
    pub(super) status: u16,
    pub(super) rules: Rules,
}

const JSON: Rules = &["body.json"];
const MEDIA_TYPE: Rules = &["body.media_type"];
const UNKNOWN: Rules = &["body.unknown_field"];

/// A callback may be malformed, unregistered, or another one than before.
const CALLBACK: Rules = &[
    "redirect_uri.shape",
    "redirect_uri.canonical",
    "redirect_uri.registered",
    "result.callback",
    "code.callback",
];

/// Every malformed variant of an object that is accepted.
pub(super) fn malformed(good: &Value) -> Vec<MalformedBody> {
    let (text, json) = (good.to_string(), ("content-type", "application/json"));
    let bodies = [no_json(good), no_text(good), other_members(good)].concat();
    let bodies = bodies.into_iter().map(|(body, rules)| MalformedBody {
        headers: vec![json],
        body,
        status: 400,
        rules,
    });
    let types = MEDIA_TYPES.split(" | ").map(|it| vec![it]);
    let types = types.chain(CONTENT_TYPES.map(<[_]>::to_vec));
    let declared = types.map(|values| (named("content-type", &values), MEDIA_TYPE));
    let encoded = ENCODINGS.iter().map(|values| {
        let encoding = named("content-encoding", values);
        ([vec![json], encoding].concat(), &["body.encoding"][..])
    });
    let declared = declared
        .chain(encoded)
        .map(|(headers, rules)| MalformedBody {
            headers,
            body: text.clone().into(),
            status: 415,
            rules,
        });
    bodies.chain(declared).collect()
}

fn named(name: &'static str, values: &[&'static str]) -> Vec<(&'static str, &'static str)> {
    values.iter().map(|value| (name, *value)).collect()
}

/// Media types that are not, or not alone, the one of JSON.
const MEDIA_TYPES: &str = "text/plain | text/json | application/x-www-form-urlencoded | \
    multipart/form-data; boundary=x | application/json5 | application/jsonp | \
    application/ld+json | application/vnd.api+json | application/* | */* | json | \
    ;application/json | application/json, application/json | application/json, text/plain | \
    application/json charset=utf-8";

/// No such header, an empty one, and two.
const CONTENT_TYPES: [&[&str]; 6] = [
    &[],
    &[""],
    &["application/json", "application/json"],
    &["application/json", "text/plain"],
    &["text/plain", "application/json"],
    &["application/json", ""],
];

/// A body is never decoded, so one that is marked as encoded is not what it says.
const ENCODINGS: [&[&str]; 6] = [
    &["gzip"],
    &["GZIP"],
    &["br"],
    &["x-unknown"],
    &["gzip, identity"],
    &["identity", "gzip"],
];

/// What JSON has not, in the place of a field's value: lone and swapped surrogates, bad
/// escapes, raw control characters, and numbers and words of JavaScript.
const NO_VALUES: [&str; 12] = [
    r#""\ud800""#,
    r#""\udc00""#,
    r#""\udc00\ud800""#,
    r#""\x41""#,
    r#""\u00""#,
    "\"a\nb\"",
    "\"\0\"",
    "NaN",
    "Infinity",
    "01",
    "1e999",
    "undefined",
];

/// Texts that are no JSON, or no object.
fn no_json(good: &Value) -> Vec<(Vec<u8>, Rules)> {
    let (text, id) = (good.to_string(), good["client_id"].to_string());
    let apart = [
        "",
        " \n\t",
        "null",
        "true",
        "0",
        "NaN",
        "\"text\"",
        "[]",
        "{",
        "}",
        "{\"client_id\"}",
        "client_id=x&client_secret=y",
        "<xml/>",
    ];
    let changed = [
        format!("[{text}]"),
        values_in_order(good),
        json!(text).to_string(),
        text[..text.len() / 2].to_owned(),
        text[..text.len() - 1].to_owned(),
        format!("\u{feff}{text}"),
        format!("\u{c}{text}"),
        format!("/**/{text}"),
        format!("{text}//"),
        format!(")]}}'\n{text}"),
        format!("{text}x"),
        format!("{text}}}"),
        format!("{text},"),
        format!("{text}\0"),
        format!("{text}{text}"),
        format!("{text}\n{text}"),
        text.replace('}', ",}"),
        text.replacen(',', ",,", 1),
        text.replacen(':', "=", 1),
        text.replace('"', "'"),
        text.replacen("\"client_id\"", "client_id", 1),
        "[".repeat(20_000),
    ];
    let valued = NO_VALUES.map(|value| text.replacen(&id, value, 1));
    let texts = apart
        .map(str::to_owned)
        .into_iter()
        .chain(changed)
        .chain(valued);
    texts.map(|text| (text.into_bytes(), JSON)).collect()
}

/// The values alone, in the order of the specification's table: a lenient parser
/// takes that for the object.
fn values_in_order(good: &Value) -> String {
    let order = "grant_type client_id client_secret code session_key provider redirect_uri \
                 code_verifier";
    let values: Vec<_> = order.split(' ').filter_map(|name| good.get(name)).collect();
    assert_eq!(values.len(), good.as_object().unwrap().len());
    json!(values).to_string()
}

/// Bytes that are no UTF-8.
fn no_text(good: &Value) -> Vec<(Vec<u8>, Rules)> {
    let (text, id) = (good.to_string(), good["client_id"].to_string());
    let utf16 = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (before, after) = text.split_once(&id).unwrap();
    let invalid = [before.as_bytes(), b"\"\xFF\"", after.as_bytes()].concat();
    let all = [utf16, vec![0; 64], b"\xff\xfe{\0}\0".to_vec(), invalid];
    all.map(|bytes| (bytes, JSON)).into()
}

/// Objects with other members, and with another callback.
fn other_members(good: &Value) -> Vec<(Vec<u8>, Rules)> {
    let text = good.to_string();
    let first = |insert: &str| text.replacen('{', &format!("{{{insert},"), 1);
    let deep = format!("\"x\":{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let again = format!("\"client\\u005fid\":{}", good["client_id"]);
    let types = "{\"client_id\":".repeat(2_000);
    let objects: [(String, Rules); 10] = [
        ("{}".to_owned(), &["body.missing_field"]),
        (types, &["body.field_type"]),
        (first(&again), &["body.duplicate_field"]),
        (first(&deep), UNKNOWN),
        (first("\"x\":1"), UNKNOWN),
        (first("\"x\":null"), UNKNOWN),
        (first("\"\":\"\""), UNKNOWN),
        (first("\"__proto__\":{}"), UNKNOWN),
        (text.replacen("client_id", "Client_id", 1), UNKNOWN),
        (text.replacen("client_id", "clientId", 1), UNKNOWN),
    ];
    let misses = near_misses(good["redirect_uri"].as_str().unwrap());
    let misses = misses.into_iter().map(|miss| {
        let mut body = good.clone();
        body["redirect_uri"] = miss.into();
        (body.to_string(), CALLBACK)
    });
    let all = objects.into_iter().chain(misses);
    all.map(|(text, rules)| (text.into_bytes(), rules))
        .collect()
}
