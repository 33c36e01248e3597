//! One broker as a process of its own: the production broker, on a configuration
//! file, that says where it listens and ends with whoever started it. At a point
//! that it was given it halts, so that it can be killed right there.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use broker::config::Config;
use broker::store::probe::{Point, Probe};
use broker::{Broker, Surroundings};
use clap::Args;
use rocket::fairing::AdHoc;

use crate::Failure;

/// What a replica says when it halts.
pub(crate) const HALTED: &str = "halted";

/// What a replica is told to do.
#[derive(Debug, Args)]
pub(crate) struct Orders {
    /// Its configuration file
    #[arg(long)]
    config: PathBuf,
    /// Where to halt: at the nth time that a point is reached
    #[arg(long, value_name = "POINT:NTH")]
    halt: Option<Halt>,
}

/// Where to halt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halt {
    pub(crate) point: Point,
    /// 1 is the first time.
    pub(crate) nth: usize,
}

impl FromStr for Halt {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, nth) = text.split_once(':').ok_or("expected POINT:NTH")?;
        let point = Point::ALL.into_iter().find(|point| point.name() == name);
        Ok(Self {
            point: point.ok_or("no such point")?,
            nth: nth.parse().map_err(|_| "NTH is a number")?,
        })
    }
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.point.name(), self.nth)
    }
}

/// Serves until standard input closes.
pub(crate) async fn serve(orders: Orders) -> Result<(), Failure> {
    let broker = Broker::assemble(
        Config::load(&orders.config)?,
        Surroundings {
            probe: orders.halt.map(halting).unwrap_or_default(),
            ..Surroundings::default()
        },
    )?;
    let up = AdHoc::on_liftoff("address", |rocket| {
        Box::pin(async move {
            let config = rocket.config();
            say(&format!("http://{}:{}", config.address, config.port));
        })
    });
    std::thread::spawn(end_with_whoever_started_us);
    let _ = broker.rocket().attach(up).launch().await?;
    Ok(())
}

/// Stops the operation that reaches the point, and all that wait for it, for good.
fn halting(halt: Halt) -> Probe {
    let reached = AtomicUsize::new(0);
    Probe::new(move |point| {
        if point == halt.point && reached.fetch_add(1, Ordering::Relaxed) + 1 == halt.nth {
            say(HALTED);
            loop {
                std::thread::park();
            }
        }
    })
}

fn end_with_whoever_started_us() {
    let mut nothing = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut nothing);
    std::process::exit(0);
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
