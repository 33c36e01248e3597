//! The counts of the kills, and their table.

use super::load::CutLogin;
use crate::operation::Operation;

/// The counts of the kills of one kind.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Count {
    pub(super) kills: u64,
    pub(super) logins: u64,
    /// Operations whose answer was lost.
    pub(super) unanswered: u64,
    /// Questions that were asked afterwards.
    pub(super) questions: u64,
}

impl Count {
    /// The counts of one kill, without its questions yet.
    pub(super) fn of(logins: &[CutLogin]) -> Self {
        Self {
            kills: 1,
            logins: logins.len() as u64,
            unanswered: logins.iter().map(unanswered).sum(),
            questions: 0,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.logins += other.logins;
        self.unanswered += other.unanswered;
        self.questions += other.questions;
    }
}

fn unanswered(cut: &CutLogin) -> u64 {
    let operations = cut.login.history.operations.iter();
    let unanswered = operations.filter(|it: &&Operation| !it.is_definite());
    unanswered.count() as u64
}

/// The counts of each kind of kill.
pub(super) fn of<'a>(counts: impl Iterator<Item = (&'a str, Count)>) -> String {
    let header = format!(
        "{:<16}{:>8}{:>10}{:>12}{:>12}\n",
        "killed", "kills", "logins", "unanswered", "questions"
    );
    let lines = counts.map(|(kill, it)| {
        format!(
            "{kill:<16}{:>8}{:>10}{:>12}{:>12}\n",
            it.kills, it.logins, it.unanswered, it.questions
        )
    });
    header + &lines.collect::<String>()
}
