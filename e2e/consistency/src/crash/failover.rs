//! `crashes --failover`: kills the primary of two PostgreSQL servers under load and
//! promotes its standby; the brokers find it by themselves, and users sign in all the
//! while. For the next kill, the dead server becomes the standby of the promoted one.
//! `crashes --patroni`: freezes, cuts off and kills the primary of three in turn; Patroni
//! promotes another, and users sign in until the old primary follows it.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use agent::random::Random;
use testkit::postgres::pair::{Pair, Replication};
use testkit::postgres::patroni::{Failure, Patroni};
use tokio::sync::watch;
use tokio::task::{JoinSet, block_in_place};

use super::load::CutLogin;
use super::run::{Count, MAX_ANSWERS, Plan, Run, add_outage, count_table};
use crate::RunError;
use crate::cluster::{Cluster, Database, Engine, Logging};
use crate::run::{bar, broker_count, duration};

/// The answers that users get from the promoted server before the load ends.
const ANSWERS_AFTERWARDS: u64 = 100;

/// The answers by which an asynchronous standby is behind at every second kill, at
/// least. At the others it is as close as one is on one machine.
const ANSWERS_BEHIND: u64 = 30;

/// Runs the plan and prints what was found.
pub(super) async fn run(plan: &Plan) -> Result<(), RunError> {
    if plan.engine != Engine::Postgres {
        return Err(
            "--failover and --patroni kill PostgreSQL servers: add --engine postgres".into(),
        );
    }
    let replication = match plan.asynchronous {
        true => Replication::Asynchronous,
        false => Replication::Synchronous,
    };
    let (database, failures) = match plan.patroni {
        true => (Database::Patroni(Patroni::start()?), &Failure::ALL[..]),
        false => (
            Database::Pair(Pair::start(replication)?),
            &[Failure::Kill][..],
        ),
    };
    let cluster = Cluster::start_on(database, plan.brokers(), Logging::Off, None).await?;
    let mut run = Run::of(plan, cluster)?;
    run.wait_until_all_are_ready().await?;
    let mut report = Report::default();
    let bar = bar(plan.kills.get() as u64, "failovers");
    for index in 0..plan.kills.get() {
        let failure = failures[index % failures.len()];
        let failover = run.fail_over_once(failure, replication, index).await;
        let failover = failover.map_err(|error| run.name(error.as_ref(), index, failure.name()))?;
        report.add(failure, failover);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let means = match (plan.patroni, replication) {
        (true, _) => "by Patroni",
        (false, Replication::Synchronous) => "to a synchronous standby",
        (false, Replication::Asynchronous) => "to an asynchronous standby",
    };
    writeln!(
        io::stdout(),
        "{} failovers {means} on PostgreSQL, {}, seed {}, {}\n\n{}\n{}\n{}",
        plan.kills,
        broker_count(plan.brokers()),
        run.seed,
        duration(bar.elapsed()),
        count_table(report.counts.iter().map(|(failure, it)| (*failure, *it))),
        report.resumptions(),
        report.losses(replication),
    )?;
    Ok(())
}

/// One failover.
struct Failover {
    count: Count,
    /// The time until users could sign in at every broker again.
    since_failure_ns: u64,
    /// Since the standby was ordered to promote itself, if it was.
    since_order_ns: Option<u64>,
    /// The commits of the primary that its standby had not received.
    lost_commits: u64,
    /// The findings that the model does not explain.
    violations: Vec<String>,
}

impl Run {
    /// Load, the failure of the primary, the questions afterwards, and a new standby.
    async fn fail_over_once(
        &mut self,
        failure: Failure,
        replication: Replication,
        index: usize,
    ) -> Result<Failover, RunError> {
        let mut random = Random::of(self.seed, index as u64);
        let mut users = self.send_users(&mut random);
        let answers = 1 + random.below(MAX_ANSWERS) as u64;
        users.wait_for_answers(answers).await?;
        if replication == Replication::Asynchronous && index.is_multiple_of(2) {
            block_in_place(|| self.cluster.database.fall_behind())?;
            let answered = *users.answers.borrow();
            users.wait_for_answers(answered + ANSWERS_BEHIND).await?;
        }

        let failed_ns = self.recorder.now_ns();
        block_in_place(|| self.cluster.database.fail(failure))?;
        let probes = self.probe(&mut random);
        let ordered_ns = self.recorder.now_ns();
        let is_ordered = block_in_place(|| self.cluster.database.promote())?;
        let mut logins = finish(probes).await?;
        let resumed_ns = self.recorder.now_ns();

        let answered = *users.answers.borrow();
        users
            .wait_for_answers(answered + ANSWERS_AFTERWARDS)
            .await?;
        block_in_place(|| self.cluster.database.heal())?;
        logins.extend(users.finish().await?);
        add_outage(&mut logins, failed_ns, resumed_ns);
        let mut count = Count::of(&logins);
        let questioned = self.question(logins, &mut random).await?;
        count.questions = questioned.questions;
        let violations = questioned.violations;
        if let (Replication::Synchronous, Some(violation)) = (replication, violations.first()) {
            return Err(violation.clone().into());
        }
        let lost_commits = block_in_place(|| self.cluster.database.replace_standby())?;
        self.cluster.upstream.reset();
        Ok(Failover {
            count,
            since_failure_ns: resumed_ns - failed_ns,
            since_order_ns: is_ordered.then(|| resumed_ns - ordered_ns),
            lost_commits,
            violations,
        })
    }

    /// Signs in at each broker until it succeeds.
    fn probe(&self, random: &mut Random) -> JoinSet<Result<Vec<CutLogin>, RunError>> {
        let mut probes = JoinSet::new();
        for endpoint in self.endpoints() {
            let load = self.load(vec![endpoint], watch::Sender::new(0));
            let random = random.fork();
            probes.spawn(async move { load.sign_in_until_one_succeeds(random).await });
        }
        probes
    }
}

/// The steps of a failover. Patroni promotes, and keeps its standbys, by itself.
impl Database {
    fn fall_behind(&mut self) -> io::Result<()> {
        match self {
            Self::Pair(pair) => pair.freeze_replication(),
            _ => Ok(()),
        }
    }

    fn fail(&mut self, failure: Failure) -> io::Result<()> {
        match self {
            Self::Pair(pair) => pair.kill_primary(),
            Self::Patroni(patroni) => patroni.fail(failure),
            Self::File | Self::Server(_) => unreachable!("it has no standby"),
        }
    }

    /// Orders the standby to promote itself, if it waits for the order.
    fn promote(&mut self) -> io::Result<bool> {
        match self {
            Self::Pair(pair) => pair.promote_standby().map(|()| true),
            _ => Ok(false),
        }
    }

    fn heal(&mut self) -> io::Result<()> {
        match self {
            Self::Patroni(patroni) => patroni.heal(),
            _ => Ok(()),
        }
    }

    /// Makes the dead primary a standby, and counts the commits that are lost with it.
    fn replace_standby(&mut self) -> io::Result<u64> {
        let Self::Pair(pair) = self else {
            return Ok(0);
        };
        let lost_commits = pair.lost_commits()?;
        pair.replace_standby()?;
        Ok(lost_commits)
    }
}

async fn finish(
    mut probes: JoinSet<Result<Vec<CutLogin>, RunError>>,
) -> Result<Vec<CutLogin>, RunError> {
    let mut logins = Vec::new();
    while let Some(done) = probes.join_next().await {
        logins.extend(done??);
    }
    Ok(logins)
}

/// The figures of a run.
#[derive(Default)]
struct Report {
    /// By the name of the failure.
    counts: BTreeMap<&'static str, Count>,
    /// The times until users could sign in again, in nanoseconds, by what they count from.
    resumptions: BTreeMap<&'static str, Vec<u64>>,
    lost_commits: u64,
    /// The failovers that lost a commit.
    lossy: u64,
    /// The logins that the model does not explain, by the name of the violation.
    violations: BTreeMap<String, u64>,
}

/// The violation of a result that came back.
const TWICE: &str = "a result was returned twice";

impl Report {
    fn add(&mut self, failure: Failure, failover: Failover) {
        let count = self.counts.entry(failure.name()).or_default();
        count.add(failover.count);
        let times = [
            (failure.name(), Some(failover.since_failure_ns)),
            ("promotion", failover.since_order_ns),
        ];
        for (since, ns) in times {
            self.resumptions.entry(since).or_default().extend(ns);
        }
        self.lost_commits += failover.lost_commits;
        self.lossy += u64::from(failover.lost_commits > 0);
        for violation in failover.violations {
            let name = violation.split([':', ',']).next().unwrap_or_default();
            *self.violations.entry(name.to_owned()).or_default() += 1;
        }
    }

    fn resumptions(&self) -> String {
        let mut text = format!("{:<24}{:>12}{:>12}\n", "sign-ins go on", "median", "worst");
        for (since, times) in self.resumptions.iter().filter(|(_, it)| !it.is_empty()) {
            let mut times = times.clone();
            times.sort_unstable();
            let ms =
                |ns: Option<&u64>| format!("{} ms", ns.copied().unwrap_or_default() / 1_000_000);
            let (median, worst) = (ms(times.get(times.len() / 2)), ms(times.last()));
            text += &format!("after the {since:<14}{median:>12}{worst:>12}\n");
        }
        text
    }

    fn losses(&self, replication: Replication) -> String {
        if replication == Replication::Synchronous {
            return "Nothing acknowledged was lost, and nothing was served twice.".to_owned();
        }
        let failovers: u64 = self.counts.values().map(|it| it.kills).sum();
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
            "{} of {failovers} failovers lost {} commits, and {logins} logins an acknowledged \
             step; every second standby was {ANSWERS_BEHIND} answers behind.\n\
             {twice}: an asynchronous standby does not protect single use.{names}",
            self.lossy, self.lost_commits,
        )
    }
}
