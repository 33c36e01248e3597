//! Every way in which a secret might be spelt.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use url::form_urlencoded::byte_serialize;

/// How a secret is spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Raw,
    /// As in a query.
    UrlEncoded,
    /// Two hexadecimal digits a byte, in small letters or capitals.
    Hex,
    /// Inside a text of base64 or base64url.
    Base64,
    /// The bytes that the secret spells in base64url.
    Decoded,
    /// The same in hexadecimal.
    DecodedHex,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "raw",
            Self::UrlEncoded => "url-encoded",
            Self::Hex => "in hex",
            Self::Base64 => "in base64",
            Self::Decoded => "decoded",
            Self::DecodedHex => "decoded, in hex",
        })
    }
}

/// Fewer bytes than these occur by chance, so nobody looks for them.
const SHORTEST_DECODED: usize = 16;

/// Every way in which `secret` might be spelt, as bytes, its own first.
#[must_use]
pub fn forms(secret: &str) -> Vec<(Form, Vec<u8>)> {
    let bytes = secret.as_bytes();
    let query: String = byte_serialize(bytes).collect();
    let mut forms = vec![
        (Form::Raw, bytes.to_vec()),
        (Form::UrlEncoded, query.into()),
        (Form::UrlEncoded, escaped(bytes).into()),
        (Form::Hex, hex(bytes).into()),
        (Form::Hex, hex(bytes).to_uppercase().into()),
    ];
    for shift in 0..3 {
        let engines = [STANDARD_NO_PAD, URL_SAFE_NO_PAD];
        forms.extend(engines.map(|engine| (Form::Base64, inside_base64(&engine, bytes, shift))));
    }
    let decoded = URL_SAFE_NO_PAD.decode(secret).unwrap_or_default();
    if decoded.len() >= SHORTEST_DECODED {
        let in_hex = hex(&decoded);
        forms.push((Form::DecodedHex, in_hex.to_uppercase().into()));
        forms.push((Form::DecodedHex, in_hex.into()));
        forms.push((Form::Decoded, decoded));
    }
    let mut first = Vec::new();
    forms.retain(|(_, spelt)| {
        let is_new = !first.contains(spelt);
        first.push(spelt.clone());
        is_new
    });
    forms
}

/// What all texts of base64 have in common that contain `bytes` after `shift` more
/// bytes (and any multiple of three).
fn inside_base64(engine: &impl base64::Engine, bytes: &[u8], shift: usize) -> Vec<u8> {
    let mut padded = vec![0; shift];
    padded.extend(bytes);
    let encoded = engine.encode(&padded);
    // The characters at either end depend on what stands beside the secret.
    let begin = [0, 2, 3][shift];
    let end = encoded.len() - usize::from(!padded.len().is_multiple_of(3));
    encoded.as_bytes()[begin..end].to_vec()
}

/// All but letters and digits escaped.
fn escaped(bytes: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        it if it.is_ascii_alphanumeric() => char::from(*it).to_string(),
        it => format!("%{it:02X}"),
    };
    bytes.iter().map(escape).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use crate::{MARK, Sentinel, suspicious};

    use super::*;

    const SECRET: &str = "planted-Secret_7/+ü=&%?";
    const KEY: &str = "QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9o";

    /// Spelt by other means than those that search.
    fn spellings(secret: &str) -> Vec<Vec<u8>> {
        let shifted = (0..3).flat_map(|shift| {
            let text = format!("{}{secret}behind", &"xyz"[..shift]);
            [STANDARD.encode(&text), URL_SAFE.encode(&text)]
        });
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("k", secret)
            .finish();
        let digits = secret.bytes().fold(String::new(), |text, byte| {
            let digit = |it: u8| char::from_digit(u32::from(it), 16).unwrap_or('?');
            text + &[digit(byte >> 4), digit(byte & 15)]
                .iter()
                .collect::<String>()
        });
        let mut spellings: Vec<Vec<u8>> = shifted.map(String::into_bytes).collect();
        spellings.extend([
            secret.into(),
            query.into(),
            digits.to_uppercase().into(),
            digits.into(),
        ]);
        spellings
    }

    #[test]
    fn a_secret_is_found_in_every_spelling_and_nothing_else_is() {
        let sentinel = Sentinel::over([("one", SECRET), ("key", KEY)]);
        for secret in [SECRET, KEY] {
            for spelt in spellings(secret) {
                let text = [b"before ", &*spelt, b" after"].concat();
                let shown = String::from_utf8_lossy(&text);
                assert_eq!(sentinel.search(&text).len(), 1, "{shown}");
            }
        }
        let decoded = URL_SAFE_NO_PAD.decode(KEY).expect("a key");
        let as_an_array = [b"in a file\0", &*decoded, b"\0"].concat();
        assert_eq!(sentinel.search(as_an_array)[0].form, Form::Decoded);
        assert!(sentinel.search("before after").is_empty());
        assert!(sentinel.search(SECRET.to_uppercase()).is_empty());
    }

    #[test]
    fn two_secrets_of_which_one_holds_the_other_are_both_found() {
        let sentinel = Sentinel::over([("token", KEY.to_owned()), ("whole", format!("fsi_{KEY}"))]);
        let leaks = sentinel.search(format!("Bearer fsi_{KEY}"));
        let mut found: Vec<_> = leaks.iter().map(|leak| &*leak.what).collect();
        found.sort_unstable();
        assert_eq!(found, ["token", "whole"]);
    }

    #[test]
    fn what_is_drawn_or_marked_is_suspicious_in_any_spelling_and_cut_off() {
        for spelt in spellings(KEY) {
            let text = String::from_utf8(spelt).expect("ASCII");
            assert!(suspicious(&text).is_some(), "{text}");
        }
        for spelt in spellings(&format!("{MARK}7")) {
            let text = String::from_utf8(spelt).expect("ASCII");
            assert!(suspicious(&text).is_some(), "{text}");
        }
        assert_eq!(suspicious("GET /callback/google 400 result.known"), None);
        assert_eq!(suspicious(&KEY[..42]), None);
        assert_eq!(suspicious(&"long".repeat(20)), None);
    }

    #[test]
    #[should_panic(expected = "too short")]
    fn what_would_be_found_everywhere_is_refused() {
        let _ = Sentinel::over([("nothing", "")]);
    }
}
