//! Growth: live sessions, and the rows that past logins leave.
//!
//! In the month a broker's clock is moved by an hour, and users sign in, again and again.
//! The sweeper keeps its own interval of 15 seconds.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::time::Stopwatch;

use crate::BenchError;
use crate::load::login::Login;
use crate::load::{CPU, Load, P50_REQUEST};
use crate::report::{Compared, Figures, Goal, Row, Unit};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::{ServerProcess, folder, providers};
use crate::setup::{Setup, Size};

/// The live sessions of the broker that is compared.
const FEW: usize = 1_000;

const CLIENTS: usize = 16;

/// A session lives for ten minutes; the last measurement must be over by then.
const LIFETIME: Duration = Duration::from_secs(600);

/// The most that logins may take beside many sessions, as a multiple of beside few.
const MAX_BESIDE_SESSIONS: Goal = Goal::RatioAtMost(1.2);

/// The goal of a size that no longer grows.
const FLAT: Goal = Goal::RatioAtMost(1.1);

const HOUR: Duration = Duration::from_secs(3600);

/// The estimated seconds.
pub(super) fn estimate(size: &Size) -> f64 {
    parts(size).iter().sum()
}

/// The estimated seconds of the two parts.
fn parts(size: &Size) -> [f64; 2] {
    [
        size.sessions as f64 / 4_000.0 + size.rounds as f64 * 4.0,
        (size.logins_an_hour * size.hours) as f64 / 1_000.0,
    ]
}

/// Measures logins beside live sessions, and then the month.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start().await?;
    setup.progress.at(0.0, "live sessions");
    let mut rows = measure_sessions(setup, providers).await?;
    rows.extend(measure_month(setup, providers).await?);
    Ok(rows)
}

/// A broker on a file, with a few live sessions at first.
struct MeasuredBroker {
    broker: ServerProcess,
    file: PathBuf,
    load: Load,
    figures: Figures,
}

/// Measures two brokers in turn.
async fn measure_sessions(setup: &Setup, providers: SocketAddr) -> Result<Vec<Row>, BenchError> {
    let sessions = setup.size.sessions;
    let folder = folder()?;
    let watch = Stopwatch::start();
    let start = |name| MeasuredBroker::start(setup, folder.path().join(name), providers);
    let (mut few, mut many) = (start("few.db").await?, start("many.db").await?);
    many.fill(sessions - FEW).await?;
    for _ in 0..setup.size.rounds {
        for it in [&mut few, &mut many] {
            let logins = setup.size.logins;
            it.load.measure(&it.broker, logins, &mut it.figures).await?;
        }
    }
    if watch.elapsed() >= LIFETIME {
        return Err(BenchError::Failed(format!(
            "{sessions} sessions took longer to open than they live on this machine; \
             open fewer with --sessions"
        )));
    }
    let few_sessions = format!("{FEW} live sessions");
    let compared = Compared {
        what: format!("{sessions} live sessions"),
        broker: &many.figures,
        beside: (&few_sessions, &few.figures),
        before: None,
    };
    let each = Compared {
        what: "a live session".to_owned(),
        ..compared
    };
    Ok(vec![
        compared.row(P50_REQUEST).goal(MAX_BESIDE_SESSIONS),
        compared.row(CPU),
        each.row("memory"),
        each.row("SQLite file and its log"),
    ])
}

impl MeasuredBroker {
    async fn start(
        setup: &Setup,
        file: PathBuf,
        providers: SocketAddr,
    ) -> Result<Self, BenchError> {
        let store = Store::File(file.clone());
        let broker = setup.start_broker(&setup.programs.broker, &store, providers)?;
        let mut load = Load::connect(broker.address, CLIENTS, Login::CleanGitHub).await?;
        load.open(FEW).await?;
        Ok(Self {
            broker,
            file,
            load,
            figures: Figures::default(),
        })
    }

