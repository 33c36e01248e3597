//! Query strings, in which a parameter may come more than once.

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
