//! One broker as a process of its own: the production broker on a configuration file.
//! It writes its address to standard output and ends when standard input closes. At a
//! given fail point it halts, so that it can be killed right there. Lines on standard
//! input move its clock and stop it. A [`Replica`] is such a process, as the cluster
//! holds it; [`serve`] is what runs in it.

use std::io::{PipeReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent::program::{EndsBy, Program};
use broker::clock::Clock;
use broker::config::Config;
use broker::store::fail_points::{FailPoint, FailPoints};
use broker::{Broker, Dependencies};
use clap::Args;
use rocket::Shutdown;
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;

use crate::RunError;

/// The line that a replica writes when it halts.
const PAUSED: &str = "paused";

/// The order to move the clock ahead, with the milliseconds after it, and the line that a
/// replica writes when it did.
const ADVANCE: &str = "advance";
const MOVED: &str = "moved";

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
        let order = format!("{ADVANCE} {}", by.as_millis());
        self.process.order(&order)?;
        match self.process.output.next_line().await.as_deref() {
            Some(MOVED) => Ok(()),
            other => Err(format!("a broker wrote {other:?} when its clock was moved").into()),
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
    /// Pause at the nth time that this fail point is reached
    #[arg(long, value_name = "POINT:NTH")]
    pause_at: Option<PauseAt>,
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
    let clock = Clock::system();
    clock.advance(Duration::from_millis(args.ahead_ms));
    let broker = Broker::assemble(
        Config::load(&args.config)?,
        Dependencies {
            fail_points: args.pause_at.map(pausing).unwrap_or_default(),
            clock: clock.clone(),
            ..Dependencies::default()
        },
    )?;
    let up = AdHoc::on_liftoff("address", |rocket| {
        Box::pin(async move {
            let config = rocket.config();
            write_line(&format!("http://{}:{}", config.address, config.port));
        })
    });
    let rocket = broker.rocket().attach(up).ignite().await?;
    let shutdown = rocket.shutdown();
    std::thread::spawn(move || follow_orders(&clock, &shutdown));
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

/// Stops the operation that reaches the point, and all that wait for it, for good.
fn pausing(at: PauseAt) -> FailPoints {
    let reached = AtomicUsize::new(0);
    FailPoints::new(move |point| {
        if point == at.point && reached.fetch_add(1, Ordering::Relaxed) + 1 == at.nth {
            write_line(PAUSED);
            loop {
                std::thread::park();
            }
        }
    })
}

/// Follows orders, and ends when their source does.
fn follow_orders(clock: &Clock, shutdown: &Shutdown) {
    for line in std::io::stdin().lines() {
        let line = line.unwrap_or_default();
        match line.split_once(' ').map(|(order, ms)| (order, ms.parse())) {
            Some((ADVANCE, Ok(ms))) => {
                clock.advance(Duration::from_millis(ms));
                write_line(MOVED);
            }
            None if line == STOP => shutdown.clone().notify(),
            _ => break,
        }
    }
    std::process::exit(0);
}

fn write_line(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
