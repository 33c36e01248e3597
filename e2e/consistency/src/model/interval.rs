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

/// The decisions that one run of a step takes where more than one is right. The first
/// run takes the first of each; [`advance`](Self::advance) prepares the next run, until
/// every combination was taken.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    taken: Vec<bool>,
    next: usize,
}

impl Choices {
    /// True in one run, false in another.
    pub fn coin(&mut self) -> bool {
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
        let mut choices = Choices::default();
        let mut seen = Vec::new();
        loop {
            let first = choices.coin();
            let second = first && choices.coin();
            seen.push((first, second));
            if !choices.advance() {
                break;
            }
        }
        assert_eq!(seen, [(true, true), (true, false), (false, false)]);
    }
}
