//! The outcomes of a target.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Display};

/// The number of inputs by outcome, and of those that did not reach what is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcomes<O> {
    reached: BTreeMap<O, u64>,
    not_reached: u64,
}

impl<O: Ord + Debug> Outcomes<O> {
    pub(super) const fn new() -> Self {
        Self {
            reached: BTreeMap::new(),
            not_reached: 0,
        }
    }

    /// Counts an input; whether it reached what is tested.
    pub(super) fn count(&mut self, outcome: Option<O>) -> bool {
        match outcome {
            Some(outcome) => {
                *self.reached.entry(outcome).or_default() += 1;
                true
            }
            None => {
                self.not_reached += 1;
                false
            }
        }
    }

    /// The number of inputs that reached what is tested.
    pub fn cases(&self) -> u64 {
        self.reached.values().sum()
    }

    /// The number of inputs with this outcome.
    pub fn of(&self, outcome: &O) -> u64 {
        self.reached.get(outcome).copied().unwrap_or_default()
    }

    /// The number of different outcomes.
    pub fn variety(&self) -> usize {
        self.reached.len()
    }

    /// Asserts that each of `outcomes` is among them: that the target reached what it
    /// is for.
    ///
    /// # Panics
    ///
    /// If one is missing.
    #[track_caller]
    pub fn assert_include(&self, outcomes: &[O]) {
        let missing: Vec<_> = outcomes.iter().filter(|it| self.of(it) == 0).collect();
        assert!(missing.is_empty(), "never {missing:?}: {self}");
    }
}

impl<O: Ord + Debug> Display for Outcomes<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cases, outcomes) = (self.cases(), &self.reached);
        write!(f, "{cases} inputs tested with the outcomes {outcomes:?}, ")?;
        write!(f, "{} did not reach it", self.not_reached)
    }
}
