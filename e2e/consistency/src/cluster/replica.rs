//! One broker as a process of its own: the production broker on a configuration file.
//! It writes its address to standard output and ends when standard input closes. Lines on
//! standard input move its clock, stop it, and have it pause at a fail point, so that it can be
//! killed right there or overtaken by another. A [`Replica`] is such a process, as the cluster
//! holds it; [`serve`] is what runs in it.

use std::io::{PipeReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use agent::program::{EndsBy, Program};
use broker::clock::Clock;
use broker::config::Config;
use broker::model::UnixMs;
use broker::store::fail_points::{FailPoint, FailPoints};
use broker::{Broker, Dependencies};
use clap::Args;
use parking_lot::{Condvar, Mutex};
use rocket::Shutdown;
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;

use crate::RunError;

/// The line that a replica writes when it pauses.
const PAUSED: &str = "paused";

/// The order to move the clock ahead, with the milliseconds after it.
const ADVANCE: &str = "advance";

/// The order to pause at a fail point, with a [`PauseAt`] after it, and the one to go on.
const PAUSE: &str = "pause";
const GO_ON: &str = "go on";

/// The line that a replica writes when it has followed one of these orders.
const DONE: &str = "done";

/// The order to let open requests finish, and end.
const STOP: &str = "stop";

/// One running broker.
pub(crate) struct Replica {
    /// Its URL, without a trailing slash.
    pub(crate) url: String,
    pub(crate) process: Program,
    log: Option<PipeReader>,
}

impl Replica {
    /// Starts a broker, which writes its log to the other end of `log`.
    pub(super) async fn start(
        mut command: Command,
        log: Option<PipeReader>,
    ) -> Result<Self, RunError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Program::start(command, EndsBy::Kill)?;
        let url = process.output.next_line().await;
        let url = url.ok_or("a broker did not start")?;
        Ok(Self { url, process, log })
    }

    /// Takes its log, from the beginning. It must be read, or the broker waits.
    ///
    /// # Panics
    ///
    /// If it writes none, or it is taken.
    pub(crate) fn take_log(&mut self) -> PipeReader {
        self.log.take().expect("a broker with a log")
    }

    pub(super) async fn advance(&mut self, by: Duration) -> Result<(), RunError> {
        self.follow(&format!("{ADVANCE} {}", by.as_millis())).await
    }

    /// Has it pause at a fail point.
    pub(crate) async fn pause_at(&mut self, at: PauseAt) -> Result<(), RunError> {
        self.follow(&format!("{PAUSE} {at}")).await
    }

    /// Has it go on where it paused, and pause nowhere.
    pub(crate) async fn go_on(&mut self) -> Result<(), RunError> {
        self.follow(GO_ON).await
    }

    async fn follow(&mut self, order: &str) -> Result<(), RunError> {
        self.process.order(order)?;
        loop {
            match self.process.output.next_line().await.as_deref() {
                Some(DONE) => return Ok(()),
                // It had paused before the order came.
                Some(PAUSED) => {}
                other => return Err(format!("a broker wrote {other:?} at \"{order}\"").into()),
            }
        }
    }

    /// Lets open requests finish, and waits until it has ended.
    pub(crate) async fn stop(&mut self) -> Result<(), RunError> {
        self.process.order(STOP)?;
        let status = self.process.ended().await?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("a broker that was stopped ended with {status}").into()),
        }
    }

    /// Waits until it writes one more line, which it does when it pauses.
    pub(crate) async fn wait_until_paused(&mut self) -> Result<(), RunError> {
        let line = self.process.output.next_line().await;
        line.map(drop)
            .ok_or_else(|| "a broker ended by itself".into())
    }
}

/// The arguments of a replica.
#[derive(Debug, Args)]
pub struct ReplicaArgs {
    /// Its configuration file
    #[arg(long)]
    config: PathBuf,
    /// A time, in milliseconds since 1970, at which its clock stands still
    #[arg(long, value_name = "MS")]
    still_at_ms: Option<i64>,
    /// Milliseconds by which its clock is ahead of the system's
    #[arg(long, value_name = "MS", default_value = "0")]
    ahead_ms: u64,
    /// Write the log to standard error, as in production
    #[arg(long)]
    log: bool,
}

