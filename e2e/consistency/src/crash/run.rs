//! A cluster under load, for both kinds of runs: its users, the questions about their logins
//! after a kill, and the counts.

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::random::{Random, any_seed};
use agent::time::pause;
use clap::Args;
use rocket::futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::load::{CutLogin, Load, Servers, Users};
use crate::RunError;
use crate::cluster::{Cluster, Engine};
use crate::provider::Providers;
use crate::recorder::{Endpoint, Recorder};
use checker::history::{Operation, Outage, Outcome};

/// A kill follows the start by at most this many answers.
pub(super) const MAX_ANSWERS: usize = 300;

/// The number of kills, and of what.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Number of kills
    #[arg(default_value = "20")]
    pub(super) kills: NonZeroUsize,
    /// The store
    #[arg(long, value_enum, default_value_t = Engine::Sqlite)]
    pub(super) engine: Engine,
    /// Number of broker processes that share it; the first is killed [default: 1 on
    /// SQLite, 2 on PostgreSQL]
    #[arg(long)]
    pub(super) brokers: Option<NonZeroUsize>,
    /// Number of users that sign in at once
    #[arg(long, default_value = "8")]
    pub(super) logins: NonZeroUsize,
    /// Seed of the random decisions: the users' steps and the kills [default: any]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Kill the primary of two PostgreSQL servers, and promote its synchronous standby
    #[arg(long)]
    pub(super) failover: bool,
    /// Let commits not wait for the standby, and count what is lost with the primary
    #[arg(long, requires = "failover")]
    pub(super) asynchronous: bool,
    /// Freeze, cut off and kill in turn the primary of three PostgreSQL servers under Patroni
    #[arg(long, conflicts_with = "failover")]
    pub(super) patroni: bool,
}

/// A cluster, and what its users and their questions need.
pub(super) struct Run {
    pub(super) cluster: Cluster,
    pub(super) recorder: Arc<Recorder>,
    pub(super) providers: Arc<Providers>,
    pub(super) logins: usize,
    pub(super) seed: u64,
}

impl Plan {
    pub(super) fn brokers(&self) -> usize {
        self.engine.brokers(self.brokers)
    }
}

impl Run {
    pub(super) fn of(plan: &Plan, cluster: Cluster) -> Result<Self, RunError> {
        Ok(Self {
            recorder: Arc::new(Recorder::new(cluster.clock.clone())?),
            providers: Arc::new(Providers::new(cluster.upstream.clone())),
            cluster,
            logins: plan.logins.get(),
            seed: plan.seed.unwrap_or_else(any_seed),
        })
    }

    /// An error with the numbers that lead to it again.
    pub(super) fn name(
        &self,
        error: &(dyn Error + Send + Sync),
        index: usize,
        kill: &str,
    ) -> String {
        format!("{error}, kill {index} ({kill}) of seed {}", self.seed)
    }

    /// Lets users sign in at all brokers.
    pub(super) fn send_users(&self, random: &mut Random) -> Users {
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

    pub(super) fn load(&self, endpoints: Vec<Endpoint>, answers: watch::Sender<u64>) -> Load {
        Load {
            recorder: self.recorder.clone(),
            providers: self.providers.clone(),
            endpoints,
            answers,
            is_over: AtomicBool::new(false),
        }
    }

    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        self.cluster.urls().into_iter().map(Endpoint::at).collect()
    }

    pub(super) async fn wait_until_all_are_ready(&self) -> Result<(), RunError> {
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
    pub(super) async fn question(
        &self,
        logins: Vec<CutLogin>,
        random: &mut Random,
    ) -> Result<Questioned, RunError> {
        let endpoints = self.endpoints();
        let questions = logins.into_iter().map(|mut cut| {
            let servers = Servers {
                recorder: &self.recorder,
                providers: &self.providers,
                endpoint: random.pick(&endpoints),
            };
            let mut fork = random.fork();
            async move {
                let questions = cut.question(servers, &mut fork).await?;
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
pub(super) struct Questioned {
    /// Their number.
    pub(super) questions: u64,
    /// The findings that the model does not explain.
    pub(super) violations: Vec<String>,
}

pub(super) fn add_outage(logins: &mut [CutLogin], from_ns: u64, until_ns: u64) {
    for cut in logins {
        cut.login.history.outages.push(Outage { from_ns, until_ns });
    }
}

/// The counts of the kills of one kind.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Count {
    pub(super) kills: u64,
    pub(super) logins: u64,
    /// Operations whose answer was lost, or was 503.
    pub(super) unanswered: u64,
    /// Those of them that were answered with 503.
    pub(super) unavailable: u64,
    /// Questions that were asked afterwards.
    pub(super) questions: u64,
}

impl Count {
    /// The counts of one kill, without its questions yet.
    pub(super) fn of(logins: &[CutLogin]) -> Self {
        Self {
            kills: 1,
            logins: logins.len() as u64,
            unanswered: count(logins, |it| !it.is_definite()),
            unavailable: count(logins, |it| it.outcome == Outcome::Unavailable),
            questions: 0,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.logins += other.logins;
        self.unanswered += other.unanswered;
        self.unavailable += other.unavailable;
        self.questions += other.questions;
    }
}

fn count(logins: &[CutLogin], is_it: impl Fn(&Operation) -> bool) -> u64 {
    let operations = logins.iter().flat_map(|cut| &cut.login.history.operations);
    operations.filter(|it| is_it(it)).count() as u64
}

/// The counts of each kind of kill.
pub(super) fn count_table<'a>(counts: impl Iterator<Item = (&'a str, Count)>) -> String {
    let header = format!(
        "{:<16}{:>8}{:>10}{:>12}{:>10}{:>12}\n",
        "what", "times", "logins", "unanswered", "with 503", "questions"
    );
    let lines = counts.map(|(kill, it)| {
        format!(
            "{kill:<16}{:>8}{:>10}{:>12}{:>10}{:>12}\n",
            it.kills, it.logins, it.unanswered, it.unavailable, it.questions
        )
    });
    header + &lines.collect::<String>()
}
