//! The normalization of a provider's claims about a user: clean profile fields, or
//! `None`. An unusual name must never fail a login.

use serde::Deserialize;
use serde_json::Value;

use crate::untrusted::{is_disruptive, printable_line};

/// The maximum length of a name or username, in characters; longer ones are cut.
const MAX_NAME_CHARS: usize = 256;

/// The maximum length of an e-mail address, in bytes (RFC 5321).
const MAX_EMAIL_BYTES: usize = 254;

/// The maximum length of a picture's URL, in characters.
const MAX_PICTURE_CHARS: usize = 2048;

/// A claim that should be a string. A value of any other JSON type counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) struct LenientString(Option<String>);

impl From<Value> for LenientString {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self(Some(text)),
            _ => Self(None),
        }
    }
}

impl From<String> for LenientString {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

/// A name or a username: trimmed, without characters that do not print or that
/// reorder text, and cut at [`MAX_NAME_CHARS`].
pub(super) fn text(claim: LenientString) -> Option<String> {
    printable_line(&claim.0?, MAX_NAME_CHARS)
}

/// An e-mail address: one `@` with something on both sides, nothing unprintable,
/// and no syntax that would make it two addresses in the header of a mail.
pub(super) fn email(claim: LenientString) -> Option<String> {
    let raw = claim.0?;
    let (local, domain) = raw.split_once('@')?;
    let is_valid = !local.is_empty()
        && !domain.is_empty()
        && !domain.contains('@')
        && raw.len() <= MAX_EMAIL_BYTES
        && !raw
            .contains(|c: char| c.is_whitespace() || is_disruptive(c) || "<>,;:\"()\\".contains(c));
    is_valid.then_some(raw)
}

/// A picture: an `https` URL, never `javascript:` or `data:`.
pub(super) fn picture(claim: LenientString) -> Option<String> {
    let url = url::Url::parse(&claim.0?).ok()?;
    let fits = url.scheme() == "https" && url.as_str().len() <= MAX_PICTURE_CHARS;
    fits.then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        clean: fn(LenientString) -> Option<String>,
        raw: impl Into<String>,
        expected: Option<&str>,
    ) {
        assert_eq!(clean(LenientString(Some(raw.into()))).as_deref(), expected);
    }

    #[test]
    fn a_name_keeps_ordinary_characters_and_loses_disruptive_ones() {
        check(text, "Ada Lovelace", Some("Ada Lovelace"));
        check(text, "  Ada  ", Some("Ada"));
        check(text, "שרה כהן", Some("שרה כהן"));
        check(text, "🦀 Ferris", Some("🦀 Ferris"));
        check(text, "a\u{202E}b\u{0}c\n", Some("abc"));
        check(text, "\u{2066}", None);
        check(text, "", None);
        check(text, "x".repeat(10_000), Some(&"x".repeat(256)));
        let spaced = format!("{} {}", "x".repeat(255), "y");
        check(text, spaced, Some(&"x".repeat(255)));
        check(text, "a\u{206A}b\u{FFF9}c\u{200B}\u{FEFF}", Some("abc"));
    }

    #[test]
    fn a_claim_of_another_json_type_counts_as_absent() {
        for json in ["42", "true", "null", "[\"Ada\"]", "{\"name\":\"Ada\"}"] {
            let claim: LenientString = serde_json::from_str(json).unwrap();
            assert_eq!(text(claim), None);
        }
    }

    // Threats: B24.
    #[test]
    fn an_email_address_has_one_at_sign_or_is_none() {
        check(email, "ada@mail.example", Some("ada@mail.example"));
        check(email, "a@evil@corp.example", None);
        check(email, "@corp.example", None);
        check(email, "ada@", None);
        check(email, "ada", None);
        check(email, "a b@corp.example", None);
        check(email, "x<ada@corp.example", None);
        check(email, "ada@corp.example,eve", None);
        check(email, "ada\u{202E}@corp.example", None);
        check(email, format!("{}@x.example", "a".repeat(254)), None);
    }

    #[test]
    fn a_picture_is_https_or_none() {
        check(
            picture,
            "https://cdn.example/a.png",
            Some("https://cdn.example/a.png"),
        );
        check(picture, "http://cdn.example/a.png", None);
        check(picture, "javascript:alert(1)", None);
        check(picture, "data:image/png;base64,AAAA", None);
        check(
            picture,
            format!("https://cdn.example/{}", "a".repeat(2048)),
            None,
        );
    }
}