    /// Opens more sessions, and measures the bytes that each takes: the broker's connections
    /// and caches belong to no session.
    async fn fill(&mut self, more: usize) -> Result<(), BenchError> {
        let before = self.used()?;
        self.load.open(more).await?;
        let after = self.used()?;
        for (name, number) in [("memory", 0), ("SQLite file and its log", 1)] {
            let bytes = after[number].saturating_sub(before[number]);
            let each = bytes as f64 / more as f64;
            self.figures.push(name, Unit::BYTES, each);
        }
        Ok(())
    }

    /// The bytes of its memory, and of its file and log.
    fn used(&self) -> Result<[u64; 2], BenchError> {
        let file = std::fs::metadata(&self.file)?.len() + log_bytes(&self.file);
        Ok([self.broker.memory()?, file])
    }
}

/// Compares the last quarter of the month with its second: in the first, the broker fills
/// its pools, and rows wait for their first sweep.
async fn measure_month(setup: &Setup, providers: SocketAddr) -> Result<Vec<Row>, BenchError> {
    let Size {
        hours,
        logins_an_hour,
        ..
    } = setup.size;
    let [sessions, month] = parts(&setup.size);
    let folder = folder()?;
    let path = folder.path().join("broker.db");
    let config = BrokerConfig::new(&Store::File(path.clone()), providers)?;
    let mut broker = start_with_clock(setup, &config)?;
    let mut load = Load::connect(broker.address, CLIENTS, Login::CleanGitHub).await?;
    let mut quarters: [Figures; 4] = Default::default();
    for hour in 0..hours {
        let seconds = sessions + month * hour as f64 / hours as f64;
        let share = seconds / (sessions + month);
        setup.progress.at(share, "a simulated month");
        advance_an_hour(&mut broker)?;
        load.run(logins_an_hour).await?;
        add_usage(&broker, &path, &mut quarters[hour * 4 / hours])?;
    }
    let [_, second, _, last] = quarters.map(|it| it.greatest());
    let logins = load.rounded(logins_an_hour) * hours;
    let days = hours / 24;
    let compared = Compared {
        what: format!("{logins} logins in {days} simulated days, the last quarter"),
        broker: &last,
        beside: ("the second quarter", &second),
        before: None,
    };
    Ok(vec![
        compared.row("memory, at most").goal(FLAT),
        compared.row("SQLite file, at most").goal(FLAT),
        // SQLite starts it anew when it has a thousand pages, unless a batch is under way.
        compared.row("its write-ahead log, at most"),
        compared.row("open files, at most").goal(FLAT),
    ])
}

/// Starts a broker whose clock is moved by orders.
fn start_with_clock(setup: &Setup, config: &BrokerConfig) -> Result<ServerProcess, BenchError> {
    let mut command = setup.itself();
    command.arg("replica").arg("--config").arg(config.path());
    // Each hour's logins arrive at once.
    command.env("BROKER_LIMITS__OVERLOAD_DELAY_MS", "60000");
    setup.start_printing(command)
}

fn advance_an_hour(broker: &mut ServerProcess) -> Result<(), BenchError> {
    let answer = broker.order(&format!("advance {}", HOUR.as_millis()))?;
    match answer.as_str() {
        "done" => Ok(()),
        _ => Err(BenchError::because("a broker did not move its clock")),
    }
}

/// Adds what the broker uses at this moment.
fn add_usage(broker: &ServerProcess, file: &Path, usage: &mut Figures) -> Result<(), BenchError> {
    let memory = broker.memory()?;
    let (bytes, log) = (std::fs::metadata(file)?.len(), log_bytes(file));
    for (name, bytes) in [
        ("memory, at most", memory),
        ("SQLite file, at most", bytes),
        ("its write-ahead log, at most", log),
    ] {
        usage.push(name, Unit::MEGABYTES, bytes as f64 / 1e6);
    }
    let files = broker.open_files()? as f64;
    usage.push("open files, at most", Unit::NUMBER, files);
    Ok(())
}

/// The bytes of a database's write-ahead log, which a closed one does not have.
fn log_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(0, |it| it.len())
}
