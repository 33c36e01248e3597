//! Recognises unknown secrets by their shape.
//!
//! The values that our programs draw are base64url of 32 bytes, those that a test
//! chooses begin with [`MARK`], and a provider's tokens have a prefix of their own. The
//! rest is recognised by how random a word is. A drawn value that was cut to 20
//! characters is missed about once in twenty times, a longer one hardly ever.

use std::collections::HashSet;
use std::sync::LazyLock;

use agent::secrets::{CUT_SHORT, CUT_SHORT_BYTES, LeakCheck};
use percent_encoding::percent_decode_str;

/// The prefix of the secrets that a test chooses, so that they are recognised although
/// they are cut off. All its characters are of base64url.
pub const MARK: &str = "LeakMark";

/// The number of characters of base64url in 32 bytes.
const DRAWN: usize = 43;

/// Of 43 characters that are drawn from 64 no fewer are different, except once in
/// more runs than there will ever be; nor of the hexadecimal digits of that many.
const LEAST_VARIETY: usize = 8;

/// The prefix of a project's `client_id`, which is drawn, too, and may be shown.
const PUBLIC: &str = "prj_";

/// The prefixes of the tokens, codes and secrets of Google and GitHub, and of a JWT.
const PROVIDER_SECRET_PREFIXES: [&str; 9] = [
    "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "ya29.", "1//0", "GOCSPX-", "eyJ",
];

/// The members of JSON bodies whose values are secrets, whatever their shape.
const MEMBERS: [&str; 6] = [
    "access_token",
    "client_secret",
    "code_verifier",
    "id_token",
    "refresh_token",
    "session_key",
];

static MARKS: LazyLock<LeakCheck> = LazyLock::new(|| LeakCheck::over([("mark", MARK)]));

/// The first part of `text` that must be a secret: see this module.
#[must_use]
pub fn suspicious(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8_lossy();
    part(text).or_else(|| part(&decoded)).map(ToOwned::to_owned)
}

/// The words of `text` that are at least as long and as varied as the values that our
/// programs draw. In hexadecimal or in base64 those are longer still.
pub fn drawn(text: &str) -> impl Iterator<Item = &str> {
    base64url(text).filter(|word| word.len() >= DRAWN && variety(word.bytes()) >= LEAST_VARIETY)
}

fn part(text: &str) -> Option<&str> {
    drawn(text)
        .next()
        .or_else(|| marked(text))
        .or_else(|| base64url(text).find(|word| !word.starts_with(PUBLIC) && is_cut_short(word)))
        .or_else(|| provider_token(text))
        .or_else(|| base64(text))
        .or_else(|| bytes(text))
        .or_else(|| member(text))
}

fn marked(text: &str) -> Option<&str> {
    let range = MARKS.first(text.as_bytes())?;
    text.get(range)
}

fn base64url(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
}

/// Whether a part of `word` is as random as the beginning of a drawn value.
fn is_cut_short(word: &str) -> bool {
    let mut windows = word.as_bytes().windows(CUT_SHORT);
    windows.any(|window| is_random(window) && variety(window.iter().copied()) >= LEAST_VARIETY)
}

/// Whether capitals, small letters and digits follow each other at random, which
/// they do not in names, however many humps those have.
fn is_random(window: &[u8]) -> bool {
    let count = |is_it: fn(&u8) -> bool| window.iter().filter(|byte| is_it(byte)).count();
    let changes = window
        .windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]));
    let least = match count(u8::is_ascii_digit) {
        0 => window.len() * 11 / CUT_SHORT,
        _ => window.len() * 9 / CUT_SHORT,
    };
    count(u8::is_ascii_uppercase) >= 2
        && count(u8::is_ascii_lowercase) >= 2
        && changes.count() >= least
}

fn kind(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    }
}

/// A word that begins like a provider's token and goes on for a while.
fn provider_token(text: &str) -> Option<&str> {
    let is_of_a_token = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let mut words = text.split(|c: char| !is_of_a_token(c));
    words.find(|word| {
        let begins = PROVIDER_SECRET_PREFIXES
            .iter()
            .any(|beginning| word.starts_with(beginning));
        begins && word.len() >= CUT_SHORT
    })
}

/// A word of standard base64 that no path is: a drawn value's own bytes.
fn base64(text: &str) -> Option<&str> {
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '+' || c == '/'));
    words.find(|word| word.len() >= DRAWN - 3 && is_random(word.as_bytes()))
}

/// A list of numbers that are a drawn value's own bytes: `[12, 200, …]`.
fn bytes(text: &str) -> Option<&str> {
    let mut lists = text.split(|c: char| !(c.is_ascii_digit() || c == ',' || c == ' '));
    lists.find(|list| {
        let numbers = list.split(',').map_while(|it| it.trim().parse::<u8>().ok());
        let numbers: Vec<_> = numbers.collect();
        numbers.len() >= CUT_SHORT_BYTES && variety(numbers) >= LEAST_VARIETY
    })
}

