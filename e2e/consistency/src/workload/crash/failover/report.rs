//! The figures of failovers.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use testkit::postgres::pair::Replication;

use super::{ANSWERS_BEHIND, Failover};
use crate::RunError;
use crate::report::duration;
use crate::workload::broker_count;
use crate::workload::crash::table::{self, Count};

/// The time until users could sign in at every broker again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resumption {
    pub(super) since_kill_ns: u64,
    /// Since the order to promote the standby.
    pub(super) since_promotion_ns: u64,
}

/// The figures of a run.
pub(super) struct Report {
    replication: Replication,
    brokers: usize,
    seed: u64,
    count: Count,
    resumptions: Vec<Resumption>,
    lost_commits: u64,
    /// The failovers that lost a commit.
    lossy: u64,
    /// The logins that the model does not explain, by the name of the violation.
    violations: BTreeMap<String, u64>,
}

/// The violation of a result that came back.
const TWICE: &str = "a result was returned twice";

impl Report {
    pub(super) fn of(replication: Replication, brokers: usize, seed: u64) -> Self {
        Self {
            replication,
            brokers,
            seed,
            count: Count::default(),
            resumptions: Vec::new(),
            lost_commits: 0,
            lossy: 0,
            violations: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, failover: Failover) {
        self.count.add(failover.count);
        self.resumptions.push(failover.resumption);
        self.lost_commits += failover.lost_commits;
        self.lossy += u64::from(failover.lost_commits > 0);
        for violation in failover.violations {
            let name = violation.split([':', ',']).next().unwrap_or_default();
            *self.violations.entry(name.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn print(&self, elapsed: Duration) -> Result<(), RunError> {
        let standby = match self.replication {
            Replication::Synchronous => "a synchronous standby",
            Replication::Asynchronous => "an asynchronous standby",
        };
        writeln!(
            std::io::stdout(),
            "{} failovers to {standby} on PostgreSQL, {}, seed {}, {}\n\n{}\n{}\n{}",
            self.count.kills,
            broker_count(self.brokers),
            self.seed,
            duration(elapsed),
            table::of(std::iter::once(("primary", self.count))),
            self.resumptions(),
            self.losses(),
        )?;
        Ok(())
    }

    fn resumptions(&self) -> String {
        let line = |since: &str, time: fn(&Resumption) -> u64| {
            let mut times: Vec<_> = self.resumptions.iter().map(time).collect();
            times.sort_unstable();
            let ms =
                |ns: Option<&u64>| format!("{} ms", ns.copied().unwrap_or_default() / 1_000_000);
            let (median, worst) = (ms(times.get(times.len() / 2)), ms(times.last()));
            format!("{since:<24}{median:>12}{worst:>12}\n")
        };
        format!("{:<24}{:>12}{:>12}\n", "sign-ins go on", "median", "worst")
            + &line("after the kill", |it| it.since_kill_ns)
            + &line("after the promotion", |it| it.since_promotion_ns)
    }

    fn losses(&self) -> String {
        if self.replication == Replication::Synchronous {
            return "Nothing acknowledged was lost, and nothing was served twice.".to_owned();
        }
        let logins: u64 = self.violations.values().sum();
        let twice = match self.violations.get(TWICE) {
            None => "No consumed result came back".to_owned(),
            Some(count) => format!("Consumed results came back: {count}"),
        };
        let names = self.violations.iter();
        let names: String = names
            .map(|(name, count)| format!("\n{count:>8}  {name}"))
            .collect();
        format!(
            "{} of {} failovers lost {} commits, and {logins} logins an acknowledged step; every \
             second standby was {ANSWERS_BEHIND} answers behind.\n\
             {twice}: an asynchronous standby does not protect single use.{names}",
            self.lossy, self.count.kills, self.lost_commits,
        )
    }
}
