//! `histories`: several clients take each single-use step of a login at once, and the history
//! of each race is checked.

mod contention;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use agent::random::{Random, any_seed};
use clap::Args;
use indicatif::ProgressBar;
use parking_lot::Mutex;
use strum::VariantArray as _;
use tokio::sync::RwLock;
use tokio::task::JoinSet;

use crate::RunError;
use crate::cluster::{Cluster, Engine, Logging};
use crate::provider::Providers;
use crate::recorder::{Endpoint, Recorder};
use crate::run::{bar, broker_count, duration};
use checker::history::{Operation, Outcome};
use checker::model::Answer;
use contention::{Arena, Contended, Played};

/// The number of races, and where they are run.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Number of histories to record and check
    #[arg(default_value = "20000")]
    count: NonZeroU64,
    /// The store
    #[arg(long, value_enum, default_value_t = Engine::Sqlite)]
    engine: Engine,
    /// Number of broker processes that share it [default: 1 on SQLite, 2 on PostgreSQL]
    #[arg(long)]
    brokers: Option<NonZeroUsize>,
    /// Number of clients that race for each value
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u16).range(2..=64))]
    clients: u16,
    /// Number of logins at once
    #[arg(long, default_value = "8")]
    logins: NonZeroUsize,
    /// Seed of the random decisions: the requests, their brokers and times [default: any]
    #[arg(long)]
    seed: Option<u64>,
}

/// After this many logins the imitated providers are reset: they remember more than a
/// long run has memory for.
const LOGINS_PER_RESET: u64 = 2_000;

/// The state that all clients share.
struct Race {
    /// Ends the brokers when it is dropped.
    _cluster: Cluster,
    arena: Arena,
    seed: u64,
    count: u64,
    next: AtomicU64,
    is_over: AtomicBool,
    table: Mutex<Table>,
    bar: ProgressBar,
    /// Held for reading while a login is with the providers.
    upstream: RwLock<()>,
}

/// Runs the plan and prints what was recorded.
pub(crate) async fn run(plan: Plan) -> Result<(), RunError> {
    let brokers = plan.engine.brokers(plan.brokers);
    let seed = plan.seed.unwrap_or_else(any_seed);
    let cluster = Cluster::start(plan.engine, brokers, Logging::Off).await?;
    let endpoints = cluster.urls().into_iter().map(Endpoint::at);
    let race = Arc::new(Race {
        arena: Arena {
            recorder: Recorder::new(cluster.clock.clone())?,
            endpoints: endpoints.collect(),
            providers: Providers::new(cluster.upstream.clone()),
            clients: plan.clients.into(),
        },
        _cluster: cluster,
        seed,
        count: plan.count.get(),
        next: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        table: Mutex::default(),
        bar: bar(plan.count.get(), "histories"),
        upstream: RwLock::new(()),
    });
    let outcome = race.clone().play(plan.logins.get()).await;
    race.bar.finish_and_clear();
    let table = race.table.lock();
    writeln!(
        std::io::stdout(),
        "{} histories on {}, {} clients, {}, seed {seed}, {}\n\n{table}",
        table.histories(),
        plan.engine,
        plan.clients,
        broker_count(brokers),
        duration(race.bar.elapsed()),
    )?;
    outcome?;
    table.check()
}

