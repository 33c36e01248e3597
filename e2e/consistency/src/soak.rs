//! `soak`: the whole stack for minutes or hours. Users sign in, and everything that may
//! go wrong does, as a seed decides. Each login is checked by its history and by the
//! brokers' own log, and the run fails if brokers leak memory, descriptors or disk space.
//!
//! | module | content |
//! |---|---|
//! | [`user`], [`hostile`] | users who sign in, and attackers |
//! | [`nemesis`] | faults of the proxy, moves of the clock, restarts |
//! | [`context`] | what all of them share |
//! | [`statistics`] | what is counted, the calls in the journals of the imitated providers among it |

mod context;
mod hostile;
mod nemesis;
mod statistics;
mod user;

use std::io::Write as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::random::{Random, any_seed};
use agent::time::pause;
use clap::Args;
use tokio::task::JoinSet;

use crate::RunError;
use crate::cluster::{Cluster, Engine, Logging};
use crate::resources::Resources;
use crate::run::{broker_count, duration, progress};
use context::Context;
use nemesis::Nemesis;

/// The length and the load of the run.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Number of minutes
    #[arg(default_value = "30")]
    minutes: NonZeroU64,
    /// Number of logins, instead of a time
    #[arg(long, conflicts_with = "minutes")]
    logins: Option<NonZeroU64>,
    /// Number of users that sign in at once
    #[arg(long = "people", value_name = "USERS", default_value = "24")]
    users: NonZeroUsize,
    /// Number of logins, on average, after which a broker is stopped or killed; in the second
    /// half of the run none is, so that it shows what it leaks
    #[arg(long, default_value = "1000")]
    logins_per_restart: NonZeroU64,
    /// The store
    #[arg(long, value_enum, default_value_t = Engine::Sqlite)]
    engine: Engine,
    /// Number of broker processes that share it [default: 1 on SQLite, 2 on PostgreSQL]
    #[arg(long)]
    brokers: Option<NonZeroUsize>,
    /// Seed of the random decisions: the users' steps and the faults [default: any]
    #[arg(long)]
    seed: Option<u64>,
    /// A folder in which to keep the log of each broker, for `broker verify-log`
    #[arg(long, value_name = "FOLDER")]
    log: Option<PathBuf>,
    /// Print the end's figures as JSON
    #[arg(long)]
    json: bool,
}

/// The part of the run after which brokers are left alone, and the part after which
/// they count as warm.
const RESTARTS_UNTIL: f64 = 0.5;
const WARM_FROM: f64 = 0.6;

/// The time between two looks at how far the run is.
const LOOK: Duration = Duration::from_millis(200);
const MINUTE: Duration = Duration::from_secs(60);

/// Runs the plan and prints what was found.
pub(crate) async fn run(plan: Plan) -> Result<(), RunError> {
    let seed = plan.seed.unwrap_or_else(any_seed);
    progress(&format!("seed {seed}"));
    let soak = Soak::start(&plan, seed).await?;
    let context = soak.context.clone();
    let (warm, last) = soak
        .run(&plan, seed)
        .await
        .map_err(|error| format!("{error}, seed {seed}"))?;
    context.check_log();
    context.check_exchanges();
    for violation in last.growth_violations(&warm) {
        context.report(&violation, None);
    }
    print(&plan, seed, &context, (&warm, &last))?;
    match context.statistics.lock().violations.len() {
        0 => Ok(()),
        some => Err(format!("{some} violations, seed {seed}; --seed {seed} tries again").into()),
    }
}

fn print(
    plan: &Plan,
    seed: u64,
    context: &Context,
    (warm, last): (&Resources, &Resources),
) -> Result<(), RunError> {
    let statistics = context.statistics.lock();
    let (elapsed, lines) = (context.recorder.elapsed(), context.audit_log.lines());
    let mut out = std::io::stdout();
    if plan.json {
        let mut figures = statistics.json(warm, last);
        figures["seed"] = seed.into();
        figures["seconds"] = elapsed.as_secs().into();
        figures["log_lines"] = lines.into();
        writeln!(out, "{figures:#}")?;
    } else {
        writeln!(
            out,
            "{} logins checked, {lines} lines of the log read, seed {seed}, {}\n\n{}",
            statistics.logins(),
            duration(elapsed),
            statistics.table(warm, last),
        )?;
    }
    Ok(())
}

