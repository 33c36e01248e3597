//! The number of races of each kind, of those that overlapped, and of their answers. A kind
//! of which fewer than half overlapped fails the run.

use std::collections::BTreeMap;
use std::fmt;

use super::contention::{Contended, Played};
use crate::RunError;
use crate::model::Answer;
use crate::operation::{Operation, Outcome};

/// The least share of the contended steps in which two calls were under way at once,
/// in percent. One that is not overlapped shows nothing about races.
const MIN_OVERLAPPED_PERCENT: u64 = 50;

/// So few races of a kind say nothing about the share.
const MIN_RACES: u64 = 20;

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Table {
    counts: BTreeMap<Contended, Counts>,
    unanswered: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    races: u64,
    overlapped: u64,
    granted: u64,
    refused: u64,
    pending: u64,
    ended: u64,
}

impl Table {
    /// Counts the contended steps of one more login.
    pub(super) fn add(&mut self, played: &Played) {
        let operations = &played.login.history.operations;
        let is_unanswered = |it: &&Operation| !it.is_definite();
        self.unanswered += operations.iter().filter(is_unanswered).count() as u64;
        for (kind, range) in &played.contended {
            let counts = self.counts.entry(*kind).or_default();
            counts.add(&operations[range.clone()]);
        }
    }

    /// The number of contended steps.
    pub(super) fn histories(&self) -> u64 {
        self.counts.values().map(|it| it.races).sum()
    }

    /// Fails a run that left calls unanswered, or whose calls did not overlap.
    pub(super) fn check(&self) -> Result<(), RunError> {
        if self.unanswered > 0 {
            return Err(format!("{} calls were not answered", self.unanswered).into());
        }
        for (kind, counts) in &self.counts {
            let percent = counts.overlapped * 100 / counts.races.max(1);
            if counts.races >= MIN_RACES && percent < MIN_OVERLAPPED_PERCENT {
                let name = kind.name();
                return Err(format!(
                    "only {percent} % of the races for a {name} had two calls under way at once"
                )
                .into());
            }
        }
        Ok(())
    }
}

impl Counts {
    fn add(&mut self, operations: &[Operation]) {
        self.races += 1;
        self.overlapped += u64::from(is_overlapped(operations));
        for operation in operations {
            match &operation.outcome {
                Outcome::Answered(
                    Answer::Refused | Answer::Unrecognised | Answer::AnotherBrowser,
                ) => self.refused += 1,
                Outcome::Answered(Answer::Pending) => self.pending += 1,
                Outcome::Answered(Answer::Revoked) => self.ended += 1,
                Outcome::Answered(_) => self.granted += 1,
                _ => {}
            }
        }
    }
}

/// Whether the first call to be answered was overlapped by another.
fn is_overlapped(operations: &[Operation]) -> bool {
    let first = operations.iter().min_by_key(|it| it.completed_ns);
    first.is_some_and(|first| {
        let others = operations.iter().filter(|it| !std::ptr::eq(*it, first));
        others.into_iter().any(|it| it.overlaps(first))
    })
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<26}{:>10}{:>12}{:>10}{:>10}{:>10}{:>10}",
            "", "histories", "overlapped", "granted", "refused", "pending", "revoked"
        )?;
        for kind in Contended::ALL {
            let it = self.counts.get(&kind).copied().unwrap_or_default();
            writeln!(
                f,
                "{:<26}{:>10}{:>10} %{:>10}{:>10}{:>10}{:>10}",
                kind.name(),
                it.races,
                it.overlapped * 100 / it.races.max(1),
                it.granted,
                it.refused,
                it.pending,
                it.ended,
            )?;
        }
        Ok(())
    }
}
