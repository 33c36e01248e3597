//! The corpus of malformed requests: each is a variant of one that is accepted, with the rule of
//! the contract by which a broker refuses it, so that any suite can play it against any broker.

use serde_json::{Value, json};

/// The header of a body of JSON.
const JSON: (&str, &str) = ("content-type", "application/json");

/// The fields of the specification's requests, in the order of its tables: a lenient parser
/// takes a list of values in this order for the object.
pub const FIELDS: &str =
    "grant_type client_id client_secret code session_key provider redirect_uri code_verifier";

/// A request body that is refused, and how.
#[derive(Debug, Clone)]
pub struct MalformedBody {
    /// The headers, which may repeat a name.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: Vec<u8>,
    /// The status of the refusal.
    pub status: u16,
    /// The id of the rule that refuses it.
    pub rule: &'static str,
}

/// Every malformed variant of `good`, a body that is accepted.
pub fn bodies(good: &Value) -> Vec<MalformedBody> {
    let text = good.to_string();
    let with_first = |member: &str| text.replacen('{', &format!("{{{member},"), 1);
    let twice = with_first(&format!(r#""client\u005fid":{}"#, good["client_id"]));
    let deep = format!(r#""x":{}{}"#, "[".repeat(5000), "]".repeat(5000));
    let unknown = r#""x":1 "x":null "":"" "__proto__":{}"#.split(' ');
    let unknown = unknown.chain([&*deep]).map(with_first);
    let renamed = ["Client_id", "clientId"].map(|name| text.replacen("client_id", name, 1));
    let texts = [
        ("body.json", no_json(good, &text)),
        ("body.missing_field", vec!["{}".to_owned()]),
        ("body.field_type", vec![r#"{"client_id":"#.repeat(2000)]),
        ("body.duplicate_field", vec![twice]),
        ("body.unknown_field", unknown.collect()),
        ("body.unknown_field", renamed.into()),
    ];
    let texts = texts.into_iter().flat_map(|(rule, texts)| {
        let texts = texts.into_iter().map(String::into_bytes);
        texts.map(move |body| (rule, body))
    });
    let no_texts = no_text(good, &text).map(|body| ("body.json", body));
    let of_json = texts.chain(no_texts).map(|(rule, body)| MalformedBody {
        headers: vec![JSON],
        body,
        status: 400,
        rule,
    });
    let unread = |rule, headers| MalformedBody {
        headers,
        body: text.clone().into_bytes(),
        status: 415,
        rule,
    };
    let media_types = media_types().map(|headers| unread("body.media_type", headers));
    let encodings = encodings().map(|headers| unread("body.encoding", headers));
    of_json.chain(media_types).chain(encodings).collect()
}

/// Bodies that have nothing of the accepted one.
const OTHERS: &str =
    r#"null true 0 NaN "text" [] { } {"client_id"} client_id=x&client_secret=y <xml/>"#;

/// No values of JSON: surrogates alone and swapped, bad escapes, and numbers and words of
/// JavaScript.
const NO_VALUES: &str =
    r#""\ud800" "\udc00" "\udc00\ud800" "\x41" "\u00" NaN Infinity 01 1e999 undefined"#;

/// The texts that are no JSON, or no object.
fn no_json(good: &Value, text: &str) -> Vec<String> {
    let before = ["\u{feff}", "\u{c}", "/**/", ")]}}'\n"];
    let after = ["//", "x", "}", ",", "\0", text, &format!("\n{text}")];
    let replaced = [
        ("}", ",}"),
        (",", ",,"),
        (":", "="),
        ("\"client_id\"", "client_id"),
    ];
    let values: Vec<_> = FIELDS.split(' ').filter_map(|it| good.get(it)).collect();
    let changed = [
        String::new(),
        " \n\t".to_owned(),
        format!("[{text}]"),
        json!(values).to_string(),
        json!(text).to_string(),
        text[..text.len() / 2].to_owned(),
        text[..text.len() - 1].to_owned(),
        text.replace('"', "'"),
        "[".repeat(20_000),
    ];
    let id = good["client_id"].to_string();
    let no_values = NO_VALUES.split(' ').chain(["\"a\nb\"", "\"\0\""]);
    let others = OTHERS.split(' ').map(str::to_owned);
    let all = others.chain(changed);
    let all = all.chain(before.map(|it| format!("{it}{text}")));
    let all = all.chain(after.map(|it| format!("{text}{it}")));
    let all = all.chain(replaced.map(|(from, to)| text.replacen(from, to, 1)));
    let all = all.chain(no_values.map(|other| text.replacen(&id, other, 1)));
    all.collect()
}

/// The bodies that are no UTF-8.
fn no_text(good: &Value, text: &str) -> impl Iterator<Item = Vec<u8>> {
    let (before, after) = text
        .split_once(&good["client_id"].to_string())
        .expect("a body has a client");
    [
        text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        vec![0; 64],
        b"\xff\xfe{\0}\0".to_vec(),
        [before.as_bytes(), b"\"\xff\"", after.as_bytes()].concat(),
    ]
    .into_iter()
}

type Headers = Vec<(&'static str, &'static str)>;

/// The media types that are not JSON's.
const MEDIA_TYPES: &str = "text/plain
text/json
application/x-www-form-urlencoded
multipart/form-data; boundary=x
application/json5
application/jsonp
application/ld+json
application/vnd.api+json
application/*
*/*
json
;application/json
application/json, application/json
application/json, text/plain
application/json charset=utf-8";

/// Headers with another media type, with several, or with none.
fn media_types() -> impl Iterator<Item = Headers> {
    let others = MEDIA_TYPES.lines().chain([""]);
    let alone = others.map(|it| vec![(JSON.0, it)]);
    let twice = [JSON.1, "text/plain", ""].map(|second| vec![JSON, (JSON.0, second)]);
    let last = [vec![(JSON.0, "text/plain"), JSON], Vec::new()];
    alone.chain(twice).chain(last)
}

/// A body is never decoded, so one that is marked as encoded is not what it says.
fn encodings() -> impl Iterator<Item = Headers> {
    let encoding = |it| ("content-encoding", it);
    let alone = ["gzip", "GZIP", "br", "x-unknown", "gzip, identity"];
    let alone = alone.map(|it| vec![JSON, encoding(it)]).into_iter();
    alone.chain([vec![JSON, encoding("identity"), encoding("gzip")]])
}

/// Addresses that resemble a registered callback, in terms of it and its parts. `{shorter}` is
/// all of it but its last character, `{last}` that one, escaped.
const CALLBACKS: &str = r"
{callback}/ {callback}? {callback}?x=1 {callback}# {callback}#x {callback}/more {callback}//
{callback}/.. {callback}%00 {callback}%20 {callback};x {callback}2 https://evil.example/{callback}
{scheme}://{authority} {scheme}://{authority}/ {scheme}://{authority}//{path}
{scheme}://{authority}/./{path} {scheme}://{authority}/x/../{path} {scheme}://{authority}/{path}%2F
{scheme}:\\{authority}\{path} {scheme}:/{authority}/{path} //{authority}/{path} /{path}
{scheme}://www.{authority}/{path} {scheme}://{host}:08443/{path} {scheme}://{host}:8443/{path}
{scheme}://ada@{authority}/{path} {scheme}://ada:pass@{authority}/{path}
{scheme}://@{authority}/{path} {scheme}://{authority}@evil.example/{path}
{scheme}://{host}.evil.example/{path} {scheme}://evil.example/{path} {scheme}://127.0.0.1/{path}
{scheme}://127.1/{path} {scheme}://[::1]/{path} javascript:alert(1) data:text/html,x
{shorter} {shorter}{last} {scheme}://{authority}/{upper_path} {scheme}://{upper_authority}/{path}
{scheme}://{host}.{port}/{path} {upper_scheme}://{authority}/{path} {other_scheme}://{authority}/{path}";

/// Addresses that resemble `callback`, a registered one that has a path.
///
/// # Panics
///
/// If it has none.
pub fn callbacks(callback: &str) -> Vec<String> {
    let (scheme, rest) = callback.split_once("://").expect("an address");
    let (authority, path) = rest.split_once('/').expect("a path");
    let host = authority.split(':').next().unwrap_or(authority);
    let (shorter, last) = callback.split_at(callback.len() - 1);
    let parts = [
        ("{callback}", callback),
        ("{shorter}", shorter),
        ("{last}", &format!("%{:02x}", last.as_bytes()[0])),
        (
            "{other_scheme}",
            if scheme == "http" { "https" } else { "http" },
        ),
        ("{upper_scheme}", &scheme.to_uppercase()),
        ("{upper_authority}", &authority.to_uppercase()),
        ("{upper_path}", &path.to_uppercase()),
        ("{port}", &authority[host.len()..]),
        ("{scheme}", scheme),
        ("{authority}", authority),
        ("{host}", host),
        ("{path}", path),
    ];
    let filled = |row: &str| {
        let parts = parts.iter();
        parts.fold(row.to_owned(), |row, (part, text)| row.replace(part, text))
    };
    let others = [
        String::new(),
        callback.to_owned() + &"x".repeat(2048),
        format!(" {callback}"),
        format!("{callback} "),
        format!("{callback}\n"),
        format!("{scheme}://{authority}/\t{path}"),
    ];
    let resembling = CALLBACKS.split_whitespace().map(filled);
    resembling.chain(others).collect()
}
