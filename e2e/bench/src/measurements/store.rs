//! The cost of each step of the store, in both engines, beside a map behind a lock.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use broker::store::Store;
use futures_util::future::try_join_all;

use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::servers::database::Database;
use crate::setup::Setup;
use crate::stats::{Rounds, us};
use crate::store::map::Map;
use crate::store::steps::{Login, START, Step};

/// The numbers of clients at once, each with its share of the logins.
const LOADS: [(usize, usize); 2] = [(1, 8), (64, 1)];

/// The logins that open the connections and prepare the statements, unmeasured.
const WARM_UP: usize = 64;

/// The times of each step in one engine, in microseconds.
struct Engine {
    name: &'static str,
    steps: [Rounds; Step::ALL.len()],
}

/// Measures each step with one client and with many.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let database = match setup.with_postgres {
        true => Some(Database::start(setup, CoreChoice::Anywhere, &[])?),
        false => None,
    };
    let mut rows = Vec::new();
    for (number, (clients, share)) in LOADS.into_iter().enumerate() {
        let what = format!("{clients} at once");
        setup.progress.at(number as f64 / LOADS.len() as f64, &what);
        let logins = setup.size.logins / share;
        let engines = measure_load(setup, database.as_ref(), clients, logins).await?;
        rows.extend(rows_of(&engines, clients));
    }
    Ok(rows)
}

async fn measure_load(
    setup: &Setup,
    database: Option<&Database>,
    clients: usize,
    logins: usize,
) -> Result<Vec<Engine>, BenchError> {
    let logins = numbered(WARM_UP, logins.max(clients));
    let mut engines: Vec<Engine> = Vec::new();
    for round in 0..setup.size.rounds {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
        let name = format!("store_{clients}_{round}");
        let stores = stores(folder.path(), database, &name).await?;
        engines.resize_with(stores.len(), || Engine {
            name: "",
            steps: Default::default(),
        });
        for (number, step) in Step::ALL.into_iter().enumerate() {
            for (engine, (name, store)) in engines.iter_mut().zip(&stores) {
                engine.name = name;
                time(step, &**store, &numbered(0, WARM_UP), clients).await?;
                let took = time(step, &**store, &logins, clients).await?;
                engine.steps[number].push(took);
            }
        }
    }
    Ok(engines)
}

fn numbered(first: usize, count: usize) -> Vec<Login> {
    let numbers = first..first + count;
    numbers.map(|it| Login::numbered(it, START)).collect()
}

/// One empty store of each engine; the first is the floor.
async fn stores(
    folder: &Path,
    database: Option<&Database>,
    name: &str,
) -> Result<Vec<(&'static str, Arc<dyn Store>)>, BenchError> {
    let file = format!("sqlite:{}/broker.db", folder.display());
    let mut stores: Vec<(_, Arc<dyn Store>)> = vec![
        ("map", Arc::new(Map::default())),
        ("SQLite file", crate::store::at(&file).await?),
    ];
    if let Some(database) = database {
        database.create(name).await?;
        stores.push(("PostgreSQL", crate::store::at(&database.url(name)).await?));
    }
    Ok(stores)
}

/// The time of a step in microseconds: that of all, divided by their number.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
async fn time(
    step: Step,
    store: &dyn Store,
    logins: &[Login],
    clients: usize,
) -> Result<f64, BenchError> {
    let began = Instant::now();
    let all = (0..clients).map(async |client| {
        for login in logins.iter().skip(client).step_by(clients) {
            step.run(store, login).await?;
        }
        Ok::<_, BenchError>(())
    });
    try_join_all(all).await?;
    Ok(us(began.elapsed()) / logins.len() as f64)
}

fn rows_of(engines: &[Engine], clients: usize) -> Vec<Row> {
    let Some((floor, engines)) = engines.split_first() else {
        return Vec::new();
    };
    let row = |engine: &Engine, number: usize, step: Step| {
        let what = format!("store, {clients} at once, {}: {}", engine.name, step.name());
        Row::new(what, Unit::Microseconds, engine.steps[number].clone())
            .beside(floor.name, floor.steps[number].clone())
    };
    let rows = engines.iter().flat_map(|engine| {
        let steps = Step::ALL.into_iter().enumerate();
        steps.map(move |(number, step)| row(engine, number, step))
    });
    rows.collect()
}
