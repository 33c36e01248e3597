//! The display name of a project.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::printable::is_printable;

/// The maximum length of a name, in characters: as much as fits a page.
const MAX_CHARS: usize = 80;

/// A project's name: 1 to 80 printable characters, without white space around them.
/// Pages and terminals show it unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProjectName(String);

/// A text is not a valid project name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a project's name has 1 to 80 printable characters: shorten it, and take out control \
     characters and those that reorder the text around them"
)]
pub struct MalformedName;

impl ProjectName {
    /// The text, safe to print.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProjectName {
    type Err = MalformedName;

    fn from_str(text: &str) -> Result<Self, MalformedName> {
        let name = text.trim();
        let has_length = (1..=MAX_CHARS).contains(&name.chars().count());
        match has_length && is_printable(name) {
            true => Ok(Self(name.to_owned())),
            false => Err(MalformedName),
        }
    }
}

impl TryFrom<String> for ProjectName {
    type Error = MalformedName;

    fn try_from(text: String) -> Result<Self, MalformedName> {
        text.parse()
    }
}

impl From<ProjectName> for String {
    fn from(name: ProjectName) -> String {
        name.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
