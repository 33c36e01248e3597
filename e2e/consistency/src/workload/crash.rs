//! `crashes`: kills a broker, or its database, under load, again and again; starts it
//! anew; asks about every login, and checks the whole of its history.

mod load;

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

use crate::RunError;
use crate::checker;
use crate::cluster::replica::PauseAt;
use crate::cluster::{Cluster, Engine, Logging};
use crate::history::Outage;
use crate::operation::Operation;
use crate::provider::Providers;
use crate::random::{Random, any_seed};
use crate::recorder::{Endpoint, Recorder};
use crate::report::{bar, duration};
use load::{CutLogin, Load};

/// The number of kills, and of what.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Number of kills
    #[arg(default_value = "20")]
    kills: NonZeroUsize,
    /// The store
    #[arg(long, value_enum, default_value_t = Engine::Sqlite)]
    engine: Engine,
    /// Number of broker processes that share it; the first is killed [default: 1 on
    /// SQLite, 2 on PostgreSQL]
    #[arg(long)]
    brokers: Option<NonZeroUsize>,
    /// Number of users that sign in at once
    #[arg(long, default_value = "8")]
    logins: NonZeroUsize,
    /// Seed of the random decisions: the users' steps and the kills [default: any]
    #[arg(long)]
    seed: Option<u64>,
}

/// One kind of kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kill {
    /// `kill -9` of a broker, whatever it is doing.
    AnyTime,
    /// `kill -9` of a broker that paused at a fail point.
    At(FailPoint),
    /// `kill -9` of the database server and all its children.
    Database,
}

/// A kill follows the start by at most this many answers; a broker pauses when it
/// reaches a fail point for at most this time.
const MAX_ANSWERS: usize = 300;
const MAX_PASSES: usize = 60;
/// A broker that has not reached its fail point by now never will.
const MAX_ANSWERS_BEFORE_PAUSE: u64 = 20_000;

struct Run {
    cluster: Cluster,
    recorder: Arc<Recorder>,
    providers: Arc<Providers>,
    logins: usize,
    seed: u64,
    counts: Vec<(Kill, Count)>,
}

/// The counts of the kills of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    kills: u64,
    logins: u64,
    /// Operations whose answer was lost.
    unanswered: u64,
    /// Questions that were asked afterwards.
    questions: u64,
}

