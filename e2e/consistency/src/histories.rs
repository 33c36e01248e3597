//! Many logins at once, each step of them contended, until enough histories were
//! recorded and checked.

use std::io::Write as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use indicatif::ProgressBar;
use tokio::sync::RwLock;
use tokio::task::JoinSet;

use crate::Failure;
use crate::chance::{Chance, any_seed};
use crate::fleet::{Engine, Fleet, Manner};
use crate::history::History;
use crate::race::Arena;
use crate::report::{Tally, bar, spoken};

/// What to race, and how much of it.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// How many histories to record and check
    #[arg(default_value = "20000")]
    count: NonZeroU64,
    /// Which store
    #[arg(long, value_enum, default_value_t = Engine::Sqlite)]
    engine: Engine,
    /// How many broker processes share it [default: 1 on SQLite, 2 on PostgreSQL]
    #[arg(long)]
    brokers: Option<NonZeroUsize>,
    /// How many clients ask for each thing
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u16).range(2..=64))]
    clients: u16,
    /// How many logins go on at once
    #[arg(long, default_value = "8")]
    logins: NonZeroUsize,
    /// What decides who asks whom for what, and when [default: any]
    #[arg(long)]
    seed: Option<u64>,
}

/// After so many logins the imitated providers forget what they have seen: they
/// keep more of it than a long run has memory for.
const LOGINS_BETWEEN_RESETS: u64 = 2_000;

/// What all players share.
struct Game {
    fleet: Fleet,
    arena: Arena,
    seed: u64,
    count: u64,
    next: AtomicU64,
    is_over: AtomicBool,
    tally: Mutex<Tally>,
    bar: ProgressBar,
    /// Held for reading while a login is with the providers.
    upstream: RwLock<()>,
}

/// Runs the plan and prints what was found.
pub(crate) async fn run(plan: Plan) -> Result<(), Failure> {
    let brokers = plan
        .brokers
        .map_or(plan.engine.usual_brokers(), NonZeroUsize::get);
    let seed = plan.seed.unwrap_or_else(any_seed);
    let fleet = Fleet::start(plan.engine, brokers, Manner::Silent).await?;
    let arena = Arena::at(fleet.urls(), plan.clients.into())?;
    let game = Arc::new(Game {
        arena,
        fleet,
        seed,
        count: plan.count.get(),
        next: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        tally: Mutex::default(),
        bar: bar(plan.count.get(), "histories"),
        upstream: RwLock::new(()),
    });
    let outcome = game.clone().play(plan.logins.get()).await;
    game.bar.finish_and_clear();
    let tally = game.tally.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(
        std::io::stdout(),
        "{} histories on {}, {} clients, {brokers} broker(s), seed {seed}, {}\n\n{}",
        tally.histories(),
        plan.engine.name(),
        plan.clients,
        spoken(game.bar.elapsed()),
        tally.table(),
    )?;
    outcome?;
    if tally.nothing() > 0 {
        return Err(format!("{} calls were not answered", tally.nothing()).into());
    }
    Ok(())
}

impl Game {
    async fn play(self: Arc<Self>, players: usize) -> Result<(), Failure> {
        let mut playing = JoinSet::new();
        for _ in 0..players {
            playing.spawn(self.clone().play_on());
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

    /// Plays one login after the other until enough were played by all.
    async fn play_on(self: Arc<Self>) -> Result<(), Failure> {
        while !self.is_over.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index % LOGINS_BETWEEN_RESETS == LOGINS_BETWEEN_RESETS - 1 {
                let _alone = self.upstream.write().await;
                self.fleet.upstream.reset();
            }
            let _with_others = self.upstream.read().await;
            let mut chance = Chance::of(self.seed, index);
            let histories = self.arena.play(&mut chance).await?;
            self.judge(&histories, index)?;
        }
        Ok(())
    }

    fn judge(&self, histories: &[History], index: u64) -> Result<(), Failure> {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        for history in histories {
            tally.count(history);
            history.check().map_err(|violation| {
                let seed = self.seed;
                format!("{violation:?}, in login {index} of seed {seed}: {history}")
            })?;
        }
        self.bar.set_position(tally.histories().min(self.count));
        if tally.histories() >= self.count {
            self.is_over.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
