//! The whole stack for minutes or hours: people sign in, and everything that may
//! go wrong does, as a seed has it. Each login is judged by what all who took part
//! in it were told, and by the broker's own log.
//!
//! | module | what lives there |
//! |---|---|
//! | [`person`], [`hostile`] | who signs in; who should not be here |
//! | [`trouble`] | faults of the wire, moves of the clock, restarts |
//! | [`provider`] | who is at the providers, and what goes wrong there |
//! | [`told`], [`story`] | what an answer tells; what was told in one login |
//! | [`judge`] | what may not be among that |
//! | [`ledger`] | what the broker's log says of it |
//! | [`stage`] | what all of them share |
//! | [`tally`], [`vitals`] | what is counted and measured |

mod hostile;
mod judge;
mod ledger;
mod person;
mod provider;
mod stage;
mod story;
mod tally;
mod told;
mod trouble;
mod vitals;

use std::io::Write as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use stack::proxy::{Proxy, ProxyState};
use tokio::task::JoinSet;

use crate::Failure;
use crate::chance::{Chance, any_seed};
use crate::fleet::{Engine, Fleet, Manner};
use crate::report::{say, spoken};
use ledger::Ledger;
use stage::Stage;
use trouble::Trouble;
use vitals::Vitals;

/// For how long, and how hard.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// For how many minutes
    #[arg(default_value = "30")]
    minutes: NonZeroU64,
    /// For so many logins instead, however long they take
    #[arg(long, conflicts_with = "minutes")]
    logins: Option<NonZeroU64>,
    /// How many people sign in at once
    #[arg(long, default_value = "24")]
    people: NonZeroUsize,
    /// After how many logins, on average, the broker is stopped or killed; in the
    /// second half of the run it never is, so that it shows what it leaks
    #[arg(long, default_value = "1000")]
    logins_per_restart: NonZeroU64,
    /// What decides who does what, and what goes wrong [default: any]
    #[arg(long)]
    seed: Option<u64>,
    /// Print the end's figures as JSON
    #[arg(long)]
    json: bool,
}

/// From which part of the run on the broker is left alone, and from which it counts
/// as warm.
const RESTARTS_UNTIL: f64 = 0.5;
const WARM_FROM: f64 = 0.6;

/// How often it is looked how far it is.
const LOOK: Duration = Duration::from_millis(200);
const MINUTE: Duration = Duration::from_secs(60);

/// Runs the plan and prints what was found.
pub(crate) async fn run(plan: Plan) -> Result<(), Failure> {
    let seed = plan.seed.unwrap_or_else(any_seed);
    say(&format!("seed {seed}"));
    let soak = Soak::start(&plan, seed).await?;
    let stage = soak.stage.clone();
    let (first, last) = soak
        .go_on(&plan, seed)
        .await
        .map_err(|why| format!("{why}, seed {seed}"))?;
    note_complaints(&stage);
    let tally = stage.tally();
    let mut out = std::io::stdout();
    let (elapsed, lines) = (spoken(stage.elapsed()), stage.ledger.lines());
    if plan.json {
        let mut figures = tally.json(&first, &last);
        figures["seed"] = seed.into();
        figures["seconds"] = stage.elapsed().as_secs().into();
        figures["log_lines"] = lines.into();
        writeln!(out, "{figures:#}")?;
    } else {
        writeln!(
            out,
            "{} logins judged, {lines} lines of the log read, seed {seed}, {elapsed}\n\n{}",
            tally.logins(),
            tally.table(&first, &last),
        )?;
    }
    match tally.violations.len() {
        0 => Ok(()),
        some => Err(format!("{some} violations, seed {seed}; --seed {seed} tries again").into()),
    }
}

/// Everything, set up.
struct Soak {
    stage: Arc<Stage>,
    trouble: Trouble,
}

impl Soak {
    async fn start(plan: &Plan, seed: u64) -> Result<Self, Failure> {
        let fleet = Fleet::start(Engine::Sqlite, 1, Manner::Talking).await?;
        let watch = Arc::new(ProxyState::default());
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        let address = trouble::address(&fleet)?;
        let wire = Proxy::start(listener, address, watch.clone())?;
        let stage = Stage::new(&fleet, &wire, Ledger::new())?;
        stage.moved_to(address);
        let chance = Chance::of(seed, 0);
        let trouble = Trouble::new(stage.clone(), fleet, wire, watch, chance)?;
        say(&format!(
            "{} people, one broker on SQLite at {}",
            plan.people, stage.url
        ));
        Ok(Self { stage, trouble })
    }

    /// Lets it happen. How the broker was when it was warm, and at the end.
    async fn go_on(self, plan: &Plan, seed: u64) -> Result<(Vitals, Vitals), Failure> {
        let Self { stage, trouble } = self;
        let most = plan.logins.map_or(u64::MAX, NonZeroU64::get);
        let length = Length::of(plan);
        let mut people = JoinSet::new();
        for _ in 0..plan.people.get() {
            people.spawn(person::go_on(stage.clone(), seed, most));
        }
        let far = stage.clone();
        let may_restart = move || length.gone(&far) < RESTARTS_UNTIL;
        let mut trouble = tokio::spawn(trouble.go_on(plan.logins_per_restart.get(), may_restart));
        let mut observer = Observer::default();
        while !people.is_empty() {
            tokio::select! {
                Some(done) = people.join_next() => done??,
                // It ends before the people only if it cannot go on.
                ended = &mut trouble, if !stage.is_over() => {
                    drop(ended??);
                    return Err("the trouble ended by itself".into());
                }
                () = pause(LOOK) => observer.look(&stage, length),
                _ = tokio::signal::ctrl_c() => stage.is_over.store(true, Ordering::Relaxed),
            }
        }
        stage.is_over.store(true, Ordering::Relaxed);
        // Whoever waits for one more login is told that there is none.
        stage.begun.send_modify(|begun| *begun = u64::MAX);
        let last = trouble.await??.end().await?;
        Ok((observer.first.unwrap_or(last), last))
    }
}

/// How long the run is.
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

    /// How much of it is gone: 1 is all of it.
    #[expect(clippy::cast_precision_loss, reason = "it is about halves and tenths")]
    fn gone(self, stage: &Stage) -> f64 {
        match self {
            Self::Time(length) => stage.elapsed().as_secs_f64() / length.as_secs_f64(),
            Self::Logins(logins) => stage.tally().logins() as f64 / logins as f64,
        }
    }
}

/// Watches how far it is, and tells once a minute.
#[derive(Debug, Default)]
struct Observer {
    minutes: u32,
    /// How the broker was when it was warm.
    first: Option<Vitals>,
}

impl Observer {
    fn look(&mut self, stage: &Stage, length: Length) {
        note_complaints(stage);
        let gone = length.gone(stage);
        if self.first.is_none() && gone >= WARM_FROM {
            // A broker that has just gone cannot be measured; the next one can.
            self.first = Vitals::of(stage).ok();
        }
        if stage.elapsed() >= MINUTE * (self.minutes + 1) {
            self.minutes += 1;
            let vitals = Vitals::of(stage)
                .map_or_else(|_| "between brokers".to_owned(), |it| it.to_string());
            say(&format!(
                "minute {}: {}; {vitals}",
                self.minutes,
                stage.tally().line()
            ));
        }
        if matches!(length, Length::Time(_)) && gone >= 1.0 {
            stage.is_over.store(true, Ordering::Relaxed);
        }
    }
}

fn note_complaints(stage: &Stage) {
    for complaint in stage.ledger.complaints() {
        stage.violated(&complaint, None);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a run is, is counted in real time"
)]
async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
