//! Finds a secret in a text, also where it was encoded on its way there.

use std::fmt::Write as _;

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use url::form_urlencoded::byte_serialize;

/// How the secret is written there, if it is there in any form.
pub(crate) fn find<'t>(text: &'t str, secret: &str) -> Option<&'t str> {
    forms(secret).into_iter().find_map(|form| {
        let at = text.find(&form)?;
        Some(&text[at..at + form.len()])
    })
}

/// Every way in which `secret` might be written.
pub(crate) fn forms(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let mut forms = vec![
        secret.to_owned(),
        byte_serialize(bytes).collect(),
        percent(bytes),
        hex(bytes),
        hex(bytes).to_uppercase(),
    ];
    for shift in 0..3 {
        forms.push(inside_base64(&STANDARD_NO_PAD, bytes, shift));
        forms.push(inside_base64(&URL_SAFE_NO_PAD, bytes, shift));
    }
    forms
}

/// What every base64 text has in common that contains `bytes` after `shift` more
/// bytes (and any multiple of three).
fn inside_base64(engine: &impl base64::Engine, bytes: &[u8], shift: usize) -> String {
    let mut padded = vec![0; shift];
    padded.extend(bytes);
    let encoded = engine.encode(&padded);
    // The characters at either end depend on what stands beside the secret.
    let begin = [0, 2, 3][shift];
    let end = encoded.len() - usize::from(!padded.len().is_multiple_of(3));
    encoded[begin..end].to_owned()
}

/// All but letters and digits escaped.
fn percent(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() {
            text.push(char::from(*byte));
        } else {
            write!(text, "%{byte:02X}").expect("a string takes everything");
        }
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
    text
}

/// Texts that look like one of the secrets that everybody draws from 32 bytes: 43
/// characters of base64url, or more.
pub(crate) fn looks_secret(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .filter(|word| word.len() >= 43)
}
