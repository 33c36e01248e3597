//! Times that are known within bounds, and the questions about them that have more than
//! one answer.

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
}

/// The moment of a step, and the decisions that one run of the step takes where more than one is
/// right. The first run takes the first of each; [`advance`](Self::advance) prepares the next
/// run, until every combination was taken.
#[derive(Debug, Clone)]
pub struct Now {
    /// The bounds of the moment.
    pub at: Interval,
    taken: Vec<bool>,
    next: usize,
}

impl Now {
    /// Some moment within `at`, before any decision.
    pub fn within(at: Interval) -> Self {
        let taken = Vec::new();
        Self { at, taken, next: 0 }
    }

    /// Whether this moment is before `deadline`: a decision, where the bounds overlap.
    pub fn is_before(&mut self, deadline: Interval) -> bool {
        if self.at.latest_ms < deadline.earliest_ms {
            true
        } else if self.at.earliest_ms >= deadline.latest_ms {
            false
        } else {
            self.coin()
        }
    }

    /// True in one run, false in another.
    fn coin(&mut self) -> bool {
        if self.next == self.taken.len() {
            self.taken.push(true);
        }
        self.next += 1;
        self.taken[self.next - 1]
    }

    /// Whether there is a combination that was not taken yet; it is taken next.
    pub fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some(last) = self.taken.pop() {
            if last {
                self.taken.push(false);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_taken_once() {
        let mut now = Now::within(Interval::exactly(0));
        let mut seen = Vec::new();
        loop {
            let first = now.coin();
            let second = first && now.coin();
            seen.push((first, second));
            if !now.advance() {
                break;
            }
        }
        assert_eq!(seen, [(true, true), (true, false), (false, false)]);
    }
}
