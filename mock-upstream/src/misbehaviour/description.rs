//! The description of a misbehaviour at each provider.

use crate::Provider;

/// The description at each provider; `None` at a provider without this misbehaviour.
pub(super) struct Description {
    google: Option<&'static str>,
    github: Option<&'static str>,
}

impl Description {
    pub(super) const fn both(text: &'static str) -> Self {
        Self::each(text, text)
    }

    pub(super) const fn each(google: &'static str, github: &'static str) -> Self {
        Self {
            google: Some(google),
            github: Some(github),
        }
    }

    pub(super) const fn google(text: &'static str) -> Self {
        Self {
            google: Some(text),
            github: None,
        }
    }

    pub(super) const fn github(text: &'static str) -> Self {
        Self {
            google: None,
            github: Some(text),
        }
    }

    /// The description at `provider`, if it has this misbehaviour.
    pub(super) fn at(&self, provider: Provider) -> Option<&'static str> {
        match provider {
            Provider::Google => self.google,
            Provider::GitHub => self.github,
        }
    }
}
