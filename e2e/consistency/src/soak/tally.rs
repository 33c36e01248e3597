//! What is counted, and how it is printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::story::{Deed, Flow, Story};
use super::told::Told;
use super::vitals::Vitals;

/// All counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// By flow, provider and outcome.
    logins: BTreeMap<(Flow, &'static str, String), u64>,
    /// Calls by what was done and what was told.
    told: BTreeMap<(&'static str, String), u64>,
    misbehaviours: BTreeMap<&'static str, u64>,
    faults: BTreeMap<&'static str, u64>,
    hostile: BTreeMap<&'static str, u64>,
    turned_away: BTreeMap<u16, u64>,
    pub(crate) killed: u64,
    pub(crate) stopped: u64,
    moves: u64,
    moved_seconds: u64,
    shadowed: u64,
    pub(crate) violations: Vec<String>,
}

impl Tally {
    pub(crate) fn told(&mut self, deed: Deed, told: &Told) {
        let name = match told {
            Told::Refused(status) => format!("refused {status}"),
            told => told.name().to_owned(),
        };
        *self.told.entry((deed.name(), name)).or_default() += 1;
    }

    pub(crate) fn misbehaved(&mut self, name: &'static str) {
        *self.misbehaviours.entry(name).or_default() += 1;
    }

    pub(crate) fn struck(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    pub(crate) fn hostile(&mut self, name: &'static str) {
        *self.hostile.entry(name).or_default() += 1;
    }

    pub(crate) fn turned_away(&mut self, status: u16) {
        *self.turned_away.entry(status).or_default() += 1;
    }

    pub(crate) fn moved(&mut self, seconds: u64) {
        self.moves += 1;
        self.moved_seconds += seconds;
    }

    /// Counts a login that is over.
    pub(crate) fn closed(&mut self, story: &Story) {
        let (flow, provider) = (story.flow, story.provider.name());
        let outcome = story.outcome().to_owned();
        *self.logins.entry((flow, provider, outcome)).or_default() += 1;
        self.shadowed += story.casts.iter().filter(|it| it.is_shadowed).count() as u64;
    }

    /// How many logins were judged.
    pub(crate) fn logins(&self) -> u64 {
        self.logins.values().sum()
    }

    /// One line: how far it is.
    pub(crate) fn line(&self) -> String {
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

    /// Everything, for people.
    pub(crate) fn table(&self, first: &Vitals, last: &Vitals) -> String {
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
        let _ = writeln!(table, "\n{:<20}{:<30}{:>10}", "done", "told", "calls");
        for ((deed, told), count) in &self.told {
            let _ = writeln!(table, "{deed:<20}{told:<30}{count:>10}");
        }
        listed(&mut table, "fault of the wire", &self.faults);
        listed(&mut table, "hostile request", &self.hostile);
        listed(&mut table, "hostile, answered", &self.turned_away);
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
                "upstream logins that keys in trouble may have spoiled",
                self.shadowed,
            ),
            (
                "lost, had twice, or wrong otherwise",
                self.violations.len() as u64,
            ),
        ];
        table.push('\n');
        for (name, count) in rest {
            let _ = writeln!(table, "{name:<50}{count:>10}");
        }
        let _ = write!(
            table,
            "\nfirst, when it was warm  {first}\nlast                     {last}\n\
             The broker is a process of its own: people, wire and imitated providers, and \
             what they remember, are in this one.\n"
        );
        table
    }

    /// Everything, for programs.
    pub(crate) fn json(&self, first: &Vitals, last: &Vitals) -> Value {
        let logins = self.logins.iter().map(|((flow, provider, outcome), count)| {
            json!({ "flow": flow.name(), "provider": provider, "outcome": outcome, "count": count })
        });
        let calls = self
            .told
            .iter()
            .map(|((deed, told), count)| json!({ "done": deed, "told": told, "count": count }));
        json!({
            "logins": logins.collect::<Vec<_>>(),
            "calls": calls.collect::<Vec<_>>(),
            "faults": self.faults,
            "misbehaviours": self.misbehaviours,
            "hostile": self.hostile,
            "hostile_answered": self.turned_away,
            "killed": self.killed,
            "stopped": self.stopped,
            "clock_moves": self.moves,
            "clock_moved_seconds": self.moved_seconds,
            "shadowed_upstream_logins": self.shadowed,
            "violations": self.violations,
            "first": first,
            "last": last,
        })
    }

    fn refusals(&self) -> String {
        let mut by_status = BTreeMap::<&str, u64>::new();
        for ((_, told), count) in &self.told {
            if let Some(status) = told.strip_prefix("refused ") {
                *by_status.entry(status).or_default() += count;
            }
        }
        let each: Vec<_> = by_status
            .iter()
            .map(|(status, count)| format!("{count} × {status}"))
            .collect();
        each.join(", ")
    }
}

fn listed<K: std::fmt::Display>(table: &mut String, what: &str, counts: &BTreeMap<K, u64>) {
    let _ = writeln!(table, "\n{what:<50}{:>10}", "times");
    for (name, count) in counts {
        let _ = writeln!(table, "{:<50}{count:>10}", name.to_string());
    }
}
