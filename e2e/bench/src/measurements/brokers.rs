//! One, two and four brokers on one durable PostgreSQL. Nothing is pinned but the load:
//! brokers and database take the cores that the system gives them.
//!
//! The database counts statements, log and fsyncs for all together, so those are counted
//! for one number of brokers after the other. Times are measured in the same rounds.
//!
//! The model predicts the number of logins: all cores, divided by the CPU time that a login
//! takes of brokers, database and load together, as measured with one broker.

use std::net::SocketAddr;
use std::time::Duration;

use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::load::login::Login;
use crate::load::{Load, Times};
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::Store;
use crate::servers::database::Database;
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

/// Some brokers on a database of their own, and their clients.
struct Group {
    brokers: Vec<RunningBroker>,
    load: Load,
}

/// The most that a login at two brokers may cost beside one at one broker, for two with cores
/// of their own to do 1.8 times the logins of one: 2 / 1.8.
const TWO_BROKERS: Goal = Goal::RatioAtMost(1.11);

/// Measures each number of brokers.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start(Duration::ZERO).await?;
    let settings = [
        "shared_preload_libraries=pg_stat_statements",
        "max_connections=200",
    ];
    let database = Database::start(setup, CoreChoice::Anywhere, &settings)?;
    let client = database.client("postgres").await?;
    client
        .batch_execute("CREATE EXTENSION pg_stat_statements")
        .await?;
    let mut figures = Vec::new();
    for brokers in BROKERS {
        setup
            .progress
            .at(0.1 * figures.len() as f64, "what each number uses");
        database.create(&name(brokers)).await?;
        figures.push(Figures::used(setup, &database, providers, brokers).await?);
    }
    let mut groups = Vec::new();
    for brokers in BROKERS {
        let mut group = Group::start(setup, &database, providers, brokers).await?;
        group.load.run(setup.size.logins).await?;
        groups.push(group);
    }
    for round in 0..setup.size.rounds {
        let share = round as f64 / setup.size.rounds as f64;
        setup
            .progress
            .at(0.3 + 0.7 * share, "all numbers, in rounds");
        for (group, figures) in groups.iter_mut().zip(&mut figures) {
            group.measure(&database, setup.size.logins, figures).await?;
        }
    }
    let predicted = figures[0].predicted(setup.cores.count());
    let rows = BROKERS.iter().zip(&figures).map(|(brokers, own)| {
        let one = (*brokers > 1).then_some(&figures[0]);
        rows_of(*brokers, own, one, predicted)
    });
    Ok(rows.flatten().collect())
}

fn name(brokers: usize) -> String {
    format!("brokers_{brokers}")
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

impl Group {
    async fn start(
        setup: &Setup,
        database: &Database,
        providers: SocketAddr,
        brokers: usize,
    ) -> Result<Self, BenchError> {
        let store = Store::Postgres(database.url(&name(brokers)));
        let program = &setup.programs.broker;
        let start = |_| setup.start_broker_at(CoreChoice::Anywhere, program, &store, providers);
        let brokers: Vec<_> = (0..brokers).map(start).collect::<Result<_, _>>()?;
        let addresses: Vec<_> = brokers.iter().map(|it| it.server.address).collect();
        let load = Load::connect_in_turn(&addresses, CLIENTS, Login::CLEAN_GITHUB).await?;
        Ok(Self { brokers, load })
    }

    async fn measure(
        &mut self,
        database: &Database,
        logins: usize,
        figures: &mut Figures,
    ) -> Result<(), BenchError> {
        let before = Cpu::of(&self.brokers, database)?;
        let Times { whole, requests } = self.load.run(logins).await?;
        let after = Cpu::of(&self.brokers, database)?;
        let logins = self.load.rounded(logins) as f64;
        let of =
            |part: fn(&Cpu) -> Duration| us(part(&after).saturating_sub(part(&before))) / logins;
        let (brokers, database) = (of(|it| it.brokers), of(|it| it.database));
        figures.per_second.push(logins / whole.as_secs_f64());
        figures.brokers_us.push(brokers);
        figures.database_us.push(database);
        figures.both_us.push(brokers + database);
        figures.all_us.push(brokers + database + of(|it| it.load));
        figures.p99_ms.push(ms(percentile(&requests, 0.99)));
        Ok(())
    }
}

impl Figures {
    /// What the database uses for a login of this number of brokers.
    async fn used(
        setup: &Setup,
        database: &Database,
        providers: SocketAddr,
        brokers: usize,
    ) -> Result<Self, BenchError> {
        let earlier = database.statistics().await?;
        let mut group = Group::start(setup, database, providers, brokers).await?;
        group.load.run(setup.size.logins).await?;
        let logins = group.load.rounded(setup.size.logins) as f64;
        let connections = database.connections().await?;
        drop(group);
        let now = database.statistics().await?;
        Ok(Self {
            statements: Rounds::once((now.statements - earlier.statements) / logins),
            wal_bytes: Rounds::once((now.wal_bytes - earlier.wal_bytes) / logins),
            fsyncs: Rounds::once((now.fsyncs - earlier.fsyncs) / logins),
            connections: Rounds::once(connections as f64),
            ..Self::default()
        })
    }

    /// The number of logins in a second that keep this number of cores busy.
    fn predicted(&self, cores: usize) -> f64 {
        cores as f64 * 1e6 / self.all_us.median()
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
            .goal((brokers == 2).then_some(TWO_BROKERS)),
        row("p99 of a request", Unit::Milliseconds, |it| &it.p99_ms),
        row("statements of a login", Unit::Count, |it| &it.statements),
        row("write-ahead log of a login", Unit::Bytes, |it| {
            &it.wal_bytes
        }),
        row("fsyncs of a login", Unit::Count, |it| &it.fsyncs),
        row("connections", Unit::Count, |it| &it.connections),
    ]
}