/// A JSON body, also one that is quoted itself, from its first secret's name on.
fn member(text: &str) -> Option<&str> {
    MEMBERS.iter().find_map(|name| {
        let mut places = text.match_indices(name);
        places.find_map(|(start, _)| {
            let rest = text[start + name.len()..].trim_start_matches('\\');
            let value = rest.strip_prefix('"')?.trim_start().strip_prefix(':')?;
            let value = value
                .trim_start()
                .trim_start_matches('\\')
                .strip_prefix('"')?;
            // What is masked is in brackets.
            let is_shown = !value.starts_with(['"', '\\', '[']);
            is_shown.then(|| &text[start..])
        })
    })
}

/// The number of different items.
fn variety(items: impl IntoIterator<Item = u8>) -> usize {
    items.into_iter().collect::<HashSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};

    use super::*;

    const KEY: &str = "QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9o";

    fn raw() -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(KEY).expect("a key")
    }

    #[track_caller]
    fn is_found(spelt: &str) {
        for text in [
            spelt.to_owned(),
            format!("a line with {spelt} inside"),
            format!("{{\"message\":\"{spelt}\"}}"),
            format!("https://app.example/cb/{spelt}?a=b"),
        ] {
            assert!(suspicious(&text).is_some(), "{text}");
        }
    }

    // Threats: A15.
    #[test]
    fn a_secret_is_found_in_every_spelling() {
        let hex: String = raw().iter().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
        // Bytes whose standard base64 has both of its own characters.
        let bytes = (0..32).map(|n: u8| n.wrapping_mul(197).wrapping_add(251));
        let bytes: Vec<u8> = bytes.collect();
        let standard = STANDARD.encode(&bytes);
        assert!(standard.contains('+') && standard.contains('/'));
        for length in CUT_SHORT..=KEY.len() {
            is_found(&KEY[..length]);
        }
        for spelt in [
            format!("fsi_{}", &KEY[..CUT_SHORT]),
            hex.to_uppercase(),
            hex,
            standard,
            URL_SAFE.encode(&bytes),
            STANDARD.encode(KEY),
            format!("{:?}", raw()),
            format!("{:?}", &raw()[..CUT_SHORT_BYTES]),
            format!("{:?}", raw()).replace(' ', ""),
            percent.to_lowercase(),
            percent,
            // What a test marked, however short.
            MARK.to_owned(),
            STANDARD.encode(format!("{MARK}-Qx")),
            format!("{:?}", format!("{MARK}7").as_bytes()),
            // Tokens of the providers.
            format!("token gho_{} of", "a".repeat(36)),
            format!("token ya29.{} of", "a".repeat(36)),
            "token GOCSPX-aaaaaaaaaaaaaaaaaaaaaaaaaaaa of".to_owned(),
            "token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.aaaa of".to_owned(),
        ] {
            is_found(&spelt);
        }
        // Members that hold one, whatever it is.
        for body in [
            r#"{"client_id":"a","client_secret":"dev"}"#,
            r#"{ "session_key" : "short" }"#,
            r#"body="{\"client_secret\":\"dev\"}""#,
            r#"{\n  \"access_token\": \"x\"}"#,
        ] {
            assert!(suspicious(body).is_some(), "{body}");
        }
    }

    #[test]
    fn ordinary_lines_are_not() {
        for text in [
            "2026-11-22T04:10:54.123456Z  INFO audit: a step request_id=\"QxZ7vK2mW9pL4tR8\" \
             login=\"QxZ7vK2mW9pL\" operation=\"POST /v1/login/session\" status=200",
            "project=\"prj_QxZ7vK2mW9pL4tR8sB3nF6\"",
            "TRACE tokio-runtime-worker hyper::proto::h1::conn: Conn::read_head",
            "GET /callback/google 400 result.known",
            "unknown field: client_secret: ClientSecret([redacted])",
            r#"{"client_secret":{"type":"string"},"session_key":"[masked 12345678]"}"#,
            "/home/ada/.cargo/registry/src/1949cf8c6b5b557f/hyper-1.12.0/src/lib.rs",
            "broker/tests/it/http/router.rs DigitallySignedStruct TLS13_AES_256_GCM_SHA384 Http1ConnectionBuilder",
            "[200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200]",
            "7b3a9c00-1f2e-4d5c-8b6a-112233445566 d41d8cd98f00b204e9800998ecf8427e",
        ] {
            assert_eq!(suspicious(text), None);
        }
        assert_eq!(suspicious(&"long".repeat(20)), None);
    }
}
