//! The cost of whole logins: every server serves every kind of login, round by round; and
//! the memory of a server, idle and after many logins. The servers are floor-hops, and each
//! broker on each store.

use std::net::SocketAddr;
use std::path::Path;

use clap::ValueEnum as _;

use crate::BenchError;
use crate::load::login::Login;
use crate::load::{CPU, Load, P50_REQUEST, P99_REQUEST};
use crate::report::{Compared, Figures, Goal, Row, Unit, us};
use crate::servers::broker::{Database, POSTGRES, Store};
use crate::servers::{ServerProcess, folder, providers};
use crate::setup::{Setup, Version};

/// The numbers of clients at once.
const CLIENTS: [usize; 3] = [1, 16, 64];

/// The broker's time limit for a request of 64 clients on a file, for one in a hundred.
const P99: Goal = Goal::AtMost(10.0);

/// The work of PostgreSQL for its broker.
const STATEMENTS: &str = "statements of a login";
const LOG: &str = "write-ahead log of a login";
const DATABASE_CPU: &str = "CPU of a login in PostgreSQL";

/// The clients whose logins fill the memory.
const MEMORY_CLIENTS: usize = 16;
const MAX_IDLE_MB: f64 = 10.0;
const MAX_GROWTH_MB: f64 = 2.0;

const IDLE: &str = "memory, idle";

/// Measures each kind of login with each number of clients.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start().await?;
    let folder = folder()?;
    let database = match setup.with_postgres {
        true => Some(Database::start(setup.cores).await?),
        false => None,
    };
    let database = database.as_ref();
    let mut subjects = start(setup, providers, folder.path(), database)?;
    let mut rows = Vec::new();
    let loads: Vec<_> = loads(setup).collect();
    for (number, (login, clients)) in loads.iter().enumerate() {
        let share = number as f64 / loads.len() as f64;
        let what = format!("{login}, {clients} at once");
        setup.progress.at(share, &what);
        measure_load(setup, &mut subjects, database, *login, *clients).await?;
        rows.extend(rows_of(&subjects, *login, *clients));
    }
    Ok(rows)
}

/// Each kind of login with each number of clients: one at once only for the first kind.
fn loads(setup: &Setup) -> impl Iterator<Item = (Login, usize)> {
    let logins = Login::value_variants().iter();
    let logins = logins.filter(|it| setup.login.is_none_or(|only| only == **it));
    logins.flat_map(|&login| {
        let clients = match setup.clients {
            Some(clients) => vec![clients],
            None if login == Login::CleanGitHub => CLIENTS.to_vec(),
            None => CLIENTS[1..].to_vec(),
        };
        clients.into_iter().map(move |clients| (login, clients))
    })
}

/// Measures every server with one load, round by round.
async fn measure_load(
    setup: &Setup,
    subjects: &mut [Subject],
    database: Option<&Database>,
    login: Login,
    clients: usize,
) -> Result<(), BenchError> {
    // One client takes longer for the same number.
    let logins = match clients {
        1 => setup.size.logins / 4,
        _ => setup.size.logins,
    };
    let mut loads = Vec::new();
    for subject in subjects.iter_mut() {
        let mut load = Load::connect(subject.server.address, clients, login).await?;
        // Its database is a process on the load's core.
        if !subject.is_on_postgres() {
            load = load.staying_awake();
        }
        load.run(logins / 4).await?;
        loads.push(load);
        subject.figures = Figures::default();
    }
    for _ in 0..setup.size.rounds {
        for (subject, load) in subjects.iter_mut().zip(&mut loads) {
            let database = database.filter(|_| subject.is_on_postgres());
            measure_round(subject, load, logins, database).await?;
        }
    }
    Ok(())
}

/// Measures a server in one round, and its database.
async fn measure_round(
    subject: &mut Subject,
    load: &mut Load,
    logins: usize,
    database: Option<&Database>,
) -> Result<(), BenchError> {
    let used = match database {
        Some(database) => Some((database, database.usage().await?)),
        None => None,
    };
    load.measure(&subject.server, logins, &mut subject.figures)
        .await?;
    if let Some((database, before)) = used {
        let after = database.usage().await?;
        let each = |amount: f64| amount / load.rounded(logins) as f64;
        let statements = each(after.statements - before.statements);
        let log = each(after.log_bytes - before.log_bytes);
        let cpu = each(us(after.cpu.saturating_sub(before.cpu)));
        subject.figures.push(STATEMENTS, Unit::NUMBER, statements);
        subject.figures.push(LOG, Unit::BYTES, log);
        subject.figures.push(DATABASE_CPU, Unit::MICROSECONDS, cpu);
    }
    Ok(())
}

