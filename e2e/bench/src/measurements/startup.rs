//! The time from `exec` to the first answer. The programs start in turn, each on all
//! cores, and a bare Rocket server beside them.

use std::net::SocketAddr;
use std::process::Command;

use crate::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Figure, Goal, MILLISECONDS, Results, Row, Subject, Version, ms};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::{Server, free_address};
use crate::setup::{Setup, check_exists, itself, sibling};

/// The clients who fill the file.
const CLIENTS: usize = 16;

const ANSWER: Figure = Figure("start to first answer", MILLISECONDS);

const BROKER: &str = "broker on an existing SQLite file";
const STACK: &str = "stack";
const BARE: &str = "bare Rocket";

/// Starts each program a number of times.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    check_exists(&sibling(STACK)?)?;
    let config = filled_store(setup).await?;
    setup.announce("starts");
    let mut results = Results::default();
    for _ in 0..setup.size.starts {
        let address = free_address()?;
        let mut bare = itself()?;
        bare.args(["bare-rocket", &address.port().to_string()]);
        let mut add = |name, version, (command, address, path)| {
            let took = time_to_answer(setup, command, address, path)?;
            results.push(&Subject::new(name, version), ANSWER, took);
            Ok::<_, BenchError>(())
        };
        add(BARE, Version::Present, (bare, address, "/"))?;
        for (version, program) in setup.versions() {
            let start = (config.command(program), config.address, "/livez");
            add(BROKER, version, start)?;
        }
        add(STACK, Version::Present, stack()?)?;
    }
    let row = |name| results.row("", name, ANSWER, BARE);
    let remark = "of the demo, which calls the broker";
    Ok(vec![
        row(BROKER).goal(Goal::Most(8.0)),
        row(STACK).goal(Goal::Most(15.0)).remark(remark),
    ])
}

/// The configuration of a broker on a SQLite file with the logins of the last minutes, closed.
async fn filled_store(setup: &Setup) -> Result<BrokerConfig, BenchError> {
    let config = setup.configure(&Store::File)?;
    let broker = setup.start_broker(&config)?;
    let mut load = Load::at(broker.address, CLIENTS).await?;
    load.run(Login::CleanGitHub, setup.size.logins).await?;
    drop(load);
    broker.stop()?;
    Ok(config)
}

/// A stack, the address of its demo, and a path there.
fn stack() -> Result<(Command, SocketAddr, &'static str), BenchError> {
    let consumer = free_address()?;
    let mut command = Command::new(sibling(STACK)?);
    command.args(["--quiet", "--consumer"]);
    command.arg(format!("localhost:{}", consumer.port()));
    for flag in ["--broker", "--control", "--google", "--github"] {
        command.args([flag, "127.0.0.1:0"]);
    }
    Ok((command, consumer, "/"))
}

/// The time in milliseconds. The server is killed then.
fn time_to_answer(
    setup: &Setup,
    command: Command,
    address: SocketAddr,
    path: &str,
) -> Result<f64, BenchError> {
    // With the affinity set before: only the start itself is measured.
    let start = || Server::start(command, address, path);
    let (_, took) = setup.cores.start_on(setup.cores.all, start)??;
    Ok(ms(took))
}
