//! The search for secrets in everything that was written meanwhile: pages, log lines,
//! database files.
//!
//! There are two ways. A [`LeakCheck`] knows the secrets and finds each in the spellings
//! of [`forms`], in any bytes, however long, and also when it was cut short. [`find`] takes
//! the encodings off a text ([`layers`]), so that a secret is recognised in it which is known
//! by its digest or its form alone, or which was encoded or compressed more than once. A
//! test has the table of all spellings, and which way finds which.
//!
//! ```
//! use agent::secrets::LeakCheck;
//!
//! let leak_check = LeakCheck::over([("client secret", "hunter2/hunter3")]);
//! let leaks = leak_check.search("GET /?client_secret=hunter2%2Fhunter3");
//! assert_eq!(leaks.len(), 1);
//! assert_eq!(leaks[0].to_string(), "client secret, url-encoded");
//! ```

mod layers;

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use url::form_urlencoded::byte_serialize;

pub use layers::{Haystack, find, layers};

/// The least number of characters by which a part of a secret gives it away.
pub const CUT_SHORT: usize = 20;
/// The least number of its bytes.
pub const CUT_SHORT_BYTES: usize = 15;

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
    pub fn first(&self, written: &[u8]) -> Option<Range<usize>> {
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
pub fn forms(secret: &str) -> Vec<(Form, Vec<u8>)> {
    let bytes = beginning(secret.as_bytes(), CUT_SHORT);
    let query: String = byte_serialize(bytes).collect();
    let escaped = percent_encode(bytes, NON_ALPHANUMERIC);
    let mut forms = vec![
        (Form::Raw, bytes.to_vec()),
        (Form::UrlEncoded, query.into()),
        (Form::UrlEncoded, escaped.to_string().into()),
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
    let mut known = HashSet::new();
    forms.retain(|(_, spelt)| known.insert(spelt.clone()));
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

/// All bytes escaped.
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    const SECRET: &str = "planted-Secret_7/+ü=&%?";
    const KEY: &str = "QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9o";

    pub(super) fn zlib(text: &str) -> Vec<u8> {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(text.as_bytes()).unwrap();
        zlib.finish().unwrap()
    }

    /// Every spelling that is searched for, made by other means than those that search: the
    /// form by which a [`LeakCheck`] finds it, and whether [`find`] does.
    fn spellings(secret: &str) -> Vec<(Option<Form>, bool, Vec<u8>)> {
        let json = format!(r#"{{"key":"{secret}"}}"#);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("k", secret)
            .finish();
        let in_query = match query.contains(secret) {
            true => Form::Raw,
            false => Form::UrlEncoded,
        };
        let percent: String = secret.bytes().map(|it| format!("%{it:02x}")).collect();
        let digits: String = secret.bytes().map(|it| format!("{it:02x}")).collect();
        let numbers: Vec<_> = secret.bytes().map(|it| it.to_string()).collect();
        let encoded = URL_SAFE_NO_PAD.encode(&json);
        let deflated = URL_SAFE_NO_PAD.encode(zlib(&json.repeat(2)));
        let mut rows = vec![
            (Some(Form::Raw), true, json.clone()),
            (Some(Form::Raw), true, format!("x{secret}y")),
            (Some(Form::Raw), false, secret[..CUT_SHORT].to_owned()),
            (Some(in_query), true, query),
            (Some(Form::UrlEncoded), true, percent.to_uppercase()),
            (Some(Form::UrlEncoded), true, percent.clone()),
            (Some(Form::Hex), true, digits.to_uppercase()),
            (Some(Form::Hex), true, digits),
            (Some(Form::Numbers), false, numbers.join(", ")),
            (Some(Form::Numbers), false, numbers.join(",")),
            // Beside it are characters that belong to no base64 of it.
            (Some(Form::Base64), false, format!("x{encoded}")),
            (None, true, STANDARD.encode(encoded)),
            (None, true, STANDARD.encode(percent)),
            (None, true, format!(".{deflated}.signature")),
        ];
        for shift in 0..3 {
            let text = format!("{}{secret}behind", &"xyz"[..shift]);
            rows.push((Some(Form::Base64), true, STANDARD.encode(&text)));
            rows.push((Some(Form::Base64), true, URL_SAFE.encode(&text)));
        }
        let rows = rows.into_iter();
        rows.map(|(form, is_decoded, text)| (form, is_decoded, text.into_bytes()))
            .collect()
    }

    /// The same of the bytes that a secret stands for.
    fn spellings_of_bytes(bytes: &[u8]) -> Vec<(Option<Form>, bool, Vec<u8>)> {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let after = |text: &str| [text.as_bytes(), bytes].concat();
        let found = [
            (Form::Decoded, [b"in a file\0", bytes, b"\0"].concat()),
            (Form::Decoded, bytes[..CUT_SHORT_BYTES].to_vec()),
            (Form::DecodedHex, digits.to_uppercase().into()),
            (Form::DecodedHex, digits.into()),
            (Form::DecodedNumbers, format!("{bytes:?}").into()),
            (Form::DecodedNumbers, format!("{:?}", &bytes[..16]).into()),
            (Form::DecodedBase64, STANDARD.encode(after("x")).into()),
            (Form::DecodedBase64, URL_SAFE.encode(after("xy")).into()),
        ];
        found.map(|(form, spelt)| (Some(form), false, spelt)).into()
    }

    // Threats: A15.
    #[test]
    fn a_secret_is_found_in_every_spelling_and_nothing_else_is() {
        let leak_check = LeakCheck::over([("one", SECRET), ("key", KEY)]);
        let bytes = URL_SAFE_NO_PAD.decode(KEY).unwrap();
        let rows = [
            (SECRET, spellings(SECRET)),
            (KEY, spellings(KEY)),
            (KEY, spellings_of_bytes(&bytes)),
        ];
        for (secret, rows) in rows {
            for (form, is_decoded, spelt) in rows {
                let text = [b"before ", &*spelt, b" after"].concat();
                let shown = String::from_utf8_lossy(&text).into_owned();
                let forms: Vec<_> = leak_check.search(&text).iter().map(|it| it.form).collect();
                assert_eq!(forms, Vec::from_iter(form), "{shown}");
                let place = find(&[Haystack::new("here", &*shown)], |it| it.contains(secret));
                assert_eq!(place.is_some(), is_decoded, "{shown}");
            }
        }
        for other in ["before after", &SECRET.to_uppercase()] {
            assert_eq!(leak_check.search(other), []);
            assert_eq!(
                find(&[Haystack::new("here", other)], |it| it.contains(SECRET)),
                None
            );
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
