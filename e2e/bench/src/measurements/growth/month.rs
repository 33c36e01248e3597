//! A broker that lives through a month: its clock is moved by an hour, and users sign in,
//! again and again. The sweeper keeps its own interval of 15 seconds.

use std::path::Path;
use std::time::Duration;

use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::process::ServerProcess;
use crate::servers::providers;
use crate::setup::Setup;
use crate::stats::Rounds;

use super::sessions::{file_bytes, log_bytes};

const CLIENTS: usize = 16;

/// What a broker uses at one moment, or at most in some hours.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    memory_mb: f64,
    file_mb: f64,
    log_mb: f64,
    open_files: f64,
}

/// Compares the last quarter of the month with its second: in the first, the broker fills
/// its pools, and rows wait for their first sweep. `passed` is called with the share that has
/// passed.
pub(super) async fn measure(setup: &Setup, passed: impl Fn(f64)) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start(Duration::ZERO).await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let path = folder.path().join("broker.db");
    let config = BrokerConfig::new(&Store::File(path.clone()), providers)?;
    let mut broker = start(setup, &config)?;
    let mut load = Load::connect(broker.address, CLIENTS, Login::CLEAN_GITHUB).await?;
    let mut quarters = [Usage::default(); 4];
    for hour in 0..setup.size.hours {
        passed(hour as f64 / setup.size.hours as f64);
        advance_an_hour(&mut broker)?;
        load.run(setup.size.logins_an_hour).await?;
        let quarter = &mut quarters[hour * 4 / setup.size.hours];
        *quarter = quarter.at_most(Usage::of(&broker, &path)?);
    }
    let logins = load.rounded(setup.size.logins_an_hour) * setup.size.hours;
    let days = setup.size.hours / 24;
    Ok(rows_of(
        quarters,
        &format!("{logins} logins in {days} simulated days"),
    ))
}

fn start(setup: &Setup, config: &BrokerConfig) -> Result<ServerProcess, BenchError> {
    let mut command = setup.itself();
    command.arg("replica").arg("--config").arg(config.path());
    // Each hour's logins arrive at once.
    command.env("BROKER_LIMITS__OVERLOAD_DELAY_MS", "60000");
    let start = || ServerProcess::that_prints_its_address(command);
    setup.cores.at(CoreChoice::Server, start)?
}

fn advance_an_hour(broker: &mut ServerProcess) -> Result<(), BenchError> {
    const HOUR: Duration = Duration::from_secs(3600);
    let answer = broker.order(&format!("advance {}", HOUR.as_millis()))?;
    match answer.as_str() {
        "moved" => Ok(()),
        _ => Err(BenchError::Server(
            "a broker did not move its clock".to_owned(),
        )),
    }
}

impl Usage {
    fn of(broker: &ServerProcess, path: &Path) -> Result<Self, BenchError> {
        Ok(Self {
            memory_mb: broker.memory()? as f64 / 1e6,
            file_mb: file_bytes(path)?.saturating_sub(log_bytes(path)) as f64 / 1e6,
            log_mb: log_bytes(path) as f64 / 1e6,
            open_files: broker.open_files()? as f64,
        })
    }

    fn at_most(self, other: Self) -> Self {
        Self {
            memory_mb: self.memory_mb.max(other.memory_mb),
            file_mb: self.file_mb.max(other.file_mb),
            log_mb: self.log_mb.max(other.log_mb),
            open_files: self.open_files.max(other.open_files),
        }
    }
}

fn rows_of([_, second, _, last]: [Usage; 4], what: &str) -> Vec<Row> {
    let row = |name: &str, unit, value: fn(Usage) -> f64| {
        let what = format!("{what}, the last quarter: {name}, at most");
        Row::new(what, unit, Rounds::once(value(last)))
            .beside("the second quarter", Rounds::once(value(second)))
    };
    let flat = Some(Goal::RatioAtMost(1.1));
    vec![
        row("memory", Unit::Megabytes, |it| it.memory_mb).goal(flat),
        row("SQLite file", Unit::Megabytes, |it| it.file_mb).goal(flat),
        // SQLite starts it anew when it has a thousand pages, unless a batch is under way.
        row("its write-ahead log", Unit::Megabytes, |it| it.log_mb),
        row("open files", Unit::Count, |it| it.open_files).goal(flat),
    ]
}
