//! `crashes`: kills a broker, or its database, under load, again and again; starts it
//! anew; asks about every login, and checks the whole of its history. [`failover`] takes the
//! primary from a database that has a standby.

mod failover;
mod load;
mod run;

use std::io::Write as _;

use agent::random::Random;
use broker::store::fail_points::FailPoint;

use crate::RunError;
use crate::cluster::replica::PauseAt;
use crate::cluster::{Cluster, Database, Engine, Logging};
use crate::run::{bar, broker_count, duration};
use load::CutLogin;
use run::{Count, MAX_ANSWERS, Run, add_outage, count_table};

pub(crate) use run::Plan;

/// A broker pauses when it reaches a fail point for at most this time.
const MAX_PASSES: usize = 60;
/// A broker that has not reached its fail point by now never will.
const MAX_ANSWERS_BEFORE_PAUSE: u64 = 20_000;

/// Runs the plan and prints what was found.
pub(crate) async fn run(plan: Plan) -> Result<(), RunError> {
    if plan.failover || plan.patroni {
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
        plan.engine,
        broker_count(plan.brokers()),
        run.seed,
        duration(bar.elapsed()),
        count_table(counts.iter().map(|(kill, count)| (kill.name(), *count))),
    )?;
    Ok(())
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
        self.cluster.restart(0).await?;
        if let Some(pause_at) = pause_at {
            self.cluster.brokers[0].pause_at(pause_at).await?;
        }
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
            _ => self.cluster.brokers[0].process.stop(),
        }
        Ok((users.finish().await?, died_ns))
    }

    async fn revive(&mut self, kill: Kill) -> Result<(), RunError> {
        match (kill, &mut self.cluster.database) {
            (Kill::Database, Database::Server(server)) => server.start_again()?,
            _ => self.cluster.restart(0).await?,
        }
        self.wait_until_all_are_ready().await
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
