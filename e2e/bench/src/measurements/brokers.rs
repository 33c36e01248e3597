//! One, two and four brokers on one durable PostgreSQL. Nothing is pinned but the load:
//! brokers and database take the cores that the system gives them.
//!
//! One number is measured after the other, because the database counts its log and fsyncs
//! for all together. So the ratios include the drift of the machine, and none is a goal:
//! two runs of this measurement have disagreed on their direction.
//!
//! The model predicts the number of logins: all cores, divided by the CPU time that a login
//! takes of brokers, database and load together, as measured with one broker.

use std::net::SocketAddr;
use std::time::Duration;

use crate::cores::Place;
use crate::error::BenchError;
use crate::load::login::Login;
use crate::load::{Load, Times};
use crate::report::{Row, Unit};
use crate::servers::broker::Store;
use crate::servers::database::{Database, Statistics};
use crate::servers::process::cpu_of;
use crate::servers::providers;
use crate::setup::{RunningBroker, Setup};
use crate::stats::{Rounds, ms, percentile, us};

const BROKERS: [usize; 3] = [1, 2, 4];

const CLIENTS: usize = 64;

/// The figures of a number of brokers.
#[derive(Default, Clone)]
struct Figures {
    per_second: Rounds,
    brokers_us: Rounds,
    database_us: Rounds,
    both_us: Rounds,
    /// That of everything on this machine: the load and the providers as well.
    all_us: Rounds,
    p99_ms: Rounds,
    statements: Rounds,
    wal_bytes: Rounds,
    fsyncs: Rounds,
    connections: Rounds,
}

/// Measures each number of brokers on a database of its own.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start(Duration::ZERO).await?;
    let settings = ["shared_preload_libraries=pg_stat_statements"];
    let database = Database::start(setup, Place::Anywhere, &settings)?;
    let client = database.client("postgres").await?;
    client
        .batch_execute("CREATE EXTENSION pg_stat_statements")
        .await?;
    let mut rows = Vec::new();
    let mut one = None;
    for (number, brokers) in BROKERS.into_iter().enumerate() {
        let what = format!("{brokers} on one PostgreSQL");
        setup
            .progress
            .at(number as f64 / BROKERS.len() as f64, &what);
        let figures = Figures::of(setup, &database, providers, brokers).await?;
        let predicted = one
            .as_ref()
            .unwrap_or(&figures)
            .predicted(setup.cores.count());
        rows.extend(rows_of(brokers, &figures, one.as_ref(), predicted));
        one.get_or_insert(figures);
    }
    Ok(rows)
}

/// The CPU time of all parts.
struct Cpu {
    brokers: Duration,
    database: Duration,
    /// This process and the providers.
    load: Duration,
}

impl Cpu {
    fn of(brokers: &[RunningBroker], database: &Database) -> Result<Self, BenchError> {
        let brokers = brokers.iter().map(|it| it.server.cpu());
        Ok(Self {
            brokers: brokers.sum::<Result<_, _>>()?,
            database: database.cpu()?,
            load: cpu_of(std::process::id())?,
        })
    }
}

impl Figures {
    async fn of(
        setup: &Setup,
        database: &Database,
        providers: SocketAddr,
        brokers: usize,
    ) -> Result<Self, BenchError> {
        let name = format!("brokers_{brokers}");
        database.create(&name).await?;
        let earlier = database.statistics().await?;
        let store = Store::Postgres(database.url(&name));
        let program = &setup.programs.broker;
        let start = |_| setup.start_broker_at(Place::Anywhere, program, &store, providers);
        let brokers: Vec<_> = (0..brokers).map(start).collect::<Result<_, _>>()?;
        let addresses: Vec<_> = brokers.iter().map(|it| it.server.address).collect();
        let mut load = Load::connect_in_turn(&addresses, CLIENTS, Login::CLEAN_GITHUB).await?;
        let logins = load.rounded(setup.size.logins);
        let mut figures = Self::default();
        load.run(logins).await?;
        for _ in 0..setup.size.rounds {
            let cpu = || Cpu::of(&brokers, database);
            figures.measure(cpu, &mut load, logins).await?;
        }
        figures
            .connections
            .push(database.connections().await? as f64);
        drop((load, brokers));
        let all = logins * (setup.size.rounds + 1);
        figures.used(earlier, database.statistics().await?, all);
        Ok(figures)
    }

    async fn measure(
        &mut self,
        cpu: impl Fn() -> Result<Cpu, BenchError>,
        load: &mut Load,
        logins: usize,
    ) -> Result<(), BenchError> {
        let before = cpu()?;
        let Times { whole, requests } = load.run(logins).await?;
        let after = cpu()?;
        let of = |part: fn(&Cpu) -> Duration| {
            us(part(&after).saturating_sub(part(&before))) / logins as f64
        };
        let (brokers, database) = (of(|it| it.brokers), of(|it| it.database));
        self.per_second.push(logins as f64 / whole.as_secs_f64());
        self.brokers_us.push(brokers);
        self.database_us.push(database);
        self.both_us.push(brokers + database);
        self.all_us.push(brokers + database + of(|it| it.load));
        self.p99_ms.push(ms(percentile(&requests, 0.99)));
        Ok(())
    }

    /// The number of logins in a second that keep this number of cores busy.
    fn predicted(&self, cores: usize) -> f64 {
        cores as f64 * 1e6 / self.all_us.median()
    }

    /// Divides what the database has used by the number of logins.
    fn used(&mut self, earlier: Statistics, now: Statistics, logins: usize) {
        let each = |amount: f64| amount / logins as f64;
        self.statements
            .push(each(now.statements - earlier.statements));
        self.wal_bytes.push(each(now.wal_bytes - earlier.wal_bytes));
        self.fsyncs.push(each(now.fsyncs - earlier.fsyncs));
    }
}

/// The rows of a number of brokers, beside those of one.
fn rows_of(brokers: usize, figures: &Figures, one: Option<&Figures>, predicted: f64) -> Vec<Row> {
    let who = match brokers {
        1 => "1 broker".to_owned(),
        _ => format!("{brokers} brokers"),
    };
    let row = |what: &str, unit, of: fn(&Figures) -> &Rounds| {
        let what = format!("{who} on one PostgreSQL, {CLIENTS} at once: {what}");
        let row = Row::new(what, unit, of(figures).clone());
        match one {
            Some(one) => row.beside("1 broker", of(one).clone()),
            None => row,
        }
    };
    vec![
        row("logins", Unit::PerSecond, |it| &it.per_second)
            .remark(format!("the model predicts {predicted:.0}/s")),
        row("CPU of a login, brokers", Unit::Microseconds, |it| {
            &it.brokers_us
        }),
        row("CPU of a login, PostgreSQL", Unit::Microseconds, |it| {
            &it.database_us
        }),
        row("CPU of a login, both", Unit::Microseconds, |it| &it.both_us)
            .remark("not of the same rounds: the ratio includes the machine's drift"),
        row("p99 of a request", Unit::Milliseconds, |it| &it.p99_ms),
        row("statements of a login", Unit::Count, |it| &it.statements),
        row("write-ahead log of a login", Unit::Bytes, |it| {
            &it.wal_bytes
        }),
        row("fsyncs of a login", Unit::Count, |it| &it.fsyncs),
        row("connections", Unit::Count, |it| &it.connections),
    ]
}
