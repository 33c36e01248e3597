//! The cost of whole logins: every server serves every kind of login, round by round.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::postgres::{Durability, Server};

use crate::cores::Cores;
use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::{Flow, Login, Provider};
use crate::servers::broker::{BrokerConfig, Store};
use crate::servers::process::ServerProcess;
use crate::stats::{Spread, percentile};

/// The servers to compare, and by how much load.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) broker: PathBuf,
    pub(crate) against: Option<PathBuf>,
    pub(crate) rounds: usize,
    pub(crate) only: Option<String>,
    pub(crate) clients: Option<usize>,
    pub(crate) with_postgres: bool,
}

/// The kinds of logins.
const LOGINS: [Login; 4] = [
    Login {
        flow: Flow::Clean,
        provider: Provider::GitHub,
    },
    Login {
        flow: Flow::Legacy,
        provider: Provider::GitHub,
    },
    Login {
        flow: Flow::Clean,
        provider: Provider::Google,
    },
    Login {
        flow: Flow::Legacy,
        provider: Provider::Google,
    },
];

/// The numbers of clients at once, each with a number of logins that takes a second.
const LOADS: [(usize, usize); 3] = [(1, 400), (16, 1_600), (64, 1_920)];

/// A server under test.
struct Subject {
    name: String,
    server: ServerProcess,
    /// Its configuration, which is removed with it.
    _config: Option<BrokerConfig>,
}

/// The figures of one server in one round.
struct Figures {
    cpu_us: f64,
    p50: Duration,
    p99: Duration,
}

/// Measures and prints the comparison.
pub(crate) async fn compare(compared: &Compared, cores: Cores) -> Result<(), BenchError> {
    let providers = start_providers(Duration::ZERO)?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let database = match compared.with_postgres {
        true => Some(Server::start(Durability::Durable)?),
        false => None,
    };
    let subjects = subjects(
        compared,
        cores,
        &providers,
        folder.path(),
        database.as_ref(),
    )?;
    let mut out = std::io::stdout();
    let names: Vec<_> = subjects.iter().map(|it| it.name.as_str()).collect();
    writeln!(out, "| login | clients | {} |", names.join(" | "))?;
    writeln!(out, "|---|---{}|", "|---".repeat(subjects.len()))?;
    for login in LOGINS {
        if compared
            .only
            .as_ref()
            .is_some_and(|only| *only != login.to_string())
        {
            continue;
        }
        for (clients, logins) in LOADS {
            if compared.clients.is_some_and(|only| only != clients) {
                continue;
            }
            let mut loads = Vec::new();
            for subject in &subjects {
                let mut load = Load::connect(subject.server.address, clients, login).await?;
                load.run(logins / 4).await?;
                loads.push(load);
            }
            let mut rounds = Vec::new();
            for _ in 0..compared.rounds {
                let mut round = Vec::new();
                for (subject, load) in subjects.iter().zip(&mut loads) {
                    round.push(subject.measure(load, logins).await?);
                }
                rounds.push(round);
            }
            let cells = (0..subjects.len()).map(|index| cell(&rounds, index));
            let cells: Vec<_> = cells.collect();
            writeln!(out, "| {login} | {clients} | {} |", cells.join(" | "))?;
        }
    }
    Ok(())
}

fn start_providers(delay: Duration) -> Result<ServerProcess, BenchError> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(["providers", &delay.as_millis().to_string()]);
    ServerProcess::that_prints_its_address(command)
}

fn subjects(
    compared: &Compared,
    cores: Cores,
    providers: &ServerProcess,
    folder: &Path,
    database: Option<&Server>,
) -> Result<Vec<Subject>, BenchError> {
    let mut floor = cores.on_server(std::env::current_exe()?);
    floor.args(["floor-hops", &providers.address.to_string()]);
    let mut subjects = vec![Subject {
        name: "floor-hops".to_owned(),
        server: ServerProcess::that_prints_its_address(floor)?,
        _config: None,
    }];
    let brokers = [
        (Some(&compared.broker), ""),
        (compared.against.as_ref(), " (before)"),
    ];
    for (number, (program, suffix)) in brokers.into_iter().enumerate() {
        let Some(program) = program else { continue };
        let file = folder.join(format!("broker-{number}.db"));
        let mut stores = vec![
            ("memory", Store::Memory),
            ("SQLite file", Store::File(file)),
        ];
        if let Some(database) = database {
            stores.push(("PostgreSQL", Store::Postgres(database.url("postgres"))));
        }
        for (name, store) in stores {
            let config = BrokerConfig::new(&store, providers.address)?;
            subjects.push(Subject {
                name: format!("{name}{suffix}"),
                server: config.start(program, cores)?,
                _config: Some(config),
            });
        }
    }
    Ok(subjects)
}

impl Subject {
    async fn measure(&self, load: &mut Load, logins: usize) -> Result<Figures, BenchError> {
        let before = self.server.cpu()?;
        let times = load.run(logins).await?;
        let cpu = self.server.cpu()?.saturating_sub(before);
        Ok(Figures {
            cpu_us: cpu.as_secs_f64() * 1e6 / load.rounded(logins) as f64,
            p50: percentile(&times.requests, 0.5),
            p99: percentile(&times.requests, 0.99),
        })
    }
}

/// The figures of one server over all rounds: CPU time, its ratio to the first server in
/// the same round, and the times of a request.
fn cell(rounds: &[Vec<Figures>], index: usize) -> String {
    let cpu = Spread::of(rounds.iter().map(|round| round[index].cpu_us));
    let ms = |time: fn(&Figures) -> Duration| {
        let times = rounds.iter().map(|round| time(&round[index]));
        Spread::of(times.map(|time| time.as_secs_f64() * 1e3)).median
    };
    let times = format!("{:.2}/{:.2} ms", ms(|it| it.p50), ms(|it| it.p99));
    if index == 0 {
        return format!("{cpu:.0} µs · {times}");
    }
    let ratio = Spread::of(
        rounds
            .iter()
            .map(|round| round[index].cpu_us / round[0].cpu_us),
    );
    format!("{:.0} µs · **{ratio:.2}** · {times}", cpu.median)
}
