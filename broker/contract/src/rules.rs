//! The rule catalogue: every reason for which something is refused.
//!
//! The audit log writes a rule's id beside each refusal. Everything that explains a
//! refusal to a reader (the inspector, a conformance verdict) takes the sentence and
//! the advice from here, so that they cannot drift apart.

use std::fmt;

/// The source of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A section of the specification.
    Spec(&'static str),
    /// The specification is silent; this kit chose.
    KitChoice,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Spec(section) => write!(f, "SPEC {section}"),
            Source::KitChoice => f.write_str("KIT-CHOICE"),
        }
    }
}

/// A value breaks a rule. The error names the rule and never repeats the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.sentence())]
pub struct Malformed(
    /// The rule that was broken.
    pub Rule,
);

/// Makes the catalogue of the rows: variant, id, source, the rule, what happens when it is
/// broken, advice.
macro_rules! rules {
    ($($variant:ident = $id:literal, $source:expr, $sentence:literal, $happened:literal, $advice:literal;)+) => {
        /// One rule of the catalogue.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule {
            $(#[doc = $sentence] $variant,)+
        }

        impl Rule {
            /// Every rule, in the order of the catalogue.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)+];

            /// The stable id: `area.name`.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$variant => $id,)+ }
            }

            /// The rule in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Rule::$variant => $sentence,)+ }
            }

            /// What has happened when the rule refuses a request, in one sentence.
            pub fn happened(self) -> &'static str {
                match self { $(Rule::$variant => $happened,)+ }
            }

            /// The section of the specification, or this kit's choice.
            pub fn source(self) -> Source {
                use Source::{KitChoice, Spec};
                match self { $(Rule::$variant => $source,)+ }
            }

            /// Advice to an integrator who broke the rule.
            pub fn advice(self) -> &'static str {
                match self { $(Rule::$variant => $advice,)+ }
            }
        }
    };
}

// `build.rs` makes it of `rules.yaml`.
include!(concat!(env!("OUT_DIR"), "/rules.rs"));

impl Rule {
    /// The rule whose sentence `message` begins with, if any. A parser's error text,
    /// which wraps a [`Malformed`], leads back to its rule this way.
    pub fn begun_by(message: &str) -> Option<Rule> {
        Rule::ALL
            .iter()
            .copied()
            .find(|rule| message.starts_with(rule.sentence()))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
