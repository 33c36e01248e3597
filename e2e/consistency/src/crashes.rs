//! Kills a broker, or its database, under load, again and again; starts it anew;
//! asks for everything that had been acknowledged.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broker::store::fail_points::FailPoint;
use clap::Args;
use rocket::futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Failure;
use crate::chance::{Chance, any_seed};
use crate::client::Client;
use crate::fleet::{Engine, Fleet, Manner};
use crate::load::Work;
use crate::memory::{Death, Inquiry, Memory};
use crate::replica::Halt;
use crate::report::{bar, spoken};

/// How often to kill, and whom.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// How many kills
    #[arg(default_value = "20")]
    kills: NonZeroUsize,
    /// Which store
    #[arg(long, value_enum, default_value_t = Engine::Sqlite)]
    engine: Engine,
    /// How many broker processes share it; the first is killed [default: 1 on
    /// SQLite, 2 on PostgreSQL]
    #[arg(long)]
    brokers: Option<NonZeroUsize>,
    /// How many people sign in at once
    #[arg(long, default_value = "8")]
    logins: NonZeroUsize,
    /// What decides who does what, and what is killed when [default: any]
    #[arg(long)]
    seed: Option<u64>,
}

/// One way to die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kill {
    /// `kill -9` of a broker, whatever it is doing.
    AnyTime,
    /// `kill -9` of a broker that halted at a point.
    At(FailPoint),
    /// `kill -9` of the database server and all its children.
    Database,
}

/// Kills are so many answers after the start, at most; a broker is halted at so
/// many passes of a point.
const LATEST_ANSWER: usize = 300;
const LATEST_PASS: usize = 60;
/// A broker that did not come by its point by now is killed as it is.
const GIVE_UP_AFTER_ANSWERS: u64 = 5_000;

struct Run {
    fleet: Fleet,
    client: Client,
    logins: usize,
    seed: u64,
    counts: Vec<(Kill, Count)>,
}

/// What came of the kills of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    kills: u64,
    logins: u64,
    facts: u64,
}

/// Runs the plan and prints what was found.
pub(crate) async fn run(plan: Plan) -> Result<(), Failure> {
    let brokers = plan
        .brokers
        .map_or(plan.engine.usual_brokers(), NonZeroUsize::get);
    let seed = plan.seed.unwrap_or_else(any_seed);
    let mut run = Run {
        fleet: Fleet::start(plan.engine, brokers, Manner::Silent).await?,
        client: Client::new()?,
        logins: plan.logins.get(),
        seed,
        counts: Kill::all(plan.engine)
            .map(|kill| (kill, Count::default()))
            .collect(),
    };
    let kills = plan.kills.get();
    let bar = bar(kills as u64, "kills");
    for index in 0..kills {
        let which = index % run.counts.len();
        let died = run.kill_once(run.counts[which].0, index as u64).await;
        let count = died.map_err(|why| {
            format!(
                "kill {index} of seed {seed}, {}: {why}",
                run.counts[which].0.name()
            )
        })?;
        run.counts[which].1.add(count);
        bar.inc(1);
    }
    bar.finish_and_clear();
    writeln!(
        std::io::stdout(),
        "{kills} kills on {}, {brokers} broker(s), seed {seed}, {}\n\n{}",
        plan.engine.name(),
        spoken(bar.elapsed()),
        run.table(),
    )?;
    Ok(())
}

impl Kill {
    fn all(engine: Engine) -> impl Iterator<Item = Self> {
        let database = (engine == Engine::Postgres).then_some(Self::Database);
        std::iter::once(Self::AnyTime)
            .chain(FailPoint::ALL.map(Self::At))
            .chain(database)
    }

    fn name(self) -> &'static str {
        match self {
            Self::AnyTime => "any time",
            Self::At(point) => point.name(),
            Self::Database => "database",
        }
    }

    fn death(self) -> Death {
        match self {
            Self::AnyTime | Self::At(_) => Death::Broker,
            Self::Database => Death::Database,
        }
    }
}

