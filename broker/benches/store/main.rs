//! The cost of each step in both engines, compared with a map behind a lock: all in one
//! run, because only ratios carry over from one machine to another.
//!
//! SQLite is a file with the settings of production, PostgreSQL a server of its own with
//! durable commits.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

mod cost;
mod map;
mod steps;

use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use broker::store::fail_points::FailPoints;
use broker::store::{Store, open};
use testkit::postgres::{Durability, Server};

use cost::{Cost, measure};
use map::Map;
use steps::{Login, Step};

/// The numbers of clients at once, and of the logins they share.
const LOADS: [(usize, usize); 2] = [(1, 200), (64, 3_200)];

/// The number of measurements, each on new stores; their median counts.
const ROUNDS: usize = 3;

/// The compared stores; the first is the floor.
const ENGINES: [&str; 3] = ["map", "SQLite", "PostgreSQL"];

/// The costs of one step in each engine, round by round.
type Measured = [Vec<Cost>; ENGINES.len()];

#[tokio::main]
async fn main() {
    let server = Server::start(Durability::Durable).unwrap();
    // These open the connections and prepare the statements, unmeasured.
    let warm_up = logins(0..64);
    for (clients, count) in LOADS {
        let logins = logins(64..64 + count);
        let mut costs: [Measured; Step::ALL.len()] = Default::default();
        for round in 0..ROUNDS {
            let folder = Folder::new();
            let database = format!("bench_{clients}_{round}");
            let stores = stores(&folder.0, &server, &database).await;
            for (step, measured) in Step::ALL.into_iter().zip(&mut costs) {
                for (store, costs) in stores.iter().zip(measured) {
                    measure(step, store, &warm_up, clients).await;
                    costs.push(measure(step, store, &logins, clients).await);
                }
            }
        }
        print(clients, costs);
    }
}

fn logins(numbers: Range<usize>) -> Arc<Vec<Login>> {
    Arc::new(numbers.map(Login::numbered).collect())
}

/// One empty store of each engine, ready.
async fn stores(folder: &Path, server: &Server, database: &str) -> [Arc<dyn Store>; ENGINES.len()] {
    let file = format!("sqlite:{}/broker.db", folder.display());
    make_database(server, database).await;
    let engine = |url: &str| open(&url.parse().unwrap(), FailPoints::NONE).unwrap();
    let stores = [
        Arc::new(Map::default()),
        engine(&file),
        engine(&server.url(database)),
    ];
    for store in &stores {
        store.ready().await.unwrap();
    }
    stores
}

async fn make_database(server: &Server, name: &str) {
    let url = server.url("postgres");
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let statement = format!("CREATE DATABASE {name}");
    client.batch_execute(&statement).await.unwrap();
}

fn print(clients: usize, costs: [Measured; Step::ALL.len()]) {
    let mut out = std::io::stdout().lock();
    let [floor, sqlite, postgres] = ENGINES;
    let head = format!("{floor:>7} {sqlite:>16} {postgres:>16}");
    writeln!(
        out,
        "\nµs per step, {clients} at once, median of {ROUNDS} rounds (× the {floor})\n\n\
         {:22} {:>41}   {:>41}\n{:22} {head}   {head}",
        "", "time", "CPU of this process", "",
    )
    .unwrap();
    for (step, measured) in Step::ALL.into_iter().zip(costs) {
        let costs = measured.map(|rounds| Cost::median(&rounds));
        let time = compare(costs.map(|cost| cost.time_us));
        let cpu = compare(costs.map(|cost| cost.cpu_us));
        writeln!(out, "{:22} {time}   {cpu}", step.name()).unwrap();
    }
}

/// The costs, with the engines' ratios to the floor.
fn compare([floor, sqlite, postgres]: [f64; ENGINES.len()]) -> String {
    let ratio = |cost: f64| format!("(×{:.0})", cost / floor);
    format!(
        "{floor:7.1} {sqlite:8.1} {:>7} {postgres:8.1} {:>7}",
        ratio(sqlite),
        ratio(postgres)
    )
}

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("store-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
