//! `crashes --failover`: kills the primary of two PostgreSQL servers under load and
//! promotes its standby; the brokers find it by themselves, and users sign in all the
//! while. For the next kill, the dead server becomes the standby of the promoted one.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use agent::random::Random;
use testkit::postgres::pair::{Pair, Replication};
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
        return Err("--failover kills one of two PostgreSQL servers: add --engine postgres".into());
    }
    let replication = match plan.asynchronous {
        true => Replication::Asynchronous,
        false => Replication::Synchronous,
    };
    let pair = Database::start_pair(replication)?;
    let cluster = Cluster::start_on(pair, plan.brokers(), Logging::Off, None).await?;
    let mut run = Run::of(plan, cluster)?;
    run.wait_until_all_are_ready().await?;
    let mut report = Report::of(replication, plan.brokers(), run.seed);
    let bar = bar(plan.kills.get() as u64, "kills");
    for index in 0..plan.kills.get() {
        let failover = run.fail_over_once(replication, index).await;
        let failover = failover.map_err(|error| run.name(error.as_ref(), index, "primary"))?;
        report.add(failover);
        bar.inc(1);
    }
    bar.finish_and_clear();
    report.print(bar.elapsed())
}

/// One failover.
struct Failover {
    count: Count,
    resumption: Resumption,
    /// The commits of the primary that its standby had not received.
    lost_commits: u64,
    /// The findings that the model does not explain.
    violations: Vec<String>,
}

impl Run {
    /// Load, the death of the primary, the questions afterwards, and a new standby.
    async fn fail_over_once(
        &mut self,
        replication: Replication,
        index: usize,
    ) -> Result<Failover, RunError> {
        let mut random = Random::of(self.seed, index as u64);
        let mut users = self.send_users(&mut random);
        let answers = 1 + random.below(MAX_ANSWERS) as u64;
        users.wait_for_answers(answers).await?;
        if replication == Replication::Asynchronous && index.is_multiple_of(2) {
            block_in_place(|| self.pair()?.freeze_replication())?;
            let answered = *users.answers.borrow();
            users.wait_for_answers(answered + ANSWERS_BEHIND).await?;
        }

        let killed_ns = self.recorder.now_ns();
        block_in_place(|| self.pair()?.kill_primary())?;
        let probes = self.probe(&mut random);
        let ordered_ns = self.recorder.now_ns();
        block_in_place(|| self.pair()?.promote_standby())?;
        let mut logins = finish(probes).await?;
        let resumed_ns = self.recorder.now_ns();

        let answered = *users.answers.borrow();
        users
            .wait_for_answers(answered + ANSWERS_AFTERWARDS)
            .await?;
        logins.extend(users.finish().await?);
        add_outage(&mut logins, killed_ns, resumed_ns);
        let mut count = Count::of(&logins);
        let questioned = self.question(logins, &mut random).await?;
        count.questions = questioned.questions;
        let violations = questioned.violations;
        if let (Replication::Synchronous, Some(violation)) = (replication, violations.first()) {
            return Err(violation.clone().into());
        }
        let lost_commits = block_in_place(|| self.pair()?.lost_commits())?;
        block_in_place(|| self.pair()?.replace_standby())?;
        self.cluster.upstream.reset();
        Ok(Failover {
            count,
            resumption: Resumption {
                since_kill_ns: resumed_ns - killed_ns,
                since_promotion_ns: resumed_ns - ordered_ns,
            },
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

    fn pair(&mut self) -> std::io::Result<&mut Pair> {
        match &mut self.cluster.database {
            Database::Pair(pair) => Ok(pair),
            _ => unreachable!("the cluster was started on a pair"),
        }
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

/// The time until users could sign in at every broker again.
#[derive(Debug, Clone, Copy)]
struct Resumption {
    since_kill_ns: u64,
    /// Since the order to promote the standby.
    since_promotion_ns: u64,
}

/// The figures of a run.
struct Report {
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
    fn of(replication: Replication, brokers: usize, seed: u64) -> Self {
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

    fn add(&mut self, failover: Failover) {
        self.count.add(failover.count);
        self.resumptions.push(failover.resumption);
        self.lost_commits += failover.lost_commits;
        self.lossy += u64::from(failover.lost_commits > 0);
        for violation in failover.violations {
            let name = violation.split([':', ',']).next().unwrap_or_default();
            *self.violations.entry(name.to_owned()).or_default() += 1;
        }
    }

    fn print(&self, elapsed: Duration) -> Result<(), RunError> {
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
            count_table(std::iter::once(("primary", self.count))),
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
