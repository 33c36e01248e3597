//! The time from `exec` to the first answer. The programs start in turn, each on all
//! cores, and a bare Rocket server beside them.

use std::process::Command;

use agent::program::Signal;

use crate::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Figure, Goal, MILLISECONDS, Results, Row, Version, ms};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::{PATIENCE, Server, Start, free_address};
use crate::setup::{Setup, announce, check_exists, itself, sibling};

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
    announce("starts");
    let mut results = Results::default();
    for _ in 0..setup.size.starts {
        let mut add = |name, version, start| {
            // With the affinity set before: only the start itself is measured.
            let start = || Server::start(start);
            let (_, took) = setup.cores.start_on(setup.cores.all, start)??;
            results.push(&(String::from(name), version), ANSWER, ms(took));
            Ok::<_, BenchError>(())
        };
        add(BARE, Version::Present, bare()?)?;
        for (version, program) in setup.versions() {
            add(BROKER, version, config.start(program))?;
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
    let mut broker = setup.start_broker(&config)?;
    let mut load = Load::at(broker.address, CLIENTS).await?;
    load.run(Login::CleanGitHub, setup.size.logins).await?;
    drop(load);
    broker.program.signal(Signal::TERM)?;
    broker.program.ended_within(PATIENCE)?;
    Ok(config)
}

fn bare() -> Result<Start, BenchError> {
    let address = free_address()?;
    let mut command = itself()?;
    command.args(["floor", &address.port().to_string()]);
    Ok((command, address, "/".to_owned()))
}

/// A stack, which serves when its demo does.
fn stack() -> Result<Start, BenchError> {
    let consumer = free_address()?;
    let mut command = Command::new(sibling(STACK)?);
    command.args(["--quiet", "--consumer"]);
    command.arg(format!("localhost:{}", consumer.port()));
    for flag in ["--broker", "--control", "--google", "--github"] {
        command.args([flag, "127.0.0.1:0"]);
    }
    Ok((command, consumer, "/".to_owned()))
}
