//! The spellings of a secret, and the search for known secrets in all of them.

use std::fmt;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use url::form_urlencoded::byte_serialize;

/// The least number of characters by which a part of a secret gives it away, and the
/// least number of its bytes.
pub(super) const CUT_SHORT: usize = 20;
pub(super) const CUT_SHORT_BYTES: usize = 15;

/// A search for some secrets, in every spelling.
#[derive(Debug)]
pub struct LeakCheck {
    secrets: Vec<String>,
    /// Of each needle: the index of its secret in `secrets`, and its spelling.
    needles: Vec<(usize, Form)>,
    automaton: AhoCorasick,
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The index of the secret among those that were given.
    pub secret: usize,
    /// The name of the secret, as it was given.
    pub what: String,
    /// The spelling.
    pub form: Form,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.what, self.form)
    }
}

impl LeakCheck {
    /// A search for these secrets, each with its name.
    ///
    /// # Panics
    ///
    /// If a secret is so short that it occurs in random data, or if there are more of them
    /// than memory holds.
    pub fn over<W: Into<String>, S: AsRef<str>>(secrets: impl IntoIterator<Item = (W, S)>) -> Self {
        let mut sought: Vec<Vec<u8>> = Vec::new();
        let mut needles = Vec::new();
        let mut names = Vec::new();
        for (what, secret) in secrets {
            let (what, secret) = (what.into(), secret.as_ref());
            assert!(secret.len() >= 4, "{what} is too short to be searched for");
            for (form, spelt) in forms(secret) {
                sought.push(spelt);
                needles.push((names.len(), form));
            }
            names.push(what);
        }
        Self {
            secrets: names,
            needles,
            automaton: AhoCorasick::new(sought).expect("they fit into memory"),
        }
    }

    /// The number of secrets.
    #[must_use]
    pub fn secrets(&self) -> usize {
        self.secrets.len()
    }

    /// The secrets in `written`, each once, in the first spelling that is found.
    pub fn search(&self, written: impl AsRef<[u8]>) -> Vec<Leak> {
        let mut leaks: Vec<Leak> = Vec::new();
        for found in self.automaton.find_overlapping_iter(written.as_ref()) {
            let (secret, form) = self.needles[found.pattern().as_usize()];
            if leaks.iter().all(|leak| leak.secret != secret) {
                let what = self.secrets[secret].clone();
                leaks.push(Leak { secret, what, form });
            }
        }
        leaks
    }

    /// The position of the first of the secrets.
    pub(super) fn first(&self, written: &[u8]) -> Option<Range<usize>> {
        Some(self.automaton.find(written)?.range())
    }
}

/// A spelling of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Unchanged.
    Raw,
    /// As in a query.
    UrlEncoded,
    /// Two hexadecimal digits a byte, in small letters or capitals.
    Hex,
    /// Inside a text of base64 or base64url.
    Base64,
    /// A list of its bytes, as numbers.
    Numbers,
    /// The bytes that the secret spells in base64url.
    Decoded,
    /// The same in hexadecimal.
    DecodedHex,
    /// The same inside a text of base64 or base64url.
    DecodedBase64,
    /// The same as a list of numbers.
    DecodedNumbers,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "raw",
            Self::UrlEncoded => "url-encoded",
            Self::Hex => "in hex",
            Self::Base64 => "in base64",
            Self::Numbers => "as numbers",
            Self::Decoded => "decoded",
            Self::DecodedHex => "decoded, in hex",
            Self::DecodedBase64 => "decoded, in base64",
            Self::DecodedNumbers => "decoded, as numbers",
        })
    }
}

/// The least number of bytes that do not occur at random.
const SHORTEST_DECODED: usize = 16;

/// Every spelling of `secret`, as bytes, the unchanged one first. Of a long secret only
/// the beginning is spelt: a leak may be cut short.
#[must_use]
pub fn forms(secret: &str) -> Vec<(Form, Vec<u8>)> {
    let bytes = beginning(secret.as_bytes(), CUT_SHORT);
    let query: String = byte_serialize(bytes).collect();
    let mut forms = vec![
        (Form::Raw, bytes.to_vec()),
        (Form::UrlEncoded, query.into()),
        (Form::UrlEncoded, escaped(bytes).into()),
        (Form::UrlEncoded, percent_encoded(bytes).into()),
        (
            Form::UrlEncoded,
            percent_encoded(bytes).to_lowercase().into(),
        ),
    ];
    let in_either = [Form::Hex, Form::Base64, Form::Numbers];
    forms.extend(of_bytes(bytes, in_either));
    let decoded = URL_SAFE_NO_PAD.decode(secret).unwrap_or_default();
    if decoded.len() >= SHORTEST_DECODED {
        let decoded = beginning(&decoded, CUT_SHORT_BYTES);
        let in_either = [Form::DecodedHex, Form::DecodedBase64, Form::DecodedNumbers];
        forms.extend(of_bytes(decoded, in_either));
        forms.push((Form::Decoded, decoded.to_vec()));
    }
    let mut first = Vec::new();
    forms.retain(|(_, spelt)| {
        let is_new = !first.contains(spelt);
        first.push(spelt.clone());
        is_new
    });
    forms
}

