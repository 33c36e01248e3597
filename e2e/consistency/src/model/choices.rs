//! The decisions that a step of the model leaves open. The checker tries every combination.

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