/// Runs the plan and prints what was found.
pub(crate) async fn run(plan: Plan) -> Result<(), RunError> {
    let brokers = plan
        .brokers
        .map_or(plan.engine.default_brokers(), NonZeroUsize::get);
    let seed = plan.seed.unwrap_or_else(any_seed);
    let cluster = Cluster::start(plan.engine, brokers, Logging::Off).await?;
    let mut run = Run {
        recorder: Arc::new(Recorder::new(cluster.clock.clone())?),
        providers: Arc::new(Providers::new(cluster.upstream.clone())),
        cluster,
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
        let kill = run.counts[which].0;
        let count = run.kill_once(kill, index as u64).await;
        let count = count
            .map_err(|error| format!("{error}, kill {index} ({}) of seed {seed}", kill.name()))?;
        run.counts[which].1.add(count);
        bar.inc(1);
    }
    bar.finish_and_clear();
    writeln!(
        std::io::stdout(),
        "{kills} kills on {}, {}, seed {seed}, {}\n\n{}",
        plan.engine.name(),
        super::broker_count(brokers),
        duration(bar.elapsed()),
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
}

impl Run {
    /// Load, one kill, and the questions afterwards.
    async fn kill_once(&mut self, kill: Kill, index: u64) -> Result<Count, RunError> {
        let mut random = Random::of(self.seed, index);
        let pause_at = match kill {
            Kill::At(point) => Some(PauseAt {
                point,
                nth: 1 + random.below(MAX_PASSES),
            }),
            Kill::AnyTime | Kill::Database => None,
        };
        self.cluster.restart(0, pause_at).await?;
        let (mut logins, died_ns) = self.load_until_killed(kill, &mut random).await?;
        self.revive(kill).await?;
        if kill == Kill::Database {
            let until_ns = self.recorder.now_ns();
            let from_ns = died_ns;
            for cut in &mut logins {
                cut.login.history.outages.push(Outage { from_ns, until_ns });
            }
        }
        let count = Count {
            kills: 1,
            logins: logins.len() as u64,
            unanswered: logins.iter().map(unanswered).sum(),
            questions: self.question(logins, &mut random).await?,
        };
        self.cluster.upstream.reset();
        Ok(count)
    }

    async fn load_until_killed(
        &mut self,
        kill: Kill,
        random: &mut Random,
    ) -> Result<(Vec<CutLogin>, u64), RunError> {
        let (answers, mut count) = watch::channel(0);
        let load = Arc::new(Load {
            recorder: self.recorder.clone(),
            providers: self.providers.clone(),
            endpoints: self.endpoints(),
            answers,
            is_over: AtomicBool::new(false),
        });
        let mut users = JoinSet::new();
        for _ in 0..self.logins {
            users.spawn(load.clone().sign_in_until_over(random.fork()));
        }
        let answers = 1 + random.below(MAX_ANSWERS) as u64;
        match kill {
            Kill::At(point) => tokio::select! {
                paused = self.cluster.brokers[0].wait_until_paused() => paused?,
                late = count.wait_for(|count| *count >= MAX_ANSWERS_BEFORE_PAUSE) => {
                    drop(late?);
                    return Err(format!("the broker did not reach {}", point.name()).into());
                }
            },
            Kill::AnyTime | Kill::Database => {
                drop(count.wait_for(|count| *count >= answers).await?);
            }
        }
        let died_ns = self.recorder.now_ns();
        match (kill, &mut self.cluster.database) {
            (Kill::Database, Some(server)) => server.kill()?,
            _ => self.cluster.brokers[0].kill().await?,
        }
        load.is_over.store(true, Ordering::Relaxed);
        let mut logins = Vec::new();
        while let Some(done) = users.join_next().await {
            logins.extend(done??);
        }
        Ok((logins, died_ns))
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        self.cluster.urls().into_iter().map(Endpoint::at).collect()
    }

    async fn revive(&mut self, kill: Kill) -> Result<(), RunError> {
        match (kill, &mut self.cluster.database) {
            (Kill::Database, Some(server)) => server.start_again()?,
            _ => self.cluster.restart(0, None).await?,
        }
        for broker in self.cluster.urls() {
            self.wait_until_ready(&broker).await?;
        }
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "waits for another process, which no clock of ours moves"
    )]
    async fn wait_until_ready(&self, broker: &str) -> Result<(), RunError> {
        for _ in 0..1_000 {
            if self.recorder.client.is_ready(broker).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err("the broker is not ready again".into())
    }

    /// Asks about every login, checks its history, and counts the questions.
    async fn question(&self, logins: Vec<CutLogin>, random: &mut Random) -> Result<u64, RunError> {
        let endpoints = self.endpoints();
        let questions = logins.into_iter().map(|mut cut| {
            let endpoint = random.pick(&endpoints);
            let mut fork = random.fork();
            async move {
                let questions = cut
                    .question(&self.recorder, &self.providers, endpoint, &mut fork)
                    .await?;
                let history = &cut.login.history;
                checker::check(history).map_err(|violation| format!("{violation}\n{history}"))?;
                Ok::<u64, RunError>(questions)
            }
        });
        let questions: Vec<_> = questions.collect();
        // As many at once as there were users, whom the broker's limits let through.
        stream::iter(questions)
            .buffer_unordered(self.logins)
            .try_fold(0, async |all, more| Ok(all + more))
            .await
    }

    fn table(&self) -> String {
        let header = format!(
            "{:<16}{:>8}{:>10}{:>12}{:>12}\n",
            "killed", "kills", "logins", "unanswered", "questions"
        );
        let lines = self.counts.iter().map(|(kill, it)| {
            format!(
                "{:<16}{:>8}{:>10}{:>12}{:>12}\n",
                kill.name(),
                it.kills,
                it.logins,
                it.unanswered,
                it.questions
            )
        });
        header + &lines.collect::<String>()
    }
}

fn unanswered(cut: &CutLogin) -> u64 {
    let operations = cut.login.history.operations.iter();
    let unanswered = operations.filter(|it: &&Operation| !it.is_definite());
    unanswered.count() as u64
}

impl Count {
    fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.logins += other.logins;
        self.unanswered += other.unanswered;
        self.questions += other.questions;
    }
}