fn beginning(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..bytes.len().min(most)]
}

/// The spellings of any bytes.
fn of_bytes(bytes: &[u8], [in_hex, in_base64, as_numbers]: [Form; 3]) -> Vec<(Form, Vec<u8>)> {
    let numbers = format!("{bytes:?}");
    let numbers = numbers.trim_matches(['[', ']']);
    let mut spelt = vec![
        (in_hex, hex(bytes).into()),
        (in_hex, hex(bytes).to_uppercase().into()),
        (as_numbers, numbers.into()),
        (as_numbers, numbers.replace(' ', "").into()),
    ];
    for shift in 0..3 {
        let engines = [STANDARD_NO_PAD, URL_SAFE_NO_PAD];
        spelt.extend(engines.map(|engine| (in_base64, inside_base64(&engine, bytes, shift))));
    }
    spelt
}

/// The common part of all texts of base64 that contain `bytes` after `shift` more bytes
/// (and any multiple of three).
fn inside_base64(engine: &impl base64::Engine, bytes: &[u8], shift: usize) -> Vec<u8> {
    let mut padded = vec![0; shift];
    padded.extend(bytes);
    let encoded = engine.encode(&padded);
    // The characters at either end depend on the bytes beside the secret.
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

/// All of them escaped.
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use crate::leak_check::LeakCheck;

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
        let percent = secret.bytes().map(|byte| format!("%{byte:02x}"));
        let percent = percent.collect::<String>();
        let numbers: Vec<_> = secret.bytes().map(|byte| byte.to_string()).collect();
        let mut spellings: Vec<Vec<u8>> = shifted.map(String::into_bytes).collect();
        spellings.extend([
            secret.into(),
            secret.as_bytes()[..CUT_SHORT].into(),
            percent.to_uppercase().into(),
            percent.into(),
            numbers.join(", ").into(),
            numbers.join(",").into(),
            query.into(),
            digits.to_uppercase().into(),
            digits.into(),
        ]);
        spellings
    }

    // Threats: A15.
    #[test]
    fn a_secret_is_found_in_every_spelling_and_nothing_else_is() {
        let leak_check = LeakCheck::over([("one", SECRET), ("key", KEY)]);
        for secret in [SECRET, KEY] {
            for spelt in spellings(secret) {
                let text = [b"before ", &*spelt, b" after"].concat();
                let shown = String::from_utf8_lossy(&text);
                assert_eq!(leak_check.search(&text).len(), 1, "{shown}");
            }
        }
        assert!(leak_check.search("before after").is_empty());
        assert!(leak_check.search(SECRET.to_uppercase()).is_empty());
    }

    // Threats: A15.
    #[test]
    fn the_bytes_that_a_secret_stands_for_are_found_in_every_spelling() {
        let leak_check = LeakCheck::over([("key", KEY)]);
        let decoded = URL_SAFE_NO_PAD.decode(KEY).expect("a key");
        let digits: String = decoded.iter().map(|byte| format!("{byte:02x}")).collect();
        for (form, spelt) in [
            (Form::Decoded, [b"in a file\0", &*decoded, b"\0"].concat()),
            (Form::Decoded, decoded[..CUT_SHORT_BYTES].to_vec()),
            (Form::DecodedHex, digits.to_uppercase().into()),
            (Form::DecodedHex, digits.into()),
            (Form::DecodedNumbers, format!("{decoded:?}").into()),
            (Form::DecodedNumbers, format!("{:?}", &decoded[..16]).into()),
            (
                Form::DecodedBase64,
                STANDARD.encode([b"x", &*decoded].concat()).into(),
            ),
            (
                Form::DecodedBase64,
                URL_SAFE.encode([b"xy", &*decoded].concat()).into(),
            ),
        ] {
            let found = leak_check.search(&spelt);
            assert_eq!(
                found.len(),
                1,
                "{form}: {}",
                String::from_utf8_lossy(&spelt)
            );
            assert_eq!(found[0].form, form);
        }
    }

    #[test]
    fn two_secrets_of_which_one_holds_the_other_are_both_found() {
        let leak_check =
            LeakCheck::over([("token", KEY.to_owned()), ("whole", format!("fsi_{KEY}"))]);
        let leaks = leak_check.search(format!("Bearer fsi_{KEY}"));
        let mut found: Vec<_> = leaks.iter().map(|leak| &*leak.what).collect();
        found.sort_unstable();
        assert_eq!(found, ["token", "whole"]);
    }

    #[test]
    fn a_secret_that_would_be_found_everywhere_is_refused() {
        let refused = std::panic::catch_unwind(|| LeakCheck::over([("nothing", "")]));
        let panic = refused.expect_err("it panics");
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.starts_with("nothing is too short"), "{message}");
    }
}
