//! The time from `exec` to the first answer. The programs start in turn, each on all
//! cores, and a bare Rocket server beside them.

use std::net::SocketAddr;
use std::process::Command;

use tempfile::TempDir;

use crate::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Compared, Figures, Goal, Row, Unit, ms};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::{ServerProcess, folder, free_address, providers};
use crate::setup::{Setup, Version};

const MAX_BROKER_MS: f64 = 8.0;
const MAX_STACK_MS: f64 = 15.0;

/// The clients who fill the file.
const CLIENTS: usize = 16;

const ANSWER: &str = "start to first answer";

/// Starts each program a number of times.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start().await?;
    let (_folder, store) = filled_store(setup, providers).await?;
    let config = BrokerConfig::new(&store, providers)?;
    let mut bare = Figures::default();
    let mut stack = Figures::default();
    let mut broker = Figures::default();
    let mut before = None;
    for number in 0..setup.size.starts {
        let share = number as f64 / setup.size.starts as f64;
        setup.progress.at(share, "starts");
        let add = |figures: &mut Figures, took| figures.push(ANSWER, Unit::MILLISECONDS, took);
        add(&mut bare, start_bare(setup)?);
        for (version, program) in setup.versions() {
            let command = config.command(program);
            let took = time_to_answer(setup, command, config.address, "/livez")?;
            let figures = match version {
                Version::Before => before.get_or_insert_default(),
                Version::Present => &mut broker,
            };
            add(figures, took);
        }
        add(&mut stack, start_stack(setup)?);
    }
    let beside = ("bare Rocket", &bare);
    let broker = Compared {
        what: "broker on an existing SQLite file".to_owned(),
        broker: &broker,
        beside,
        before: before.as_ref(),
    };
    let stack = Compared {
        what: "stack".to_owned(),
        broker: &stack,
        beside,
        before: None,
    };
    Ok(vec![
        broker.row(ANSWER).goal(Goal::AtMost(MAX_BROKER_MS)),
        stack
            .row(ANSWER)
            .goal(Goal::AtMost(MAX_STACK_MS))
            .remark("of the demo, which calls the broker"),
    ])
}

/// A SQLite file with the logins of the last minutes, closed.
async fn filled_store(
    setup: &Setup,
    providers: SocketAddr,
) -> Result<(TempDir, Store), BenchError> {
    let folder = folder()?;
    let store = Store::File(folder.path().join("broker.db"));
    let broker = setup.start_broker(&setup.programs.broker, &store, providers)?;
    let mut load = Load::connect(broker.address, CLIENTS, Login::CleanGitHub).await?;
    load.run(setup.size.logins).await?;
    drop(load);
    broker.stop()?;
    Ok((folder, store))
}

fn start_bare(setup: &Setup) -> Result<f64, BenchError> {
    let address = free_address()?;
    let mut command = setup.itself();
    command.args(["bare-rocket", &address.port().to_string()]);
    time_to_answer(setup, command, address, "/")
}

fn start_stack(setup: &Setup) -> Result<f64, BenchError> {
    let consumer = free_address()?;
    let mut command = Command::new(&setup.programs.stack);
    command.args(["--quiet", "--consumer"]);
    command.arg(format!("localhost:{}", consumer.port()));
    for flag in ["--broker", "--control", "--google", "--github"] {
        command.args([flag, "127.0.0.1:0"]);
    }
    time_to_answer(setup, command, consumer, "/")
}

/// The time in milliseconds. The server is killed then.
fn time_to_answer(
    setup: &Setup,
    command: Command,
    address: SocketAddr,
    path: &str,
) -> Result<f64, BenchError> {
    // With the affinity set before: only the start itself is measured.
    let start = || ServerProcess::answering(command, address, path);
    let (_, took) = setup.cores.start_on(setup.cores.all, start)??;
    Ok(ms(took))
}
