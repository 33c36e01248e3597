//! The cost of whole logins: every server serves every kind of login, round by round; and
//! the memory of a server, idle and after many logins. The servers are floor-hops, and each
//! broker on each store.

use clap::ValueEnum as _;

use super::{commits, measure_rounds, tail};
use crate::BenchError;
use crate::load::login::Login;
use crate::load::{CPU, Load, P50, P99};
use crate::report::{Figure, Goal, MEGABYTES, Results, Row, Version};
use crate::servers::Measured;
use crate::servers::broker::{
    DATABASE_CPU, Database, FILE, LOG, MAX_STATEMENTS, POSTGRES, STATEMENTS, Store,
};
use crate::setup::{FLOOR, Setup, announce};

/// The numbers of clients at once.
const CLIENTS: [usize; 3] = [1, 16, 64];

/// The clients whose logins fill the memory.
const MEMORY_CLIENTS: usize = 16;

const IDLE: Figure = Figure("memory, idle", MEGABYTES);

/// Measures each kind of login with each number of clients.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let database = match setup.args.no_postgres {
        false => Some(Database::start(setup).await?),
        true => None,
    };
    let servers = start(setup, database.as_ref())?;
    let mut rows = Vec::new();
    for (login, clients) in loads(setup) {
        announce(&format!("{login}, {clients} at once"));
        // One client takes longer for the same number.
        let logins = match clients {
            1 => setup.size.logins / 4,
            _ => setup.size.logins,
        };
        let mut results = measure_rounds(setup, &servers, (login, clients), logins).await?;
        for store in stores(&servers) {
            rows.extend(rows_of(&results, login, clients, store));
        }
        match clients {
            1 => rows.extend(commits::measure(setup, logins, &mut results)?),
            64 if login == setup.args.login.unwrap_or(Login::CleanGitHub) => {
                rows.extend(tail::measure(setup, (login, clients)).await?);
            }
            _ => {}
        }
    }
    Ok(rows)
}

/// Each kind of login with each number of clients: one at once only for the first kind.
fn loads(setup: &Setup) -> impl Iterator<Item = (Login, usize)> {
    let logins = Login::value_variants().iter();
    let logins = logins.filter(|it| setup.args.login.is_none_or(|only| only == **it));
    logins.flat_map(|&login| {
        let clients = match setup.args.clients {
            Some(clients) => vec![clients.into()],
            None if login == Login::CleanGitHub => CLIENTS.to_vec(),
            None => CLIENTS[1..].to_vec(),
        };
        clients.into_iter().map(move |clients| (login, clients))
    })
}

/// The rows of a store: the CPU time, and with many clients what else has a limit.
fn rows_of(results: &Results, login: Login, clients: usize, store: &str) -> Vec<Row> {
    let load = format!("{login}, {clients} at once, ");
    let row = |figure| results.row(&load, store, figure, FLOOR);
    let median = |figure| results.median(store, Version::Present, figure);
    let (p50, p99) = (median(P50), median(P99));
    let cpu = row(CPU).remark(format!("a request: p50 {p50:.2} ms, p99 {p99:.1} ms"));
    let most = [1.5, 1.2][usize::from(login.provider() == "google")];
    match (clients, store) {
        (1, FILE) => vec![cpu.goal(Goal::Ratio(3.0))],
        (64, FILE) => vec![cpu, row(P99).goal(Goal::Ratio(most))],
        (64, POSTGRES) => vec![
            cpu,
            row(STATEMENTS).goal(Goal::Most(MAX_STATEMENTS)),
            row(LOG),
            row(DATABASE_CPU).goal(Goal::Most(500.0)),
        ],
        _ => vec![cpu],
    }
}

/// Measures the memory of floor-hops, and of each broker in memory and on a file.
///
/// A login that was consumed leaves two rows for 20 minutes: its own without its profile,
/// by which a late browser is sent back, and that of its upstream login, which must not be
/// used again. The sweeper deletes them then.
pub(super) async fn measure_memory(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let growth = Figure("growth of the memory", MEGABYTES);
    let servers = start(setup, None)?;
    let mut results = Results::default();
    for it in &servers {
        let (subject, server) = (&it.subject, &it.server);
        announce(&format!("memory, {}", subject.0));
        let idle = server.megabytes()?;
        let mut load = Load::at(server.address, MEMORY_CLIENTS).await?;
        load.run(Login::CleanGitHub, setup.size.consumed).await?;
        results.push(subject, IDLE, idle);
        results.push(subject, growth, server.megabytes()? - idle);
    }
    let consumed = format!("{} consumed logins, ", setup.size.consumed);
    let rows = stores(&servers).flat_map(|store| {
        let idle = results.row("", store, IDLE, FLOOR).goal(Goal::Most(12.0));
        let growth = results.row(&consumed, store, growth, FLOOR);
        let remark = "each leaves two rows for 20 minutes, without the profile";
        [idle, growth.goal(Goal::Above(4.0)).remark(remark)]
    });
    Ok(rows.collect())
}

/// Starts floor-hops, and each broker on each store.
fn start<'a>(
    setup: &Setup,
    database: Option<&'a Database>,
) -> Result<Vec<Measured<'a>>, BenchError> {
    let mut servers = vec![setup.start_floor()?];
    for version in setup.versions() {
        let postgres = database.map(|it| (it.store(), Some(it)));
        let stores = [(Store::Memory, None), (Store::File, None)].into_iter();
        for (store, database) in stores.chain(postgres) {
            let name = store.name();
            servers.push(setup.start_measured(name, version, &store, database)?);
        }
    }
    Ok(servers)
}

/// The names of the stores.
fn stores<'a>(servers: &'a [Measured<'_>]) -> impl Iterator<Item = &'a str> {
    let subjects = servers.iter().map(|it| &it.subject);
    let present = subjects.filter(|it| it.1 == Version::Present && it.0 != FLOOR);
    present.map(|it| it.0.as_str())
}
