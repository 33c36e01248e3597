//! The counts of a run, and their table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mock_upstream::journal::Entry;
use mock_upstream::{MockUpstream, Provider};
use serde_json::{Value, json};

use crate::resources::Resources;
use checker::history::{Flow, History, variant};

/// All counts of a run.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    /// By flow, provider and outcome.
    logins: BTreeMap<(Flow, &'static str, String), u64>,
    /// Calls by step and outcome.
    calls: BTreeMap<(String, String), u64>,
    pub(super) misbehaviours: BTreeMap<&'static str, u64>,
    pub(super) faults: BTreeMap<&'static str, u64>,
    pub(super) hostile: BTreeMap<&'static str, u64>,
    pub(super) hostile_answered: BTreeMap<u16, u64>,
    pub(super) killed: u64,
    pub(super) stopped: u64,
    moves: u64,
    moved_seconds: u64,
    pub(super) shadowed: u64,
    pub(super) violations: Vec<String>,
}

impl Statistics {
    pub(super) fn add_clock_move(&mut self, seconds: u64) {
        self.moves += 1;
        self.moved_seconds += seconds;
    }

    /// Counts a login that is over.
    pub(super) fn add(&mut self, history: &History) {
        let (flow, provider) = (history.flow, history.provider.name());
        let login = (flow, provider, history.outcome().to_owned());
        count(&mut self.logins, login);
        for operation in &history.operations {
            let call = (variant(&operation.step()), operation.outcome.name());
            count(&mut self.calls, call);
        }
    }

    /// The number of logins that were checked.
    pub(super) fn logins(&self) -> u64 {
        self.logins.values().sum()
    }

    /// One line: how far the run is.
    pub(super) fn line(&self) -> String {
        let of = |flow| {
            let its = self.logins.iter().filter(|((it, ..), _)| *it == flow);
            its.map(|(_, count)| count).sum::<u64>()
        };
        format!(
            "{} logins ({} clean, {} legacy), calls refused: {}, faults struck: {}, \
             misbehaviours: {}, hostile: {}, clock moved {} times, killed {}, stopped {}, \
             violations: {}",
            self.logins(),
            of(Flow::Clean),
            of(Flow::Legacy),
            self.refusals(),
            self.faults.values().sum::<u64>(),
            self.misbehaviours.values().sum::<u64>(),
            self.hostile.values().sum::<u64>(),
            self.moves,
            self.killed,
            self.stopped,
            self.violations.len(),
        )
    }

    /// Everything, as a table.
    pub(super) fn table(&self, warm: &Resources, last: &Resources) -> String {
        let mut table = format!(
            "{:<10}{:<10}{:<30}{:>10}\n",
            "flow", "provider", "outcome", "logins"
        );
        for ((flow, provider, outcome), count) in &self.logins {
            let _ = writeln!(
                table,
                "{:<10}{provider:<10}{outcome:<30}{count:>10}",
                flow.name()
            );
        }
        let _ = writeln!(table, "\n{:<20}{:<30}{:>10}", "step", "outcome", "calls");
        for ((step, outcome), count) in &self.calls {
            let _ = writeln!(table, "{step:<20}{outcome:<30}{count:>10}");
        }
        listed(&mut table, "fault of a proxy", &self.faults);
        listed(&mut table, "hostile request", &self.hostile);
        listed(&mut table, "hostile, answered", &self.hostile_answered);
        let rest = [
            ("brokers killed", self.killed),
            ("brokers stopped", self.stopped),
            (
                "sign-ins in which a provider misbehaved",
                self.misbehaviours.values().sum(),
            ),
            ("in so many ways", self.misbehaviours.len() as u64),
            ("clock moved", self.moves),
            ("clock moved, seconds", self.moved_seconds),
            (
                "upstream logins that failing keys may have failed",
                self.shadowed,
            ),
            ("violations", self.violations.len() as u64),
        ];
        table.push('\n');
        for (name, count) in rest {
            let _ = writeln!(table, "{name:<50}{count:>10}");
        }
        let _ = write!(
            table,
            "\nwarm  {warm}\nlast  {last}\n\
             Brokers are processes of their own: users, proxies and imitated providers, and \
             what they remember, are in this one.\n"
        );
        table
    }

