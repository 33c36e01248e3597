//! Whole logins at the stack: one process with the demo, the broker, the proxy in front of
//! it, and providers that sign their user in without a page. The browser's requests to the
//! provider are part of its cost.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::load::Load;
use crate::load::client::{Client, Consumer};
use crate::load::connection::Connection;
use crate::load::login::{CALLBACK, Login, Provider};
use crate::report::{Row, Unit};
use crate::servers::broker::Store;
use crate::servers::process::cpu_of;
use crate::servers::providers;
use crate::setup::Setup;
use crate::stats::{Rounds, us};

const CLIENTS: usize = 16;

/// A running stack. Dropped, it is killed.
struct Stack {
    process: Child,
    broker: SocketAddr,
    control: SocketAddr,
    google: SocketAddr,
    github: SocketAddr,
}

/// Measures a login at the stack, and beside it one at a broker in memory.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let stack = Stack::start(setup)?;
    let consumer = stack.register().await?;
    let providers = providers::start(Duration::ZERO).await?;
    let broker = setup.start_broker(&setup.programs.broker, &Store::Memory, providers)?;
    let mut rows = Vec::new();
    for login in [Login::CLEAN_GITHUB, Login::CLEAN_GOOGLE] {
        setup
            .progress
            .at(rows.len() as f64 / 2.0, &login.to_string());
        let alone = Load::connect(broker.server.address, CLIENTS, login).await?;
        let mut alone = alone.staying_awake();
        let mut whole = stack.load(login, &consumer).await?.staying_awake();
        let logins = alone.rounded(setup.size.logins);
        alone.run(logins / 4).await?;
        whole.run(logins / 4).await?;
        let (mut broker_us, mut stack_us) = (Rounds::default(), Rounds::default());
        for _ in 0..setup.size.rounds {
            broker_us.push(cpu_us(broker.server.id(), &mut alone, logins).await?);
            stack_us.push(cpu_us(stack.process.id(), &mut whole, logins).await?);
        }
        let what = format!("{login}, {CLIENTS} at once, the whole stack: CPU of a login");
        rows.push(
            Row::new(what, Unit::Microseconds, stack_us).beside("broker in memory", broker_us),
        );
    }
    Ok(rows)
}

/// The CPU time that a process takes for a login.
async fn cpu_us(process: u32, load: &mut Load, logins: usize) -> Result<f64, BenchError> {
    let before = cpu_of(process)?;
    load.run(logins).await?;
    Ok(us(cpu_of(process)?.saturating_sub(before)) / logins as f64)
}

impl Stack {
    /// Starts it on free ports, and reads them from its banner.
    fn start(setup: &Setup) -> Result<Self, BenchError> {
        let mut command = Command::new(&setup.programs.stack);
        command.args(["--quiet", "--automatic", "--consumer", "localhost:0"]);
        for flag in ["--broker", "--control", "--google", "--github"] {
            command.args([flag, "127.0.0.1:0"]);
        }
        command.stdout(Stdio::piped());
        let mut process = setup.cores.at(CoreChoice::Server, || command.spawn())??;
        let mut banner = Vec::new();
        if let Some(output) = process.stdout.take() {
            let lines = BufReader::new(output).lines();
            banner.extend(
                lines
                    .map_while(Result::ok)
                    .take_while(|line| !line.contains("client_secret")),
            );
        }
        let address = |what: &str| {
            let line = banner
                .iter()
                .find(|line| line.trim_start().starts_with(what));
            let url = line.and_then(|line| line.split("http://").nth(1));
            let address = url.and_then(|url| url.trim().parse().ok());
            address.ok_or_else(|| {
                BenchError::Server(format!("the stack did not start: it printed no {what}"))
            })
        };
        Ok(Self {
            broker: address("broker")?,
            control: address("inspector")?,
            google: address("imitated Google")?,
            github: address("imitated GitHub")?,
            process,
        })
    }

    /// Registers the consumer whose callback the load knows.
    async fn register(&self) -> Result<Consumer, BenchError> {
        let mut control = Connection::open(self.control).await?;
        let body = json!({ "name": "Bench", "redirect_uris": [CALLBACK] }).to_string();
        let answer = control.send("/api/projects", &[], Some(body)).await?;
        let project: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let member = |name: &str| project[name].as_str().unwrap_or_default().to_owned();
        Ok(Consumer {
            client_id: member("client_id"),
            client_secret: member("client_secret"),
        })
    }

    async fn load(&self, login: Login, consumer: &Consumer) -> Result<Load, BenchError> {
        let provider = match login.provider {
            Provider::Google => self.google,
            Provider::GitHub => self.github,
        };
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(Client {
                broker: Connection::open(self.broker).await?,
                provider: Some(Connection::open(provider).await?),
                consumer: consumer.clone(),
            });
        }
        Ok(Load::of(clients, login))
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
