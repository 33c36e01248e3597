//! One operation of a client, as the checker reads it.
//!
//! `*_ns` are nanoseconds on a clock of this process that never jumps, so that "invoked
//! after another completed" is a fact; `clock` is the broker's clock meanwhile.

use crate::model::{Answer, Interval, Step};

/// One call, from its invocation to its completion.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// The step that was asked for. Where a provider may end a sign-in in several ways,
    /// each is a step of its own.
    pub(crate) steps: Vec<Step>,
    pub(crate) invoked_ns: u64,
    pub(crate) completed_ns: u64,
    /// The broker's clock from the invocation to the completion.
    pub(crate) clock: Interval,
    /// Whether the broker ran from the invocation to the completion: what it committed
    /// is in its log then.
    pub(crate) is_settled: bool,
    pub(crate) outcome: Outcome,
}

/// The outcome that the client saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No answer of the broker: the operation has happened, will happen, or never will.
    Unknown,
    /// 503: as unknown, and right only while the store or the broker was down.
    Unavailable,
    Answered(Answer<User>),
    /// No answer that the operation can have.
    Unexpected(String),
}

/// The user whom a profile shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct User {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) subject: String,
}

impl Operation {
    /// The step, or the first of several.
    pub(crate) fn step(&self) -> Step {
        self.steps[0]
    }

    /// Whether the client knows what became of it.
    pub(crate) fn is_definite(&self) -> bool {
        matches!(self.outcome, Outcome::Answered(_) | Outcome::Unexpected(_))
    }

    /// The answer, if there was one.
    pub(crate) fn answer(&self) -> Option<&Answer<User>> {
        match &self.outcome {
            Outcome::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Whether both were under way at the same time.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.invoked_ns < other.completed_ns && other.invoked_ns < self.completed_ns
    }
}

impl User {
    /// The user with this id at a provider, under the subject that the broker's
    /// documentation derives.
    pub(crate) fn of(provider: &str, id: &str) -> Self {
        let subject = crate::random::digest(&format!("{provider}\u{1F}{id}"));
        Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            subject: format!("sub_{subject}"),
        }
    }
}

impl Outcome {
    /// A word for it in a table.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Unknown => "not answered".to_owned(),
            Self::Unavailable => "503".to_owned(),
            Self::Unexpected(_) => "unexpected".to_owned(),
            Self::Answered(Answer::Failed(failure) | Answer::CallbackWithError(failure)) => {
                failure.name().to_owned()
            }
            Self::Answered(answer) => variant(answer),
        }
    }
}

/// The name of a variant in lower case, without its fields.
pub(crate) fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text.find([' ', '(', '{']).unwrap_or(text.len());
    let mut words = String::new();
    for (index, letter) in text[..end].char_indices() {
        if index > 0 && letter.is_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