/// Everything, set up.
struct Soak {
    context: Arc<Context>,
    nemesis: Nemesis,
}

impl Soak {
    async fn start(plan: &Plan, seed: u64) -> Result<Self, RunError> {
        let brokers = plan.engine.brokers(plan.brokers);
        let cluster = Cluster::start(plan.engine, brokers, Logging::On).await?;
        let proxies = nemesis::Proxies::start(&cluster)?;
        let context = Arc::new(Context::new(&cluster, proxies.urls(), plan.log.clone())?);
        let nemesis = Nemesis::new(context.clone(), cluster, proxies, Random::of(seed, 0))?;
        progress(&format!(
            "{} users, {} on {}",
            plan.users,
            broker_count(brokers),
            plan.engine
        ));
        Ok(Self { context, nemesis })
    }

    /// Runs to the end. The resources when the brokers were warm, and at the end.
    async fn run(self, plan: &Plan, seed: u64) -> Result<(Resources, Resources), RunError> {
        let Self { context, nemesis } = self;
        let most = plan.logins.map_or(u64::MAX, NonZeroU64::get);
        let length = Length::of(plan);
        let mut users = JoinSet::new();
        for _ in 0..plan.users.get() {
            users.spawn(user::sign_in_until_over(context.clone(), seed, most));
        }
        let far = context.clone();
        let may_restart = move || length.gone(&far) < RESTARTS_UNTIL;
        let mut nemesis =
            tokio::spawn(nemesis.disturb_until_over(plan.logins_per_restart.get(), may_restart));
        let mut observer = Observer::default();
        while !users.is_empty() {
            tokio::select! {
                Some(done) = users.join_next() => done??,
                // It ends before the users only if it cannot go on.
                ended = &mut nemesis, if !context.is_over() => {
                    drop(ended??);
                    return Err("the nemesis ended by itself".into());
                }
                () = pause(LOOK) => observer.look(&context, length),
                _ = tokio::signal::ctrl_c() => context.is_over.store(true, Ordering::Relaxed),
            }
        }
        context.is_over.store(true, Ordering::Relaxed);
        // The nemesis waits for one more login.
        context.begun.send_modify(|begun| *begun = u64::MAX);
        let last = nemesis.await??.end().await?;
        Ok((observer.warm.unwrap_or(last), last))
    }
}

/// The length of the run.
#[derive(Debug, Clone, Copy)]
enum Length {
    Time(Duration),
    Logins(u64),
}

impl Length {
    fn of(plan: &Plan) -> Self {
        match plan.logins {
            Some(logins) => Self::Logins(logins.get()),
            None => Self::Time(Duration::from_mins(plan.minutes.get())),
        }
    }

    /// The part of it that is over: 1 is all of it.
    #[expect(clippy::cast_precision_loss, reason = "it is about halves and tenths")]
    fn gone(self, context: &Context) -> f64 {
        match self {
            Self::Time(length) => context.recorder.elapsed().as_secs_f64() / length.as_secs_f64(),
            Self::Logins(logins) => context.statistics.lock().logins() as f64 / logins as f64,
        }
    }
}

/// Watches how far the run is, and reports once a minute.
#[derive(Debug, Default)]
struct Observer {
    minutes: u32,
    /// The resources when the brokers were warm.
    warm: Option<Resources>,
}

impl Observer {
    fn look(&mut self, context: &Context, length: Length) {
        context.check_log();
        context.exchanges.lock().read(&context.providers.upstream);
        let gone = length.gone(context);
        if self.warm.is_none() && gone >= WARM_FROM {
            // A broker that has just gone cannot be measured; the next one can.
            self.warm = Resources::of(context.processes(), &context.folder).ok();
        }
        if context.recorder.elapsed() >= MINUTE * (self.minutes + 1) {
            self.minutes += 1;
            let resources = Resources::of(context.processes(), &context.folder)
                .map_or_else(|_| "between brokers".to_owned(), |it| it.to_string());
            progress(&format!(
                "minute {}: {}; {resources}",
                self.minutes,
                context.statistics.lock().line()
            ));
        }
        if matches!(length, Length::Time(_)) && gone >= 1.0 {
            context.is_over.store(true, Ordering::Relaxed);
        }
    }
}
