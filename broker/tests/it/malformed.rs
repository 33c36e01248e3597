//! The corpus of malformed requests: plain data, and its reader. Each row says by which rule
//! a broker refuses it, so that any suite can play it against any broker.

use serde_json::{Value, json};

const BODIES: &str = include_str!("malformed/bodies.txt");
const CALLBACKS: &str = include_str!("malformed/callbacks.txt");

/// The header of a body of JSON.
const JSON: (&str, &str) = ("content-type", "application/json");

/// The order of the fields in the specification's tables: a lenient parser takes a list of
/// values in this order for the object.
const FIELDS: &str =
    "grant_type client_id client_secret code session_key provider redirect_uri code_verifier";

/// A request body that is refused, and how.
pub(crate) struct MalformedBody {
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: Vec<u8>,
    pub(crate) status: u16,
    /// The rule that refuses it, as the audit log names it.
    pub(crate) rule: &'static str,
}

/// Every malformed variant of a body that is accepted.
pub(crate) fn bodies(good: &Value) -> Vec<MalformedBody> {
    let words = words(good);
    let mut section = "";
    let mut bodies = Vec::new();
    for line in rows(BODIES) {
        match line.strip_prefix("== ") {
            Some(head) => section = head,
            None => bodies.push(body(section, line, &words)),
        }
    }
    bodies
}

/// The lines of a file, without comments.
fn rows(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Reads a row of a section: `400 body.json body`, or `415 body.encoding headers`.
fn body(section: &'static str, row: &'static str, words: &[Word]) -> MalformedBody {
    let [status, rule, what] = section.split(' ').collect::<Vec<_>>()[..] else {
        panic!("a section has a status, a rule and a kind: {section}");
    };
    let (headers, body) = match what {
        "headers" => (headers(row), "GOOD"),
        _ => (vec![JSON], row),
    };
    MalformedBody {
        headers,
        body: bytes(&changed(body, words)),
        status: status.parse().unwrap(),
        rule,
    }
}

fn headers(row: &'static str) -> Vec<(&'static str, &'static str)> {
    let all = row.split(" & ").filter_map(|header| header.split_once(':'));
    all.map(|(name, value)| (name, value.trim())).collect()
}

/// A word of a row, and the text that it stands for.
type Word = (&'static str, String);

fn words(good: &Value) -> Vec<Word> {
    let text = good.to_string();
    let values: Vec<_> = FIELDS.split(' ').filter_map(|it| good.get(it)).collect();
    assert_eq!(values.len(), good.as_object().unwrap().len());
    let utf16 = text.encode_utf16().flat_map(u16::to_le_bytes).map(raw);
    [
        ("HALF", text[..text.len() / 2].to_owned()),
        ("UNCLOSED", text[..text.len() - 1].to_owned()),
        ("ID", good["client_id"].to_string()),
        ("QUOTED", json!(text).to_string()),
        ("VALUES", json!(values).to_string()),
        ("UTF16", utf16.collect()),
        ("EMPTY", String::new()),
        ("GOOD", text),
    ]
    .into_iter()
    .chain(ESCAPES.map(|(escape, c)| (escape, c.to_string())))
    .collect()
}

const ESCAPES: [(&str, char); 9] = [
    (r"\\", '\\'),
    (r"\s", ' '),
    (r"\n", '\n'),
    (r"\t", '\t'),
    (r"\0", '\0'),
    (r"\u{c}", '\u{c}'),
    (r"\u{feff}", '\u{feff}'),
    (r"\xfe", raw(0xFE)),
    (r"\xff", raw(0xFF)),
];

/// Stands for a byte that may be no UTF-8, until the row is filled.
const RAW: u32 = 0xF_0000;

const fn raw(byte: u8) -> char {
    char::from_u32(RAW + byte as u32).expect("it is for private use")
}

fn bytes(filled: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for c in filled.chars() {
        match u8::try_from((c as u32).wrapping_sub(RAW)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(c.to_string().as_bytes()),
        }
    }
    bytes
}

/// Fills a row, and changes it as it says.
fn changed(row: &str, words: &[Word]) -> String {
    let Some((whole, change)) = row.split_once(" with ") else {
        return filled(row, words);
    };
    let (from, to) = change.split_once(" => ").unwrap();
    let (from, times) = match from.strip_prefix("every ") {
        Some(from) => (from, usize::MAX),
        None => (from, 1),
    };
    let (whole, from) = (filled(whole, words), filled(from, words));
    assert!(whole.contains(&from), "{row} changes nothing");
    whole.replacen(&from, &filled(to, words), times)
}

/// Fills in the words of a row. What a word stands for has no words of its own.
fn filled(row: &str, words: &[Word]) -> String {
    let row = repeated(row);
    let mut filled = String::new();
    let mut rest = row.as_str();
    while let Some(c) = rest.chars().next() {
        let word = words.iter().find(|(word, _)| rest.starts_with(word));
        match word {
            Some((word, text)) => {
                filled += text;
                rest = &rest[word.len()..];
            }
            None => {
                filled.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    filled
}

/// `(A)*3` becomes `AAA`.
fn repeated(row: &str) -> String {
    let mut all = String::new();
    let mut rest = row;
    while let Some((before, group)) = rest.split_once('(')
        && let Some((part, after)) = group.split_once(")*")
    {
        let end = after.find(|c: char| !c.is_ascii_digit());
        let (times, after) = after.split_at(end.unwrap_or(after.len()));
        all += before;
        all += &part.repeat(times.parse().unwrap());
        rest = after;
    }
    all + rest
}

/// Addresses that resemble a registered callback, which has a path.
pub(crate) fn callbacks(callback: &str) -> Vec<String> {
    let (scheme, rest) = callback.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let host = authority.split(':').next().unwrap();
    let other_scheme = if scheme == "http" { "https" } else { "http" };
    let (shorter, last) = callback.split_at(callback.len() - 1);
    let words = [
        ("CALLBACK", callback.to_owned()),
        ("SHORTER", shorter.to_owned()),
        ("LAST", format!("%{:02x}", last.as_bytes()[0])),
        ("OTHER_SCHEME", other_scheme.to_owned()),
        ("UPPER_SCHEME", scheme.to_uppercase()),
        ("UPPER_AUTHORITY", authority.to_uppercase()),
        ("UPPER_PATH", path.to_uppercase()),
        ("PORT", authority[host.len()..].to_owned()),
        ("SCHEME", scheme.to_owned()),
        ("AUTHORITY", authority.to_owned()),
        ("HOST", host.to_owned()),
        ("PATH", path.to_owned()),
        (r"\s", " ".to_owned()),
        (r"\n", "\n".to_owned()),
        (r"\t", "\t".to_owned()),
    ];
    let rows = rows(CALLBACKS).flat_map(str::split_whitespace);
    let addresses = rows.map(|row| filled(row, &words));
    addresses.chain([String::new()]).collect()
}