impl Race {
    async fn play(self: Arc<Self>, clients: usize) -> Result<(), RunError> {
        let mut playing = JoinSet::new();
        for _ in 0..clients {
            playing.spawn(self.clone().play_logins());
        }
        loop {
            tokio::select! {
                done = playing.join_next() => match done {
                    None => return Ok(()),
                    Some(outcome) => outcome??,
                },
                _ = tokio::signal::ctrl_c() => self.is_over.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Plays one login after the other until all clients together have played enough.
    async fn play_logins(self: Arc<Self>) -> Result<(), RunError> {
        while !self.is_over.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index % LOGINS_PER_RESET == LOGINS_PER_RESET - 1 {
                let _alone = self.upstream.write().await;
                self.arena.providers.upstream.reset();
            }
            let _with_others = self.upstream.read().await;
            let mut random = Random::of(self.seed, index);
            let played = self.arena.play(index, &mut random).await?;
            self.check(&played)?;
        }
        Ok(())
    }

    fn check(&self, played: &Played) -> Result<(), RunError> {
        checker::check(&played.login.history).map_err(|violation| {
            let (seed, history) = (self.seed, &played.login.history);
            format!("{violation}, seed {seed}\n{history}")
        })?;
        let mut table = self.table.lock();
        table.add(played);
        self.bar.set_position(table.histories().min(self.count));
        if table.histories() >= self.count {
            self.is_over.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The least share of the contended steps in which two calls were under way at once,
/// in percent. One that is not overlapped shows nothing about races.
const MIN_OVERLAPPED_PERCENT: u64 = 50;

/// So few races of a kind say nothing about the share.
const MIN_RACES: u64 = 20;

/// The counts of a run.
#[derive(Debug, Default)]
struct Table {
    counts: BTreeMap<Contended, Counts>,
    unanswered: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    races: u64,
    overlapped: u64,
    granted: u64,
    refused: u64,
    pending: u64,
    ended: u64,
}

impl Table {
    /// Counts the contended steps of one more login.
    fn add(&mut self, played: &Played) {
        let operations = &played.login.history.operations;
        let is_unanswered = |it: &&Operation| !it.is_definite();
        self.unanswered += operations.iter().filter(is_unanswered).count() as u64;
        for (kind, range) in &played.contended {
            let counts = self.counts.entry(*kind).or_default();
            counts.add(&operations[range.clone()]);
        }
    }

    /// The number of contended steps.
    fn histories(&self) -> u64 {
        self.counts.values().map(|it| it.races).sum()
    }

    /// Fails a run that left calls unanswered, or whose calls did not overlap.
    fn check(&self) -> Result<(), RunError> {
        if self.unanswered > 0 {
            return Err(format!("{} calls were not answered", self.unanswered).into());
        }
        for (kind, counts) in &self.counts {
            let percent = counts.overlapped * 100 / counts.races.max(1);
            if counts.races >= MIN_RACES && percent < MIN_OVERLAPPED_PERCENT {
                return Err(format!(
                    "only {percent} % of the races for a {kind} had two calls under way at once"
                )
                .into());
            }
        }
        Ok(())
    }
}

impl Counts {
    fn add(&mut self, operations: &[Operation]) {
        self.races += 1;
        self.overlapped += u64::from(is_overlapped(operations));
        for operation in operations {
            match &operation.outcome {
                Outcome::Answered(
                    Answer::Refused | Answer::Unrecognised | Answer::AnotherBrowser,
                ) => self.refused += 1,
                Outcome::Answered(Answer::Pending) => self.pending += 1,
                Outcome::Answered(Answer::Revoked) => self.ended += 1,
                Outcome::Answered(_) => self.granted += 1,
                _ => {}
            }
        }
    }
}

/// Whether the first call to be answered was overlapped by another.
fn is_overlapped(operations: &[Operation]) -> bool {
    let first = operations.iter().min_by_key(|it| it.completed_ns);
    first.is_some_and(|first| {
        let others = operations.iter().filter(|it| !std::ptr::eq(*it, first));
        others.into_iter().any(|it| it.overlaps(first))
    })
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<26}{:>10}{:>12}{:>10}{:>10}{:>10}{:>10}",
            "", "histories", "overlapped", "granted", "refused", "pending", "revoked"
        )?;
        for kind in Contended::VARIANTS {
            let it = self.counts.get(kind).copied().unwrap_or_default();
            writeln!(
                f,
                "{:<26}{:>10}{:>10} %{:>10}{:>10}{:>10}{:>10}",
                kind,
                it.races,
                it.overlapped * 100 / it.races.max(1),
                it.granted,
                it.refused,
                it.pending,
                it.ended,
            )?;
        }
        Ok(())
    }
}
