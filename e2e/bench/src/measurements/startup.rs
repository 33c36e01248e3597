//! The time from `exec` to the first answer. The programs start in turn, each on all
//! cores, and a bare Rocket server beside them.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::process::free_address;
use crate::setup::{Setup, Version};
use crate::stats::{Rounds, ms};
use crate::store::steps::{Login, START};
use crate::store::users;

const MOST_BROKER_MS: f64 = 8.0;
const MOST_STACK_MS: f64 = 15.0;

/// The time in which a program must answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts each program a number of times.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let (folder, store) = filled_store(setup).await?;
    let config = BrokerConfig::new(&store, free_address()?)?;
    let (mut bare, mut stack) = (Rounds::default(), Rounds::default());
    let (mut before, mut broker) = (None, Rounds::default());
    for number in 0..setup.size.starts {
        setup
            .progress
            .at(number as f64 / setup.size.starts as f64, "starts");
        bare.push(start_bare(setup)?);
        for (version, program) in setup.versions() {
            let took = start_broker(setup, &config, program)?;
            match version {
                Version::Before => before.get_or_insert_with(Rounds::default).push(took),
                Version::Present => broker.push(took),
            }
        }
        stack.push(start_stack(setup)?);
    }
    drop(folder);
    Ok(vec![
        Row::new(
            "broker on an existing SQLite file: start to first answer",
            Unit::Milliseconds,
            broker,
        )
        .beside("bare Rocket", bare.clone())
        .before(before)
        .goal(Some(Goal::AtMost(MOST_BROKER_MS))),
        Row::new("stack: start to first answer", Unit::Milliseconds, stack)
            .beside("bare Rocket", bare)
            .goal(Some(Goal::AtMost(MOST_STACK_MS)))
            .remark("of the demo, which calls the broker"),
    ])
}

/// A SQLite file with the logins of the last minutes, closed.
async fn filled_store(setup: &Setup) -> Result<(TempDir, Store), BenchError> {
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let path = folder.path().join("broker.db");
    let store = crate::store::at(&format!("sqlite:{}", path.display())).await?;
    let logins: Vec<_> = (0..setup.size.logins)
        .map(|number| Login::numbered(number, START))
        .collect();
    users::sign_in(&*store, &logins).await?;
    Ok((folder, Store::File(path)))
}

fn start_bare(setup: &Setup) -> Result<f64, BenchError> {
    let address = free_address()?;
    let mut command = setup.itself();
    command.args(["bare-rocket", &address.port().to_string()]);
    time_to_answer(setup, &mut command, address, "/")
}

fn start_broker(setup: &Setup, config: &BrokerConfig, program: &Path) -> Result<f64, BenchError> {
    let mut command = config.command(program);
    time_to_answer(setup, &mut command, config.address, "/livez")
}

fn start_stack(setup: &Setup) -> Result<f64, BenchError> {
    let consumer = free_address()?;
    let mut command = Command::new(&setup.programs.stack);
    command.args(["--quiet", "--consumer"]);
    command.arg(format!("localhost:{}", consumer.port()));
    for flag in ["--broker", "--control", "--google", "--github"] {
        command.args([flag, "127.0.0.1:0"]);
    }
    time_to_answer(setup, &mut command, consumer, "/")
}

/// The time in milliseconds. The server is killed then.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn time_to_answer(
    setup: &Setup,
    command: &mut Command,
    address: SocketAddr,
    path: &str,
) -> Result<f64, BenchError> {
    let command = command.stdout(Stdio::null());
    // With the affinity set before: only the start itself is measured.
    setup.cores.at(CoreChoice::Anywhere, || {
        let began = Instant::now();
        let mut server = command.spawn()?;
        let mut answered = answers(address.port(), path);
        while !answered && began.elapsed() < PATIENCE {
            answered = answers(address.port(), path);
        }
        let took = began.elapsed();
        server.kill()?;
        server.wait()?;
        match answered {
            true => Ok(ms(took)),
            false => Err(BenchError::Server(format!(
                "{} never answered GET {path}",
                command.get_program().display()
            ))),
        }
    })?
}

fn answers(port: u16, path: &str) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect(address) else {
        std::thread::yield_now();
        return false;
    };
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}
