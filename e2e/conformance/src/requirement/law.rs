//! The authority behind a requirement.

use std::fmt;

/// The authority behind a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// A section of the specification: a broker that differs fails.
    Spec(&'static str),
    /// The specification is silent and this kit chose: a broker may differ.
    KitChoice,
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(section) => write!(f, "SPEC {section}"),
            Self::KitChoice => f.write_str("KIT-CHOICE"),
        }
    }
}
