//! `crashes`: kills a broker, or its database, under load, again and again; starts it
//! anew; asks about every login, and checks the whole of its history. [`failover`] kills
//! the primary of a database that has a standby.

mod failover;
mod load;

use std::error::Error;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::time::pause;
use broker::store::fail_points::FailPoint;
use clap::Args;
use rocket::futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cluster::replica::PauseAt;
use crate::cluster::{Cluster, Database, Engine, Logging};
use crate::history::{Operation, Outage};
use crate::provider::Providers;
use crate::random::{Random, any_seed};
use crate::recorder::{Endpoint, Recorder};
use crate::report::{bar, duration};
use crate::{RunError, checker};
use load::{CutLogin, Load, Users};

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
    /// Kill the primary of two PostgreSQL servers, and promote its synchronous standby
    #[arg(long)]
    failover: bool,
    /// Let commits not wait for the standby, and count what is lost with the primary
    #[arg(long, requires = "failover")]
    asynchronous: bool,
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
}

/// Runs the plan and prints what was found.
pub(crate) async fn run(plan: Plan) -> Result<(), RunError> {
    if plan.failover {
        return failover::run(&plan).await;
    }
    let cluster = Cluster::start(plan.engine, plan.brokers(), Logging::Off).await?;
    let mut run = Run::of(&plan, cluster)?;
    let mut counts: Vec<_> = Kill::all(plan.engine)
        .map(|kill| (kill, Count::default()))
        .collect();
    let kills = plan.kills.get();
    let bar = bar(kills as u64, "kills");
    for index in 0..kills {
        let which = index % counts.len();
        let kill = counts[which].0;
        let count = run.kill_once(kill, index as u64).await;
        let count = count.map_err(|error| run.name(error.as_ref(), index, kill.name()))?;
        counts[which].1.add(count);
        bar.inc(1);
    }
    bar.finish_and_clear();
    writeln!(
        std::io::stdout(),
        "{kills} kills on {}, {}, seed {}, {}\n\n{}",
        plan.engine.name(),
        crate::report::broker_count(plan.brokers()),
        run.seed,
        duration(bar.elapsed()),
        count_table(counts.iter().map(|(kill, count)| (kill.name(), *count))),
    )?;
    Ok(())
}

impl Plan {
    fn brokers(&self) -> usize {
        self.brokers
            .map_or(self.engine.default_brokers(), NonZeroUsize::get)
    }
}

impl Run {
    fn of(plan: &Plan, cluster: Cluster) -> Result<Self, RunError> {
        Ok(Self {
            recorder: Arc::new(Recorder::new(cluster.clock.clone())?),
            providers: Arc::new(Providers::new(cluster.upstream.clone())),
            cluster,
            logins: plan.logins.get(),
            seed: plan.seed.unwrap_or_else(any_seed),
        })
    }

    /// An error with the numbers that lead to it again.
    fn name(&self, error: &(dyn Error + Send + Sync), index: usize, kill: &str) -> String {
        format!("{error}, kill {index} ({kill}) of seed {}", self.seed)
    }

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
            add_outage(&mut logins, died_ns, self.recorder.now_ns());
        }
        let mut count = Count::of(&logins);
        let questioned = self.question(logins, &mut random).await?;
        count.questions = questioned.questions;
        self.cluster.upstream.reset();
        match questioned.violations.into_iter().next() {
            None => Ok(count),
            Some(violation) => Err(violation.into()),
        }
    }

    async fn load_until_killed(
        &mut self,
        kill: Kill,
        random: &mut Random,
    ) -> Result<(Vec<CutLogin>, u64), RunError> {
        let mut users = self.send_users(random);
        let answers = 1 + random.below(MAX_ANSWERS) as u64;
        match kill {
            Kill::At(point) => tokio::select! {
                paused = self.cluster.brokers[0].wait_until_paused() => paused?,
                late = users.wait_for_answers(MAX_ANSWERS_BEFORE_PAUSE) => {
                    late?;
                    return Err(format!("the broker did not reach {}", point.name()).into());
                }
            },
            Kill::AnyTime | Kill::Database => users.wait_for_answers(answers).await?,
        }
        let died_ns = self.recorder.now_ns();
        match (kill, &mut self.cluster.database) {
            (Kill::Database, Database::Server(server)) => server.kill()?,
            _ => self.cluster.brokers[0].process.stop().await,
        }
        Ok((users.finish().await?, died_ns))
    }

    /// Lets users sign in at all brokers.
    fn send_users(&self, random: &mut Random) -> Users {
        let (sender, answers) = watch::channel(0);
        let load = Arc::new(self.load(self.endpoints(), sender));
        let mut tasks = JoinSet::new();
        for _ in 0..self.logins {
            tasks.spawn(load.clone().sign_in_until_over(random.fork()));
        }
        Users {
            load,
            tasks,
            answers,
        }
    }

    fn load(&self, endpoints: Vec<Endpoint>, answers: watch::Sender<u64>) -> Load {
        Load {
            recorder: self.recorder.clone(),
            providers: self.providers.clone(),
            endpoints,
            answers,
            is_over: AtomicBool::new(false),
        }
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        self.cluster.urls().into_iter().map(Endpoint::at).collect()
    }

    async fn revive(&mut self, kill: Kill) -> Result<(), RunError> {
        match (kill, &mut self.cluster.database) {
            (Kill::Database, Database::Server(server)) => server.start_again()?,
            _ => self.cluster.restart(0, None).await?,
        }
        self.wait_until_all_are_ready().await
    }

    async fn wait_until_all_are_ready(&self) -> Result<(), RunError> {
        for broker in self.cluster.urls() {
            self.wait_until_ready(&broker).await?;
        }
        Ok(())
    }

    async fn wait_until_ready(&self, broker: &str) -> Result<(), RunError> {
        for _ in 0..1_000 {
            if self.recorder.client.is_ready(broker).await {
                return Ok(());
            }
            pause(Duration::from_millis(10)).await;
        }
        Err("the broker is not ready again".into())
    }

    /// Asks about every login, and checks its history.
    async fn question(
        &self,
        logins: Vec<CutLogin>,
        random: &mut Random,
    ) -> Result<Questioned, RunError> {
        let endpoints = self.endpoints();
        let questions = logins.into_iter().map(|mut cut| {
            let endpoint = random.pick(&endpoints);
            let mut fork = random.fork();
            async move {
                let questions = cut
                    .question(&self.recorder, &self.providers, endpoint, &mut fork)
                    .await?;
                let history = &cut.login.history;
                let checked = checker::check(history);
                let violation = checked.map_err(|violation| format!("{violation}\n{history}"));
                Ok::<_, RunError>((questions, violation.err()))
            }
        });
        let questions: Vec<_> = questions.collect();
        // As many at once as there were users, whom the broker's limits let through.
        stream::iter(questions)
            .buffer_unordered(self.logins)
            .try_fold(Questioned::default(), async |mut all, (more, violation)| {
                all.questions += more;
                all.violations.extend(violation);
                Ok(all)
            })
            .await
    }
}

/// The result of the questions.
#[derive(Default)]
struct Questioned {
    /// Their number.
    questions: u64,
    /// What the model does not explain.
    violations: Vec<String>,
}

fn add_outage(logins: &mut [CutLogin], from_ns: u64, until_ns: u64) {
    for cut in logins {
        cut.login.history.outages.push(Outage { from_ns, until_ns });
    }
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
    fn of(logins: &[CutLogin]) -> Self {
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
fn count_table<'a>(counts: impl Iterator<Item = (&'a str, Count)>) -> String {
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
