//! Untrusted text: query strings, in which a parameter may come more than once; and lines made
//! safe to print, without characters that do not print or that reorder the text around them.

use std::borrow::Cow;

/// The parameters of a URL's query, decoded.
#[derive(Debug)]
pub(crate) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

/// A parameter came more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repeated;

impl<'a> Query<'a> {
    /// Decodes the part of a URL between `?` and `#`.
    pub(crate) fn parse(query: &'a str) -> Self {
        Self(url::form_urlencoded::parse(query.as_bytes()).collect())
    }

    /// The value of `name`, if present.
    ///
    /// # Errors
    ///
    /// If the parameter comes more than once.
    pub(crate) fn once(&self, name: &str) -> Result<Option<String>, Repeated> {
        let mut values = self
            .0
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value);
        match (values.next(), values.next()) {
            (value, None) => Ok(value.map(ToString::to_string)),
            (_, Some(_)) => Err(Repeated),
        }
    }

    /// Whether any parameter has one of these names.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        self.0.iter().any(|(key, _)| names.contains(&key.as_ref()))
    }
}

/// Encodes pairs as a query string.
pub(crate) fn encode<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

/// `text` on one line: without disruptive characters, trimmed, and cut at
/// `max_chars`. `None` if the result is empty.
pub(crate) fn printable_line(text: &str, max_chars: usize) -> Option<String> {
    let clean: String = text.chars().filter(|c| !is_disruptive(*c)).collect();
    let cut: String = clean.trim().chars().take(max_chars).collect();
    let cut = cut.trim_end();
    (!cut.is_empty()).then(|| cut.to_owned())
}

/// Whether `text` has no disruptive character.
pub(crate) fn is_printable(text: &str) -> bool {
    !text.contains(is_disruptive)
}

/// Whether `c` is a control character, reorders the text around it, is invisible or
/// blank, or is one of the two that XML does not allow.
pub(crate) fn is_disruptive(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{AD}'
                | '\u{61C}'
                | '\u{180E}'
                | '\u{200B}'
                | '\u{200E}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{FFFE}'..='\u{FFFF}'
        )
        // Letters that are drawn as a blank, and tags, which are not drawn.
        || matches!(c, '\u{115F}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}')
        || matches!(c, '\u{E0000}'..='\u{E007F}')
}