impl Run {
    /// Load, one death, and the questions afterwards.
    async fn kill_once(&mut self, kill: Kill, index: u64) -> Result<Count, Failure> {
        let mut chance = Chance::of(self.seed, index);
        let halt = match kill {
            Kill::At(point) => Some(Halt {
                point,
                nth: 1 + chance.below(LATEST_PASS),
            }),
            Kill::AnyTime | Kill::Database => None,
        };
        self.fleet.start_first_again(halt).await?;
        let memories = self.work_until_death(kill, &mut chance).await?;
        self.revive(kill).await?;
        let facts = self.inquire(&memories, kill.death(), &mut chance).await?;
        self.fleet.upstream.reset();
        Ok(Count {
            kills: 1,
            logins: memories.len() as u64,
            facts,
        })
    }

    async fn work_until_death(
        &mut self,
        kill: Kill,
        chance: &mut Chance,
    ) -> Result<Vec<Memory>, Failure> {
        let (answers, mut count) = watch::channel(0);
        let work = Work {
            client: self.client.clone(),
            brokers: self.fleet.urls().into(),
            answers: Arc::new(answers),
            is_over: Arc::new(AtomicBool::new(false)),
        };
        let mut working = JoinSet::new();
        for _ in 0..self.logins {
            working.spawn(work.clone().go_on(chance.apart()));
        }
        let enough = 1 + chance.below(LATEST_ANSWER) as u64;
        match kill {
            Kill::At(_) => tokio::select! {
                halted = self.fleet.brokers[0].halted() => halted?,
                late = count.wait_for(|count| *count >= GIVE_UP_AFTER_ANSWERS) => drop(late?),
            },
            Kill::AnyTime | Kill::Database => drop(count.wait_for(|count| *count >= enough).await?),
        }
        match (kill, &mut self.fleet.database) {
            (Kill::Database, Some(server)) => server.kill()?,
            _ => self.fleet.brokers[0].kill().await?,
        }
        work.is_over.store(true, Ordering::Relaxed);
        let mut memories = Vec::new();
        while let Some(worked) = working.join_next().await {
            memories.extend(worked??);
        }
        Ok(memories)
    }

    async fn revive(&mut self, kill: Kill) -> Result<(), Failure> {
        match (kill, &mut self.fleet.database) {
            (Kill::Database, Some(server)) => server.start_again()?,
            _ => self.fleet.start_first_again(None).await?,
        }
        for broker in self.fleet.urls() {
            self.wait_until_ready(&broker).await?;
        }
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "waits for another process, which no clock of ours moves"
    )]
    async fn wait_until_ready(&self, broker: &str) -> Result<(), Failure> {
        for _ in 0..1_000 {
            if self.client.is_ready(broker).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err("the broker is not ready again".into())
    }

    async fn inquire(
        &self,
        memories: &[Memory],
        death: Death,
        chance: &mut Chance,
    ) -> Result<u64, Failure> {
        let urls = self.fleet.urls();
        let inquiries = memories.iter().map(|memory| {
            let mut inquiry = Inquiry {
                client: &self.client,
                broker: &urls[chance.below(urls.len())],
                death,
                facts: 0,
            };
            async move {
                inquiry.about(memory).await?;
                Ok::<u64, Failure>(inquiry.facts)
            }
        });
        let inquiries: Vec<_> = inquiries.collect();
        // No more at once than there were people: a broker may refuse a crowd.
        stream::iter(inquiries)
            .buffer_unordered(self.logins)
            .try_fold(0, async |facts, more| Ok(facts + more))
            .await
    }

    fn table(&self) -> String {
        let header = format!(
            "{:<16}{:>8}{:>10}{:>10}\n",
            "killed", "kills", "logins", "facts"
        );
        let lines = self.counts.iter().map(|(kill, it)| {
            format!(
                "{:<16}{:>8}{:>10}{:>10}\n",
                kill.name(),
                it.kills,
                it.logins,
                it.facts
            )
        });
        header + &lines.collect::<String>()
    }
}

impl Count {
    fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.logins += other.logins;
        self.facts += other.facts;
    }
}
