//! Growth: live sessions, and the rows that past logins leave.
//!
//! In the month a broker's clock is moved by an hour, and users sign in, again and again.
//! The sweeper keeps its own interval of 15 seconds.

use std::path::Path;
use std::time::Duration;

use agent::process::open_files;
use agent::time::Stopwatch;

use super::measure_rounds;
use crate::BenchError;
use crate::load::connection::Connection;
use crate::load::login::Login;
use crate::load::{CPU, Load, P50};
use crate::report::{BYTES, Figure, Goal, MEGABYTES, NUMBER, Results, Row};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::{Measured, PATIENCE, Server};
use crate::setup::{Setup, announce, itself};

/// The live sessions of the broker that is compared.
const FEW: usize = 1_000;

const CLIENTS: usize = 16;

/// A session lives for ten minutes; the last measurement must be over by then.
const LIFETIME: Duration = Duration::from_secs(600);

/// The space that each session takes.
const MEMORY: Figure = Figure("memory of each", BYTES);
const FILE: Figure = Figure("SQLite file and its log of each", BYTES);

/// The greatest use of resources. SQLite starts its log anew when it has a thousand pages,
/// unless a batch is under way.
const MOST: [(Figure, Option<Goal>); 4] = [
    (Figure("memory, at most", MEGABYTES), FLAT),
    (Figure("SQLite file, at most", MEGABYTES), FLAT),
    (Figure("its write-ahead log, at most", MEGABYTES), None),
    (Figure("open files, at most", NUMBER), FLAT),
];
const FLAT: Option<Goal> = Some(Goal::Ratio(1.1));

/// Measures logins beside live sessions, and then the month.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let sessions = measure_sessions(setup).await?;
    Ok([sessions, measure_month(setup).await?]
        .into_iter()
        .flatten()
        .collect())
}

/// Measures two brokers on a file in turn, one with a few live sessions.
async fn measure_sessions(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let sessions = setup.size.sessions;
    let names = [FEW, sessions].map(|sessions| format!("{sessions} live sessions"));
    announce(&names[1]);
    let watch = Stopwatch::start();
    let mut servers = Vec::new();
    let mut each = [0.0; 2];
    for (name, sessions) in names.iter().zip([FEW, sessions]) {
        let config = setup.configure(&Store::File)?;
        let server = setup.start_broker(&config)?;
        let mut load = Load::at(server.address, CLIENTS).await?;
        let open = async |client: &mut Connection| Login::CleanGitHub.start(client).await.map(drop);
        load.run_each(FEW, open).await?;
        // The broker's connections and caches belong to no session.
        let before = used(&server, &config)?;
        load.run_each(sessions - FEW, open).await?;
        let after = used(&server, &config)?;
        let bytes = |of: usize| (after[of] - before[of]) * 1e6 / (sessions - FEW) as f64;
        each = [bytes(0), bytes(1) + bytes(2)];
        servers.push(Measured::present(name, server));
    }
    let load = (Login::CleanGitHub, CLIENTS);
    let mut results = measure_rounds(setup, &servers, load, setup.size.logins).await?;
    if watch.elapsed() >= LIFETIME {
        return Err(BenchError::because(format!(
            "{sessions} sessions took longer to open than they live on this machine; measure \
             without --full"
        )));
    }
    let [few, many] = names;
    for (figure, bytes) in [MEMORY, FILE].into_iter().zip(each) {
        results.add(&many, figure, bytes);
    }
    let row = |figure| results.row("", &many, figure, &few);
    let logins = row(P50).goal(Goal::Ratio(1.2));
    Ok(vec![logins, row(CPU), row(MEMORY), row(FILE)])
}

/// Compares the last quarter of the month with its second: in the first, the broker fills
/// its pools, and rows wait for their first sweep.
async fn measure_month(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let (hours, logins_an_hour) = (setup.size.hours, setup.size.logins_an_hour);
    announce("a simulated month");
    let config = setup.configure(&Store::File)?;
    let mut broker = start_with_clock(setup, &config)?;
    let mut load = Load::at(broker.address, CLIENTS).await?;
    let mut quarters = [[0.0_f64; 4]; 4];
    for hour in 0..hours {
        broker.program.order("advance 3600000")?;
        if broker.program.output.line_within(PATIENCE).as_deref() != Some("done") {
            return Err(BenchError::because("a broker did not move its clock"));
        }
        load.run(Login::CleanGitHub, logins_an_hour).await?;
        let most = &mut quarters[hour * 4 / hours];
        for (most, used) in most.iter_mut().zip(used(&broker, &config)?) {
            *most = most.max(used);
        }
    }
    let logins = logins_an_hour.next_multiple_of(CLIENTS) * hours;
    let load = format!("{logins} logins in {} simulated days, ", hours / 24);
    let [second, last] = ["the second quarter", "the last quarter"];
    let mut results = Results::default();
    for (name, used) in [(second, quarters[1]), (last, quarters[3])] {
        for ((figure, _), most) in MOST.into_iter().zip(used) {
            results.add(name, figure, most);
        }
    }
    let row = |(figure, goal)| results.row(&load, last, figure, second).goal(goal);
    Ok(MOST.map(row).into())
}

/// Starts a broker whose clock is moved by orders.
fn start_with_clock(setup: &Setup, config: &BrokerConfig) -> Result<Server, BenchError> {
    let mut command = itself()?;
    command.arg("replica").arg("--config").arg(config.path());
    // Each hour's logins arrive at once.
    command.env("BROKER_LIMITS__OVERLOAD_DELAY_MS", "60000");
    let start = (command, config.address, "/livez".to_owned());
    let (mut broker, _) = setup.start(start)?;
    let _address = broker.program.output.line_within(PATIENCE);
    Ok(broker)
}

/// The megabytes of the memory, the file and its log, which a closed one does not have; and
/// the number of open files.
fn used(broker: &Server, config: &BrokerConfig) -> Result<[f64; 4], BenchError> {
    let megabytes = |path: &Path| std::fs::metadata(path).map_or(0.0, |it| it.len() as f64 / 1e6);
    let (file, log) = (config.file(), config.file().with_extension("db-wal"));
    let files = open_files(broker.program.id())? as f64;
    Ok([
        broker.megabytes()?,
        megabytes(&file),
        megabytes(&log),
        files,
    ])
}
