//! The people who sign in: each with a name, an address and an id that occur nowhere
//! else, so that a page that shows one of them shows who is signed in.

use crate::random;

/// A person's account at a provider, as its sign-in page takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// Digits, as GitHub requires.
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) username: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) is_email_verified: bool,
    pub(crate) picture: Option<String>,
}

impl Person {
    /// A person with everything, whose every field occurs nowhere else. The name begins
    /// with `first`.
    pub(crate) fn new(first: &str) -> Self {
        let letters = random::letters();
        let word = letters[..1].to_uppercase() + &letters[1..];
        let handle = format!("{}-{letters}", first.to_lowercase());
        Self {
            id: random::digits(),
            name: Some(format!("{first} {word}")),
            email: Some(format!("{handle}@people.example")),
            username: Some(handle),
            is_email_verified: true,
            picture: Some(format!("https://people.example/{letters}.png")),
        }
    }

    /// A person of whom the provider knows the id alone.
    pub(crate) fn with_id_alone() -> Self {
        Self {
            id: random::digits(),
            name: None,
            username: None,
            email: None,
            is_email_verified: false,
            picture: None,
        }
    }

    /// Whether `text`, a page or its JSON, shows this person.
    pub(crate) fn is_shown_in(&self, text: &str) -> bool {
        self.marks().any(|mark| text.contains(mark))
    }

    /// The values that a page may show.
    fn marks(&self) -> impl Iterator<Item = &str> {
        [&self.name, &self.username, &self.email]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .chain([self.id.as_str()])
    }

    /// The fields of the provider's form, by name.
    pub(crate) fn form_fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("person", "other".to_owned()), ("id", self.id.clone())];
        let optional = [
            ("name", &self.name),
            ("username", &self.username),
            ("email", &self.email),
            ("picture", &self.picture),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                fields.push((name, value.clone()));
            }
        }
        if self.is_email_verified {
            fields.push(("email_verified", "true".to_owned()));
        }
        fields
    }
}
