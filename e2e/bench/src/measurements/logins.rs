//! The cost of whole logins: every server serves every kind of login, round by round.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use testkit::postgres::Server;

use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::{Flow, Login, Provider};
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::{POSTGRES, Store};
use crate::servers::process::ServerProcess;
use crate::servers::providers;
use crate::setup::{RunningBroker, Setup, Version};
use crate::stats::{Rounds, ms, percentile, us};

/// The numbers of clients at once.
const CLIENTS: [usize; 3] = [1, 16, 64];

/// The broker's time limit for a request of 64 clients on a file, for one in a hundred.
const P99: Goal = Goal::AtMost(10.0);

/// A server under test.
struct Subject {
    kind: Kind,
    server: Running,
    figures: Figures,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Floor,
    Broker(Version, &'static str),
}

impl Kind {
    /// Whether its database is a process on the load's core.
    fn has_database(self) -> bool {
        matches!(self, Self::Broker(_, store) if store == POSTGRES)
    }
}

enum Running {
    Floor(ServerProcess),
    Broker(RunningBroker),
}

/// The figures of one server with one load.
#[derive(Default)]
struct Figures {
    cpu_us: Rounds,
    p50_ms: Rounds,
    p99_ms: Rounds,
}

/// Measures each kind of login with each number of clients.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start(Duration::ZERO).await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let database = match setup.with_postgres {
        true => Some(setup.start_postgres(CoreChoice::Load, &[])?),
        false => None,
    };
    let mut subjects = subjects(setup, providers, folder.path(), database.as_ref())?;
    let mut rows = Vec::new();
    let loads: Vec<_> = loads(setup).collect();
    for (number, (login, clients)) in loads.iter().enumerate() {
        let share = number as f64 / loads.len() as f64;
        let what = format!("{login}, {clients} at once");
        setup.progress.at(share, &what);
        measure_load(setup, &mut subjects, *login, *clients).await?;
        rows.extend(rows_of(&subjects, *login, *clients));
    }
    Ok(rows)
}

/// Each kind of login with each number of clients.
fn loads(setup: &Setup) -> impl Iterator<Item = (Login, usize)> {
    let logins = Login::ALL.into_iter();
    let logins = logins.filter(|it| setup.login.is_none_or(|only| only == *it));
    logins.flat_map(|login| {
        let clients = clients_of(login, setup.clients);
        clients.into_iter().map(move |clients| (login, clients))
    })
}

/// One client at once only for the first kind of login.
fn clients_of(login: Login, only: Option<usize>) -> Vec<usize> {
    match only {
        Some(clients) => vec![clients],
        None if login == Login::ALL[0] => CLIENTS.to_vec(),
        None => CLIENTS[1..].to_vec(),
    }
}

/// Starts floor-hops, and each broker on each store.
fn subjects(
    setup: &Setup,
    providers: SocketAddr,
    folder: &Path,
    database: Option<&Server>,
) -> Result<Vec<Subject>, BenchError> {
    let floor = setup.start_floor(providers)?;
    let mut subjects = vec![Subject::new(Kind::Floor, Running::Floor(floor))];
    for (number, (version, program)) in setup.versions().enumerate() {
        let file = folder.join(format!("broker-{number}.db"));
        let mut stores = vec![Store::Memory, Store::File(file)];
        if let Some(database) = database {
            stores.push(Store::Postgres(database.url("postgres")));
        }
        for store in stores {
            let broker = setup.start_broker(program, &store, providers)?;
            let kind = Kind::Broker(version, store.name());
            subjects.push(Subject::new(kind, Running::Broker(broker)));
        }
    }
    Ok(subjects)
}

/// Measures every server with one load, round by round.
async fn measure_load(
    setup: &Setup,
    subjects: &mut [Subject],
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
        let mut load = Load::connect(subject.server().address, clients, login).await?;
        if !subject.kind.has_database() {
            load = load.staying_awake();
        }
        load.run(logins / 4).await?;
        loads.push(load);
        subject.figures = Figures::default();
    }
    for _ in 0..setup.size.rounds {
        for (subject, load) in subjects.iter_mut().zip(&mut loads) {
            subject.measure(load, logins).await?;
        }
    }
    Ok(())
}

impl Subject {
    fn new(kind: Kind, server: Running) -> Self {
        Self {
            kind,
            server,
            figures: Figures::default(),
        }
    }

    fn server(&self) -> &ServerProcess {
        match &self.server {
            Running::Floor(server) => server,
            Running::Broker(broker) => &broker.server,
        }
    }

    async fn measure(&mut self, load: &mut Load, logins: usize) -> Result<(), BenchError> {
        let before = self.server().cpu()?;
        let times = load.run(logins).await?;
        let cpu = self.server().cpu()?.saturating_sub(before);
        self.figures
            .cpu_us
            .push(us(cpu) / load.rounded(logins) as f64);
        self.figures
            .p50_ms
            .push(ms(percentile(&times.requests, 0.5)));
        self.figures
            .p99_ms
            .push(ms(percentile(&times.requests, 0.99)));
        Ok(())
    }
}

/// A row of CPU time for each store, and for a file one of the slowest requests.
fn rows_of(subjects: &[Subject], login: Login, clients: usize) -> Vec<Row> {
    let find = |kind| {
        let found = subjects.iter().find(|it| it.kind == kind);
        found.map(|it| &it.figures)
    };
    let mut rows = Vec::new();
    for subject in subjects {
        let Kind::Broker(Version::Present, store) = subject.kind else {
            continue;
        };
        let figures = Compared {
            what: format!("{login}, {clients} at once, {store}"),
            present: &subject.figures,
            before: find(Kind::Broker(Version::Before, store)),
            floor: find(Kind::Floor),
        };
        rows.push(figures.cpu_row().goal(goal(login, clients, store)));
        if (clients, store) == (64, "SQLite file") {
            rows.push(figures.p99_row().goal(Some(P99)));
        }
    }
    rows
}

/// The figures of one load and store.
struct Compared<'a> {
    what: String,
    present: &'a Figures,
    before: Option<&'a Figures>,
    floor: Option<&'a Figures>,
}

impl Compared<'_> {
    fn cpu_row(&self) -> Row {
        let (p50, p99) = (self.present.p50_ms.median(), self.present.p99_ms.median());
        self.row("CPU of a login", Unit::Microseconds, |it| &it.cpu_us)
            .remark(format!("a request: p50 {p50:.2} ms, p99 {p99:.1} ms"))
    }

    fn p99_row(&self) -> Row {
        self.row("p99 of a request", Unit::Milliseconds, |it| &it.p99_ms)
    }

    fn row(&self, figure: &str, unit: Unit, of: fn(&Figures) -> &Rounds) -> Row {
        let what = format!("{}: {figure}", self.what);
        let row = Row::new(what, unit, of(self.present).clone());
        let row = row.before(self.before.map(|it| of(it).clone()));
        match self.floor {
            Some(floor) => row.beside("floor-hops", of(floor).clone()),
            None => row,
        }
    }
}

/// The most that a login may cost, as a multiple of the floor.
fn goal(login: Login, clients: usize, store: &str) -> Option<Goal> {
    let most = match (login.provider, login.flow, store) {
        (_, _, "PostgreSQL") => return None,
        (Provider::Google, ..) => 1.6,
        (Provider::GitHub, _, "memory") => 1.7,
        (Provider::GitHub, Flow::Clean, _) => 2.3,
        (Provider::GitHub, Flow::Legacy, _) => 2.5,
    };
    (clients > 1).then_some(Goal::RatioAtMost(most))
}
