//! The requirements of version 0.1.0: one for each sentence of the specification that a
//! broker can visibly break, and some of this kit's choices.
//!
//! They are the rows of `rules.yaml` that have advice for the author of a broker; this
//! kit's broker makes its rule catalogue of the same file. The ids are frozen: a test holds
//! the list.

use std::fmt;

use Law::{KitChoice, Spec};

/// The version of the contract, and of the set of requirements.
pub const VERSION: &str = "0.1.0";

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

/// Makes the requirements of the rows: variant, id, law, sentence, advice.
macro_rules! rules {
    ($($variant:ident = $id:literal, $law:expr, $sentence:literal, $advice:literal;)+) => {
        /// One requirement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Requirement {
            $(#[doc = $sentence] $variant,)+
        }

        impl Requirement {
            /// Every requirement, in the order of a report.
            pub const ALL: &[Requirement] = &[$(Requirement::$variant,)+];

            /// The stable name: `area.what`.
            pub fn id(self) -> &'static str {
                match self { $(Requirement::$variant => $id,)+ }
            }

            /// The section of the specification, or this kit's choice.
            pub fn law(self) -> Law {
                match self { $(Requirement::$variant => $law,)+ }
            }

            /// The requirement, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Requirement::$variant => $sentence,)+ }
            }

            /// The change that a broker needs to meet it.
            pub fn advice(self) -> &'static str {
                match self { $(Requirement::$variant => $advice,)+ }
            }
        }
    };
}

// `build.rs` makes it of the file.
include!(concat!(env!("OUT_DIR"), "/rules.rs"));
