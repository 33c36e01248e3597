//! Logins beside many live sessions, and the memory and file that a session takes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::Store;
use crate::servers::providers;
use crate::setup::{RunningBroker, Setup};
use crate::stats::{Rounds, ms, percentile, us};

/// The live sessions of the broker that is compared.
const FEW: usize = 1_000;

const CLIENTS: usize = 16;

/// A session lives for ten minutes; the last measurement must be over by then.
const LIFETIME: Duration = Duration::from_secs(600);

const MOST: Goal = Goal::RatioAtMost(1.2);

/// A broker on a file with live sessions.
struct MeasuredBroker {
    broker: RunningBroker,
    file: PathBuf,
    load: Load,
    cpu_us: Rounds,
    p50_ms: Rounds,
}

/// The bytes that a session takes.
struct Bytes {
    memory: Rounds,
    file: Rounds,
}

/// Measures two brokers in turn.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let sessions = setup.size.sessions;
    let providers = providers::start(Duration::ZERO).await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let mut few = MeasuredBroker::start(setup, folder.path().join("few.db"), providers).await?;
    let mut many = MeasuredBroker::start(setup, folder.path().join("many.db"), providers).await?;
    let began = now();
    few.load.open(FEW).await?;
    let bytes = many.fill(sessions).await?;
    for _ in 0..setup.size.rounds {
        few.measure(setup).await?;
        many.measure(setup).await?;
    }
    if now() - began >= LIFETIME {
        return Err(BenchError::Server(format!(
            "{sessions} sessions took longer to open than they live on this machine; \
             open fewer with --sessions"
        )));
    }
    Ok(rows_of(sessions, few, many, bytes))
}

fn rows_of(sessions: usize, few: MeasuredBroker, many: MeasuredBroker, bytes: Bytes) -> Vec<Row> {
    let row = |what: &str, unit, many, few| {
        let what = format!("{sessions} live sessions: {what}");
        Row::new(what, unit, many).beside(format!("{FEW} live sessions"), few)
    };
    vec![
        row(
            "p50 of a request",
            Unit::Milliseconds,
            many.p50_ms,
            few.p50_ms,
        )
        .goal(Some(MOST)),
        row(
            "CPU of a login",
            Unit::Microseconds,
            many.cpu_us,
            few.cpu_us,
        ),
        Row::new("a live session: memory", Unit::Bytes, bytes.memory),
        Row::new(
            "a live session: SQLite file and its log",
            Unit::Bytes,
            bytes.file,
        ),
    ]
}

impl MeasuredBroker {
    async fn start(
        setup: &Setup,
        file: PathBuf,
        providers: SocketAddr,
    ) -> Result<Self, BenchError> {
        let store = Store::File(file.clone());
        let broker = setup.start_broker(&setup.programs.broker, &store, providers)?;
        let load = Load::connect(broker.server.address, CLIENTS, Login::CLEAN_GITHUB).await?;
        Ok(Self {
            broker,
            file,
            load,
            cpu_us: Rounds::default(),
            p50_ms: Rounds::default(),
        })
    }

    /// Opens this number of sessions.
    async fn fill(&mut self, sessions: usize) -> Result<Bytes, BenchError> {
        // Its connections and caches belong to no session.
        self.load.open(FEW).await?;
        let used =
            |it: &Self| Ok::<_, BenchError>((it.broker.server.memory()?, file_bytes(&it.file)?));
        let before = used(self)?;
        self.load.open(sessions - FEW).await?;
        let after = used(self)?;
        let each = |before: u64, after: u64| {
            Rounds::once(after.saturating_sub(before) as f64 / (sessions - FEW) as f64)
        };
        Ok(Bytes {
            memory: each(before.0, after.0),
            file: each(before.1, after.1),
        })
    }

    async fn measure(&mut self, setup: &Setup) -> Result<(), BenchError> {
        let logins = self.load.rounded(setup.size.logins);
        let before = self.broker.server.cpu()?;
        let times = self.load.run(logins).await?;
        let cpu = self.broker.server.cpu()?.saturating_sub(before);
        self.cpu_us.push(us(cpu) / logins as f64);
        self.p50_ms.push(ms(percentile(&times.requests, 0.5)));
        Ok(())
    }
}

/// The bytes of a database and its write-ahead log.
pub(super) fn file_bytes(path: &Path) -> Result<u64, BenchError> {
    Ok(std::fs::metadata(path)?.len() + log_bytes(path))
}

/// The bytes of a database's write-ahead log, which a closed one does not have.
pub(super) fn log_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(0, |it| it.len())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn now() -> Instant {
    Instant::now()
}
