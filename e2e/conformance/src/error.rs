//! The ways in which a run, or one scenario of it, ends early.

use std::fmt;

/// There is nothing to test; the reason, in one sentence.
#[derive(Debug, Clone, thiserror::Error)]
pub struct NotTestable(String);

impl NotTestable {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for NotTestable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why a scenario ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The harness failed: no fault of the broker's is known.
    Harness(String),
    /// A step did not lead to what the next one needs.
    Blocked(String),
}
