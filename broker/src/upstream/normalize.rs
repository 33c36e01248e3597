//! From what a provider says about a person to fields of a profile: clean, or
//! `None`. A person's odd name must never break a login.

use serde::Deserialize;
use serde_json::Value;

use crate::printable::{self, is_disruptive};

/// Longest name or username that is passed on, in characters.
const MAX_NAME_CHARS: usize = 256;

/// Longest address that mail can have, in bytes (RFC 5321).
const MAX_EMAIL_BYTES: usize = 254;

/// Longest address of a picture, in characters.
const MAX_PICTURE_CHARS: usize = 2048;

/// What a provider says where a text should be. A number, a list or an object
/// there says nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) struct Said(Option<String>);

impl From<Value> for Said {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self(Some(text)),
            _ => Self(None),
        }
    }
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

/// A name or a username: trimmed, without characters that do not print or that
/// turn text around, and cut at [`MAX_NAME_CHARS`].
pub(super) fn text(said: Said) -> Option<String> {
    printable::line(&said.0?, MAX_NAME_CHARS)
}

/// An e-mail address: one `@` with something on both sides, nothing unprintable,
/// and nothing that would make it two addresses in the header of a mail.
pub(super) fn email(said: Said) -> Option<String> {
    let raw = said.0?;
    let (local, domain) = raw.split_once('@')?;
    let sane = !local.is_empty()
        && !domain.is_empty()
        && !domain.contains('@')
        && raw.len() <= MAX_EMAIL_BYTES
        && !raw
            .contains(|c: char| c.is_whitespace() || is_disruptive(c) || "<>,;:\"()\\".contains(c));
    sane.then_some(raw)
}

/// A picture: an `https` URL, so that no `javascript:` or `data:` gets through.
pub(super) fn picture(said: Said) -> Option<String> {
    let url = url::Url::parse(&said.0?).ok()?;
    let fits = url.scheme() == "https" && url.as_str().len() <= MAX_PICTURE_CHARS;
    fits.then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(clean: fn(Said) -> Option<String>, raw: impl Into<String>, expected: Option<&str>) {
        assert_eq!(clean(Said(Some(raw.into()))).as_deref(), expected);
    }

    #[test]
    fn a_name_keeps_what_people_write_and_loses_what_disrupts_a_page() {
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
    fn a_number_where_a_text_should_be_says_nothing() {
        for said in ["42", "true", "null", "[\"Ada\"]", "{\"name\":\"Ada\"}"] {
            let said: Said = serde_json::from_str(said).unwrap();
            assert_eq!(text(said), None);
        }
    }

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