    /// Everything, as JSON.
    pub(super) fn json(&self, warm: &Resources, last: &Resources) -> Value {
        let logins = self.logins.iter().map(|((flow, provider, outcome), count)| {
            json!({ "flow": flow.name(), "provider": provider, "outcome": outcome, "count": count })
        });
        let calls = self.calls.iter().map(
            |((step, outcome), count)| json!({ "step": step, "outcome": outcome, "count": count }),
        );
        json!({
            "logins": logins.collect::<Vec<_>>(),
            "calls": calls.collect::<Vec<_>>(),
            "faults": self.faults,
            "misbehaviours": self.misbehaviours,
            "hostile": self.hostile,
            "hostile_answered": self.hostile_answered,
            "killed": self.killed,
            "stopped": self.stopped,
            "clock_moves": self.moves,
            "clock_moved_seconds": self.moved_seconds,
            "shadowed_upstream_logins": self.shadowed,
            "violations": self.violations,
            "warm": warm,
            "last": last,
        })
    }

    /// The refused calls, by the kind of refusal.
    fn refusals(&self) -> String {
        const REFUSALS: [&str; 4] = ["refused", "unrecognised", "another browser", "not known"];
        let each = REFUSALS.map(|refusal| {
            let calls = self
                .calls
                .iter()
                .filter(|((_, outcome), _)| outcome == refusal);
            let count: u64 = calls.map(|(_, count)| count).sum();
            format!("{count} {refusal}")
        });
        each.join(", ")
    }
}

/// Counts one more of a kind.
pub(super) fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, kind: K) {
    *counts.entry(kind).or_default() += 1;
}

fn listed<K: std::fmt::Display>(table: &mut String, what: &str, counts: &BTreeMap<K, u64>) {
    let _ = writeln!(table, "\n{what:<50}{:>10}", "times");
    for (name, count) in counts {
        let _ = writeln!(table, "{:<50}{count:>10}", name.to_string());
    }
}

/// The exchanges at both providers so far.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// Every one of them, by path and status; none, where the connection was cut.
    pub(super) counts: BTreeMap<(String, Option<u16>), u64>,
    /// The journals as they were read last.
    last: [Vec<Entry>; 2],
}

impl Exchanges {
    /// Counts what came to the journals since they were read last.
    pub(super) fn read(&mut self, upstream: &MockUpstream) {
        for (last, provider) in self.last.iter_mut().zip(Provider::ALL) {
            let journal = upstream.provider(provider).journal();
            let fresh = &journal[overlap(last, &journal)..];
            for entry in fresh.iter().filter(|it| is_exchange(it)) {
                let kind = (entry.path.clone(), entry.status);
                count(&mut self.counts, kind);
            }
            *last = journal;
        }
    }
}

impl Exchanges {
    /// The number of them.
    pub(super) fn count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Whether the entry is an exchange of a code, each of which is in the log.
fn is_exchange(entry: &Entry) -> bool {
    entry.method == "POST" && entry.path.contains("token")
}

/// The number of entries at the end of `last` with which `next` begins.
fn overlap<T: PartialEq>(last: &[T], next: &[T]) -> usize {
    let longest = last.len().min(next.len());
    let agrees = |count: &usize| last[last.len() - count..] == next[..*count];
    (0..=longest).rev().find(agrees).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn a_journal_that_has_lost_its_beginning_goes_on_where_it_was() {
        assert_eq!(overlap(&[1, 2, 3], &[1, 2, 3, 4]), 3);
        assert_eq!(overlap(&[1, 2, 3], &[3, 4, 5]), 1);
        assert_eq!(overlap(&[1, 2, 3], &[4, 5, 6]), 0);
        assert_eq!(overlap(&[], &[1]), 0);
    }
}