/// A fail point at which a replica pauses until it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PauseAt {
    pub(crate) point: FailPoint,
    /// 1 is the first time.
    pub(crate) nth: usize,
}

impl FromStr for PauseAt {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, nth) = text.split_once(':').ok_or("expected POINT:NTH")?;
        let point = FailPoint::ALL
            .into_iter()
            .find(|point| point.name() == name);
        Ok(Self {
            point: point.ok_or("no such point")?,
            nth: nth.parse().map_err(|_| "NTH is a number")?,
        })
    }
}

impl std::fmt::Display for PauseAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.point.name(), self.nth)
    }
}

/// Serves until it is ordered to stop, or standard input closes.
///
/// # Errors
///
/// If the broker cannot be assembled or cannot listen.
pub async fn serve(args: ReplicaArgs) -> Result<(), RunError> {
    if args.log {
        write_log();
    }
    let still_at = args.still_at_ms.map(UnixMs);
    let clock = still_at.map_or_else(Clock::system, Clock::fixed_at);
    let pauses = Arc::<Pauses>::default();
    clock.advance(Duration::from_millis(args.ahead_ms));
    let broker = Broker::assemble(
        Config::load(&args.config)?,
        Dependencies {
            fail_points: pauses.clone().fail_points(),
            clock: clock.clone(),
            ..Dependencies::default()
        },
    )?;
    let up = AdHoc::on_liftoff("address", |rocket| {
        Box::pin(async move {
            let config = rocket.config();
            // As `broker serve` logs it.
            tracing::info!("Serving");
            write_line(&format!("http://{}:{}", config.address, config.port));
        })
    });
    let rocket = broker.rocket().attach(up).ignite().await?;
    let shutdown = rocket.shutdown();
    std::thread::spawn(move || follow_orders(&clock, &pauses, &shutdown));
    match rocket.launch().await {
        // Some requests were still open.
        Err(error) if !matches!(error.kind(), ErrorKind::Shutdown(..)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// As `broker serve` does.
fn write_log() {
    broker::log_format::log_panic_locations();
    tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
}

/// The fail point at which a replica is to pause, if there is one.
#[derive(Default)]
struct Pauses {
    next: Mutex<Option<PauseAt>>,
    gone_on: Condvar,
}

impl Pauses {
    /// Those that stop the operation that reaches the point, and all that wait for it.
    fn fail_points(self: Arc<Self>) -> FailPoints {
        FailPoints::new(move |point| self.reached(point))
    }

    fn set(&self, next: Option<PauseAt>) {
        *self.next.lock() = next;
        self.gone_on.notify_all();
    }

    fn reached(&self, point: FailPoint) {
        let mut next = self.next.lock();
        let Some(at) = next.as_mut().filter(|it| it.point == point && it.nth > 0) else {
            return;
        };
        at.nth -= 1;
        if at.nth == 0 {
            write_line(PAUSED);
            self.gone_on.wait_while(&mut next, |it| it.is_some());
        }
    }
}

/// Follows orders, and ends when their source does.
fn follow_orders(clock: &Clock, pauses: &Pauses, shutdown: &Shutdown) {
    for line in std::io::stdin().lines() {
        let line = line.unwrap_or_default();
        match line.split_once(' ').unwrap_or((&line, "")) {
            (STOP, _) => {
                shutdown.clone().notify();
                continue;
            }
            (ADVANCE, ms) => match ms.parse() {
                Ok(ms) => clock.advance(Duration::from_millis(ms)),
                Err(_) => break,
            },
            (PAUSE, at) => pauses.set(at.parse().ok()),
            _ if line == GO_ON => pauses.set(None),
            _ => break,
        }
        write_line(DONE);
    }
    std::process::exit(0);
}

fn write_line(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
