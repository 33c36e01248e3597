//! Moments that are known within bounds.

use super::Choices;

/// A moment on the broker's clock, in milliseconds: no earlier than the one bound, no
/// later than the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The earliest that it can be.
    pub earliest_ms: i64,
    /// The latest that it can be.
    pub latest_ms: i64,
}

impl Interval {
    /// A moment that is known to the millisecond.
    pub fn exactly(ms: i64) -> Self {
        Self {
            earliest_ms: ms,
            latest_ms: ms,
        }
    }

    /// The moment `ms` later.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self {
            earliest_ms: self.earliest_ms + ms,
            latest_ms: self.latest_ms + ms,
        }
    }

    /// Whether this moment is before `deadline`: a choice, where the bounds overlap.
    pub fn is_before(self, deadline: Self, choices: &mut Choices) -> bool {
        if self.latest_ms < deadline.earliest_ms {
            true
        } else if self.earliest_ms >= deadline.latest_ms {
            false
        } else {
            choices.coin()
        }
    }
}