/// The rows of each store: the CPU time, and with many clients what else has a limit.
fn rows_of(subjects: &[Subject], login: Login, clients: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (store, compared) in compared(subjects) {
        let compared = Compared {
            what: format!("{login}, {clients} at once, {store}"),
            ..compared
        };
        let median = |name| compared.broker.rounds(name).median();
        let (p50, p99) = (median(P50_REQUEST), median(P99_REQUEST));
        let remark = format!("a request: p50 {p50:.2} ms, p99 {p99:.1} ms");
        let cpu = compared.row(CPU).remark(remark);
        rows.push(match goal(login, clients, store) {
            Some(goal) => cpu.goal(goal),
            None => cpu,
        });
        match (clients, store) {
            (64, "SQLite file") => rows.push(compared.row(P99_REQUEST).goal(P99)),
            (64, POSTGRES) => {
                rows.extend([STATEMENTS, LOG, DATABASE_CPU].map(|it| compared.row(it)));
            }
            _ => {}
        }
    }
    rows
}

/// The most that a login may cost, as a multiple of the floor.
fn goal(login: Login, clients: usize, store: &str) -> Option<Goal> {
    let most = match (login, store) {
        (_, POSTGRES) => return None,
        (Login::CleanGoogle | Login::LegacyGoogle, _) => 1.6,
        (Login::CleanGitHub | Login::LegacyGitHub, "memory") => 1.7,
        (Login::CleanGitHub, _) => 2.3,
        (Login::LegacyGitHub, _) => 2.5,
    };
    (clients > 1).then_some(Goal::RatioAtMost(most))
}

/// Measures the memory of floor-hops, and of each broker in memory and on a file.
///
/// A login that was consumed leaves two rows for 20 minutes: its own without its profile,
/// by which a late browser is sent back, and that of its upstream login, which must not be
/// used again. The sweeper deletes them then.
pub(super) async fn measure_memory(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let growth = format!("growth after {} consumed logins", setup.size.consumed);
    let providers = providers::start().await?;
    let folder = folder()?;
    let mut subjects = start(setup, providers, folder.path(), None)?;
    let all = subjects.len() as f64;
    for (number, subject) in subjects.iter_mut().enumerate() {
        setup.progress.at(number as f64 / all, "consumed logins");
        let Subject {
            server, figures, ..
        } = subject;
        let megabytes = || server.memory().map(|bytes| bytes as f64 / 1e6);
        let idle = megabytes()?;
        let mut load = Load::connect(server.address, MEMORY_CLIENTS, Login::CleanGitHub).await?;
        load.run(setup.size.consumed).await?;
        figures.push(IDLE, Unit::MEGABYTES, idle);
        figures.push(&growth, Unit::MEGABYTES, megabytes()? - idle);
    }
    let rows = compared(&subjects).flat_map(|(_, compared)| {
        let idle = compared.row(IDLE).goal(Goal::AtMost(MAX_IDLE_MB));
        let growth = compared.row(&growth).goal(Goal::AtMost(MAX_GROWTH_MB));
        let remark = "each leaves two rows for 20 minutes, without the profile";
        [idle, growth.remark(remark)]
    });
    Ok(rows.collect())
}

/// A server under test.
struct Subject {
    kind: Kind,
    server: ServerProcess,
    figures: Figures,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Floor,
    /// A broker, with the name of its store.
    Broker(Version, &'static str),
}

/// Starts floor-hops, and each broker on each store, whose files are in `folder`.
fn start(
    setup: &Setup,
    providers: SocketAddr,
    folder: &Path,
    database: Option<&Database>,
) -> Result<Vec<Subject>, BenchError> {
    let subject = |kind, server| Subject {
        kind,
        server,
        figures: Figures::default(),
    };
    let mut subjects = vec![subject(Kind::Floor, setup.start_floor(providers)?)];
    for (version, program) in setup.versions() {
        let file = folder.join(format!("{version:?}.db"));
        let stores = [Store::Memory, Store::File(file)].into_iter();
        let postgres = database.map(|it| Store::Postgres(it.url()));
        for store in stores.chain(postgres) {
            let broker = setup.start_broker(program, &store, providers)?;
            subjects.push(subject(Kind::Broker(version, store.name()), broker));
        }
    }
    Ok(subjects)
}

impl Subject {
    /// The name of its store; empty for floor-hops.
    fn store(&self) -> &'static str {
        match self.kind {
            Kind::Floor => "",
            Kind::Broker(_, store) => store,
        }
    }

    fn is_on_postgres(&self) -> bool {
        self.store() == POSTGRES
    }
}

/// The brokers of this tree, by the names of their stores.
fn compared(subjects: &[Subject]) -> impl Iterator<Item = (&'static str, Compared<'_>)> {
    let find = |kind| subjects.iter().find(move |it| it.kind == kind);
    subjects.iter().filter_map(move |subject| {
        let store = subject.store();
        let compared = Compared {
            what: store.to_owned(),
            broker: &subject.figures,
            beside: ("floor-hops", &find(Kind::Floor)?.figures),
            before: find(Kind::Broker(Version::Before, store)).map(|it| &it.figures),
        };
        let is_present = subject.kind == Kind::Broker(Version::Present, store);
        is_present.then_some((store, compared))
    })
}
